/* What the tests of live collectors share: a process that is measured, what it tells in memory that
 * outlives it, and its pictures. */
#ifndef TESTS_UNIT_LIVE_FIXTURE_H
#define TESTS_UNIT_LIVE_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "collectors/live_impl.h"
#include "lib/file.h"
#include "lib/num.h"
#include "schema/picture.h"

#define OPS 2000000
#define MOVES COPY_H2D
#define PATIENCE_S 120 /* a slow machine with a sanitizer; a process that waits for ever is found  \
			*/

/* Outlives whoever writes it. */
struct told {
	uint64_t begun, done; /* operations: about to be told; told */
	uint64_t pairs;       /* of marks */
	uint64_t stop, flag;
	int64_t begin[OPS], end[OPS];
};

static struct told *told;
static char folder[64];

static inline int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-live.XXXXXX");
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)setenv("ROIMETER_EXEC", "profiled.test", 1);
	(void)unsetenv("ROIMETER_COLLECT");
	return told != MAP_FAILED && mkdtemp(folder) && !setenv("ROIMETER_LOG", folder, 1) ? 0 : -1;
}

static inline int tear_down(void **state)
{
	(void)state;
	(void)munmap(told, sizeof *told);
	return file_remove_tree(folder, NULL);
}

/* ---- inside of the measured process ------------------------------------------------------------
 */

static inline void start(void)
{
	static const struct live_options o = {
		.collector = "test", .runtime = "t", .observes = 1u << MOVES, .calls = true
	};
	if (live_start(&o))
		_exit(99);
}

/* An operation that has just been; only one thread at a time tells. */
static inline void tell(int64_t begin, int64_t end)
{
	uint64_t i = told->begun;
	struct flow_op op = { .begin_ns = begin, .end_ns = end, .bytes = 8, .category = MOVES };
	if (i == OPS)
		_exit(98);
	told->begin[i] = begin;
	told->end[i] = end;
	PUT_RELEASE(told->begun, i + 1);
	struct flow *f = live_take();
	if (!f)
		_exit(97);
	op.device = (uint32_t)flow_device(f, "d", "d");
	op.name = (uint32_t)flow_name(f, "k", 1);
	flow_op(f, &op);
	live_give(f);
	PUT_RELEASE(told->done, i + 1);
}

static inline void spin(int64_t ns)
{
	for (int64_t until = live_now() + ns; live_now() < until;)
		continue;
}

static inline void tell_one(void)
{
	int64_t begin = live_now();
	spin(1000);
	tell(begin, live_now());
}

static inline void entry_of_ten(void)
{
	ROIMETER_BEGIN();
	for (int i = 0; i < 10; i++)
		tell_one();
	ROIMETER_END();
}

/* ---- outside ------------------------------------------------------------------------------------
 */

static pid_t first; /* the process that runs the tests */

/* LeakSanitizer asks. Processes under test leave by exit with all that the tests before them hold,
 * and a forked child with its parent's flow, which it never touches. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return getpid() != first;
}

typedef void body(void);

static inline pid_t launch(body *of)
{
	memset(told, 0, offsetof(struct told, begin));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		start();
		of();
		exit(0);
	}
	return pid;
}

/* How it ended; a process that does not end by itself is a failure. */
static inline int await(pid_t pid)
{
	int status = 0;
	for (int ms = 0; waitpid(pid, &status, WNOHANG) == 0; ms += 2) {
		if (ms > PATIENCE_S * 1000) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			fail_msg("the process did not end");
		}
		(void)poll(NULL, 0, 2);
	}
	return status;
}

static inline void await_value(const uint64_t *of, uint64_t at_least)
{
	for (int ms = 0; GET_ACQUIRE(*of) < at_least; ms++) {
		assert_true(ms < PATIENCE_S * 1000);
		(void)poll(NULL, 0, 1);
	}
}

static inline int by_suffix(const struct dirent *d)
{
	size_t n = strlen(d->d_name), m = strlen(PICTURE_SUFFIX);
	return d->d_name[0] != '.' && n > m && strcmp(d->d_name + n - m, PICTURE_SUFFIX) == 0;
}

struct seen {
	struct arena arena;
	struct picture p;
	size_t files;
};

/* The first picture there is; all of them must be whole. */
static inline void look(struct seen *s)
{
	struct dirent **names;
	*s = (struct seen){ .files = 0 };
	int n = scandir(folder, &names, by_suffix, alphasort);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		char path[512];
		struct buf b = { .max = PICTURE_MAX_BYTES };
		struct err err = { "" };
		struct picture p;
		(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		assert_int_equal(file_read(&b, path, &err), 0);
		if (picture_get(&p, &s->arena, path, b.data, b.len, &err))
			fail_msg("%s", err.text);
		if (!s->files++)
			s->p = p;
		buf_done(&b);
		free(names[i]);
	}
	free(names);
}

static inline void empty_folder(void)
{
	(void)file_remove_tree(folder, NULL);
	assert_int_equal(mkdir(folder, 0700), 0);
}

static inline int begin_empty(void **state)
{
	(void)state;
	empty_folder();
	return 0;
}

/* Sums of the first operations, computed from the windows that the picture itself shows. */
static inline void assert_consistent(const struct picture *p, uint64_t least, uint64_t most)
{
	double whole = 0, inside = 0, touching = 0, wall = 0;
	const struct nums *w = &p->windows;
	int64_t base = (int64_t)p->base_s * 1000000000 + (int64_t)p->base_ns;
	uint64_t n = (uint64_t)p->whole.ops.items[MOVES];
	size_t at = 0;
	assert_in_range(n, least, most);
	assert_true(p->late == 0);
	assert_true(!(p->windows_closed_ns > 0));
	for (size_t i = 0; i < w->n; i += 2)
		wall += w->items[i + 1] - w->items[i];
	for (uint64_t i = 0; i < n; i++) {
		double begin = (double)(told->begin[i] - base), end = (double)(told->end[i] - base),
		       x = 0;
		while (at + 1 < w->n && w->items[at + 1] <= begin)
			at += 2;
		for (size_t k = at; k + 1 < w->n && w->items[k] < end; k += 2)
			x += fmax(0, fmin(end, w->items[k + 1]) - fmax(begin, w->items[k]));
		whole += end - begin;
		inside += x;
		touching += x > 0;
	}
	assert_true(p->whole.time_ns.items[MOVES] == whole && p->whole.op_sum_ns == whole);
	assert_true(p->whole.busy_ns == whole); /* one after the other */
	assert_true(p->whole.bytes.items[MOVES] == 8 * (double)n);
	if (p->found != YES)
		return;
	assert_true(p->roi.ops.items[MOVES] == touching);
	assert_true(p->roi.time_ns.items[MOVES] == inside && p->roi.busy_ns == inside);
	assert_true(p->wall_ns == wall);
}

static inline void assert_ended(int end, bool final)
{
	struct seen s;
	look(&s);
	assert_true(s.files > 0);
	assert_int_equal(s.p.final, end);
	assert_consistent(&s.p, final ? told->done : 0, told->begun);
	arena_free(&s.arena);
	empty_folder();
}

#endif
