/* Gathering an execution's bytes, and working out what they say. */
#define _GNU_SOURCE
#include "run/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/finish.h"
#include "lib/file.h"
#include "lib/num.h"
#include "schema/codec.h"
#include "schema/marklog.h"

#define HALF_BYTES ((size_t)16 << 20) /* of a long output, at each end */
#define FILE_BYTES ((size_t)64 << 20)
#define PICTURE_HALF_BYTES ((size_t)PICTURE_MAX_BYTES / 2 + 1) /* one that is cut is too large */
#define TAIL_BYTES ((size_t)4096)
#define OUTPUT_NAME "run.log" /* as timers call it */
#define DEPTH_MAX 8
#define ENTRIES_MAX ((size_t)50000)

void capture_init(struct capture *c)
{
	*c = (struct capture){ .outlived = 0 };
	block_clear(&execution_block, &c->row);
	c->state = (struct watch_result){ NAN, NAN, NAN, NAN, UNKNOWN, NAN, false };
	c->others_running = NAN;
}

void capture_done(struct capture *c)
{
	arena_free(&c->arena);
	*c = (struct capture){ .outlived = 0 };
}

static int keep_text(struct capture *c, struct txts *t, const char *text)
{
	size_t cap = t->n;
	const char *copy = arena_strdup(&c->arena, text);
	const char **items = arena_grow(&c->arena, t->items, &cap, t->n + 1, sizeof *items);
	if (!copy || !items)
		return -ENOMEM;
	t->items = items;
	t->items[t->n++] = copy;
	return 0;
}

int capture_note(struct capture *c, const char *text)
{
	return keep_text(c, &c->notes, text);
}

/* ---- bytes ---- */

static struct blob *add_blob(struct capture *c, enum blob_kind kind, const char *name, size_t bytes)
{
	size_t cap = c->n_blobs;
	struct blob *blobs = arena_grow(&c->arena, c->blobs, &cap, c->n_blobs + 1, sizeof *blobs);
	char *data = arena_alloc(&c->arena, bytes + 1);
	const char *copy = arena_strdup(&c->arena, name);
	if (!blobs || !data || !copy)
		return NULL;
	c->blobs = blobs;
	c->blobs[c->n_blobs] = (struct blob){ .kind = kind, .name = copy, .data = data };
	return &c->blobs[c->n_blobs++];
}

/* max: the most that is kept of each end, together twice that. */
static int take_file(struct capture *c, enum blob_kind kind, const char *name, const char *path,
		     size_t max, bool *ret_cut, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", path, strerror(errno));
	int rc = fstat(fd, &st) ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : 0;
	size_t size = rc ? 0 : (size_t)st.st_size;
	ssize_t got = 0, more = 0;
	bool cut = size > 2 * max;
	struct blob *b = rc ? NULL : add_blob(c, kind, name, cut ? 2 * max : size);
	if (!rc && !b)
		rc = -ENOMEM;
	if (!rc)
		got = file_fill_at(fd, b->data, cut ? max : size, 0);
	if (!rc && cut && got >= 0)
		more = file_fill_at(fd, b->data + got, max, size - max);
	if (!rc && (got < 0 || more < 0))
		rc = (int)(got < 0 ? got : more);
	if (!rc)
		b->n = (size_t)got + (size_t)more;
	(void)close(fd);
	if (rc)
		return err_set(err, rc, "read %s: %s", path, strerror(-rc));
	*ret_cut = cut;
	return 0;
}

static int not_dot(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static bool is_picture(const char *name)
{
	return picture_is_name(name);
}

int capture_logs(struct capture *c, const char *folder, struct err *err)
{
	struct txts losses = { 0 };
	struct dirent **names = NULL;
	int n = scandir(folder, &names, not_dot, alphasort), rc = n < 0 ? -errno : 0;
	if (rc)
		(void)err_set(err, rc, "read folder %s: %s", folder, strerror(-rc));
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];
		bool cut = false;
		const char *name = names[i]->d_name;
		(void)snprintf(path, sizeof path, "%s/%s", folder, name);
		if (!rc && strcmp(name, MARKLOG_LOSSES) != 0 &&
		    strcmp(name, MARKLOG_UNATTACHED) != 0 && strcmp(name, MARKLOG_RANGES) != 0)
			rc = is_picture(name)
				     ? take_file(c, BLOB_PICTURE, name, path, PICTURE_HALF_BYTES,
						 &cut, err)
				     : take_file(c, BLOB_LOG, name, path, FILE_BYTES, &cut, err);
		free(names[i]);
	}
	free(names);
	if (!rc)
		rc = marklog_losses_read(folder, &c->arena, &losses, err);
	for (size_t i = 0; !rc && i < losses.n; i++)
		rc = capture_note(c, losses.items[i]);
	c->log_bytes = 0;
	for (size_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].kind == BLOB_LOG)
			c->log_bytes += (double)c->blobs[i].n;
	return rc;
}

int capture_output(struct capture *c, const char *path, struct err *err)
{
	return take_file(c, BLOB_OUTPUT, OUTPUT_NAME, path, HALF_BYTES, &c->output_cut, err);
}

/* ---- files of timers ---- */

struct stamp {
	const char *name;
	struct stat st;
};

struct walk {
	const struct txts *globs;
	size_t skip;   /* of a path: the folder itself */
	size_t budget; /* entries that are still looked at: a run's folder may be somebody's whole
			  project */
	int (*each)(void *, const char *);
	void *arg;
};

static bool matches(const struct txts *globs, const char *name)
{
	for (size_t i = 0; i < globs->n; i++)
		if (strcmp(globs->items[i], OUTPUT_NAME) != 0 &&
		    timer_file_matches(globs->items[i], name))
			return true;
	return false;
}

static int walk_below(struct walk *w, const char *folder, int depth)
{
	DIR *dir = depth <= DEPTH_MAX ? opendir(folder) : NULL;
	int rc = 0;
	if (!dir)
		return 0;
	for (struct dirent *e; !rc && w->budget && (e = readdir(dir));) {
		char path[PATH_MAX];
		struct stat st;
		if (e->d_name[0] == '.')
			continue;
		w->budget--;
		int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		if (n < 0 || (size_t)n >= sizeof path || lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode))
			rc = walk_below(w, path, depth + 1);
		else if (S_ISREG(st.st_mode) && matches(w->globs, path + w->skip))
			rc = w->each(w->arg, path + w->skip);
	}
	(void)closedir(dir);
	return rc;
}

static int each_match(const char *folder, const struct txts *globs,
		      int (*each)(void *, const char *), void *arg)
{
	struct walk w = { .globs = globs,
			  .skip = strlen(folder) + 1,
			  .budget = ENTRIES_MAX,
			  .each = each,
			  .arg = arg };
	bool files = false;
	for (size_t i = 0; i < globs->n; i++) /* the output is no file of the folder */
		files |= strcmp(globs->items[i], OUTPUT_NAME) != 0;
	return files ? walk_below(&w, folder, 0) : 0;
}

struct look {
	struct stamps *stamps;
	struct arena *arena;
	struct capture *capture;
	const struct stamps *before;
	const char *folder;
	struct err *err;
};

static int stamp_one(void *arg, const char *name)
{
	struct look *l = arg;
	struct stamps *s = l->stamps;
	char path[PATH_MAX];
	struct stat st;
	(void)snprintf(path, sizeof path, "%s/%s", l->folder, name);
	if (stat(path, &st))
		return 0;
	struct stamp *items = arena_grow(l->arena, s->items, &s->cap, s->n + 1, sizeof *items);
	char *copy = arena_strdup(l->arena, name);
	if (!items || !copy)
		return -ENOMEM;
	s->items = items;
	s->items[s->n++] = (struct stamp){ copy, st };
	return 0;
}

int stamps_take(struct stamps *s, struct arena *a, const char *folder, const struct txts *globs)
{
	struct look l = { .stamps = s, .arena = a, .folder = folder };
	*s = (struct stamps){ 0 };
	return each_match(folder, globs, stamp_one, &l);
}

static bool unchanged(const struct stamps *s, const char *name, const struct stat *st)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct stat *old = &s->items[i].st;
		if (strcmp(s->items[i].name, name) == 0)
			return old->st_ino == st->st_ino && old->st_size == st->st_size &&
			       old->st_mtim.tv_sec == st->st_mtim.tv_sec &&
			       old->st_mtim.tv_nsec == st->st_mtim.tv_nsec;
	}
	return false;
}

static int take_one(void *arg, const char *name)
{
	struct look *l = arg;
	char path[PATH_MAX];
	struct stat st;
	bool cut = false;
	(void)snprintf(path, sizeof path, "%s/%s", l->folder, name);
	if (stat(path, &st) || !S_ISREG(st.st_mode) || unchanged(l->before, name, &st))
		return 0;
	/* Not to be taken for the output. */
	return take_file(l->capture, BLOB_FILE, strcmp(name, OUTPUT_NAME) ? name : "./" OUTPUT_NAME,
			 path, FILE_BYTES / 2, &cut, l->err);
}

int capture_files(struct capture *c, const char *folder, const struct txts *globs,
		  const struct stamps *before, struct err *err)
{
	struct look l = { .capture = c, .before = before, .folder = folder, .err = err };
	return each_match(folder, globs, take_one, &l);
}

/* ---- what they say ---- */

static const struct blob *output_of(const struct capture *c)
{
	for (size_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].kind == BLOB_OUTPUT)
			return &c->blobs[i];
	return NULL;
}

const char *capture_tail(struct capture *c)
{
	const struct blob *b = output_of(c);
	if (!b || b->n == 0)
		return NULL;
	size_t from = b->n > TAIL_BYTES ? b->n - TAIL_BYTES : 0;
	if (from) { /* whole lines, if a line ends near */
		const char *end = memchr(b->data + from, '\n', TAIL_BYTES / 2);
		if (end)
			from = (size_t)(end - b->data) + 1;
	}
	return arena_strndup(&c->arena, b->data + from, b->n - from);
}

static int parse_logs(struct worked *w, struct capture *c)
{
	for (size_t i = 0; i < c->n_blobs; i++) {
		const struct blob *b = &c->blobs[i];
		struct err why = { 0 };
		if (b->kind != BLOB_LOG)
			continue;
		int rc = roilog_parse(&w->logs, b->name, b->data, b->n, &why);
		if (rc == -ENOMEM)
			return rc;
		if (rc && capture_note(c, why.text))
			return -ENOMEM;
	}
	return 0;
}

/* Only a look into the region counts: MPI libraries and hwloc put a process on one CPU for tenths
 * of a second while they set themselves up, and its threads are not there yet. */
static bool looked_early(const struct watched *p, const struct roi_log *log)
{
	return p->looked_real && log->first_begin_real != ROI_UNKNOWN &&
	       p->looked_real < log->first_begin_real;
}

static int place_ranks(struct worked *w, struct capture *c)
{
	size_t early = 0, seen = 0;
	w->rank_cpus = arena_array(&c->arena, w->logs.n + 1, sizeof *w->rank_cpus);
	w->rank_threads = arena_array(&c->arena, w->logs.n + 1, sizeof *w->rank_threads);
	if (!w->rank_cpus || !w->rank_threads)
		return -ENOMEM;
	for (size_t i = 0; i < w->logs.n; i++) {
		long pid = w->logs.items[i]->pid ? strtol(w->logs.items[i]->pid, NULL, 10) : -1;
		w->rank_threads[i] = NAN;
		w->rank_cpus[i] = w->logs.items[i]->cpus; /* a later look tells better */
		for (size_t k = 0; k < c->n_seen; k++) {
			struct watched *p = &c->seen[k];
			if (p->pid != pid)
				continue;
			seen++;
			if (looked_early(p, w->logs.items[i])) {
				p->cpus = p->mems = NULL;
				p->threads = NAN;
				early++;
			}
			if (p->cpus)
				w->rank_cpus[i] = p->cpus;
			w->rank_threads[i] = p->threads;
		}
		/* Processes of one file are one process that went on as another program: it has
		 * one place, as core/finish.h has it, too. */
		if (i && strcmp(w->logs.items[i]->file, w->logs.items[i - 1]->file) == 0) {
			w->rank_cpus[i] = w->rank_cpus[i - 1];
			w->rank_threads[i] = w->rank_threads[i - 1];
		}
	}
	if (early && early == seen) /* nobody looked while the region was open */
		c->state.oversubscribed = UNKNOWN;
	return 0;
}

static int find_numbers(struct worked *w, struct capture *c, const struct suite_case *s,
			struct err *err)
{
	const struct blob *out = output_of(c);
	const char *text = out ? out->data : NULL;
	size_t n = out ? out->n : 0;
	int rc = metric_find(s->fom.pattern, s->fom.unit, text, n, &w->fom, err);
	if (!rc)
		rc = metric_find_seconds(s->own_timer.pattern, s->own_timer.unit, text, n,
					 &w->own_timer, err);
	w->audit_ok = UNKNOWN;
	if (!rc && text)
		launcher_audit(&c->arena, text, n, &w->audit, &w->audit_ok);
	return rc;
}

static int read_timer(struct worked *w, struct capture *c, const struct timer_def *timer)
{
	struct timer_file *files = arena_array(&c->arena, c->n_blobs + 1, sizeof *files);
	size_t n = 0;
	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].kind == BLOB_OUTPUT || c->blobs[i].kind == BLOB_FILE)
			files[n++] = (struct timer_file){ c->blobs[i].name, c->blobs[i].data,
							  c->blobs[i].n };
	timer_read(timer, &c->arena, files, n, &w->timer);
	return 0;
}

/* Numbers have 15 digits from here on, and texts are UTF-8: whoever gets them as bytes has the
 * same, and the same comes of them. */
static int round_all(struct worked *w, struct capture *c)
{
	struct timer_result *t = &w->timer;
	w->fom.value = num15(w->fom.value);
	w->own_timer.value = num15(w->own_timer.value);
	t->wall_s = num15(t->wall_s);
	t->steps = num15(t->steps);
	t->excluded_s = num15(t->excluded_s);
	t->setup_s = num15(t->setup_s);
	for (size_t i = 0; i < t->n_parts; i++)
		t->parts[i].seconds = num15(t->parts[i].seconds);
	return block_clean(&c->arena, &execution_block, &c->row);
}

static int take_pictures(struct observed *seen, struct capture *c, struct err *err)
{
	struct carried_picture *list = arena_array(&c->arena, c->n_blobs + 1, sizeof *list);
	size_t n = 0;
	for (size_t i = 0; list && i < c->n_blobs; i++) {
		const struct blob *b = &c->blobs[i];
		if (b->kind != BLOB_PICTURE)
			continue;
		list[n] = (struct carried_picture){ .file = b->name, .bytes = b->data, .n = b->n };
		n++;
	}
	return list ? observed_pictures(seen, &c->arena, list, n, err) : -ENOMEM;
}

int capture_work_out(struct worked *ret, struct capture *c, const struct suite_case *suite_case,
		     const struct timer_def *timer, struct err *err)
{
	*ret = (struct worked){ .audit_ok = UNKNOWN };
	int rc = parse_logs(ret, c);
	if (!rc)
		rc = place_ranks(ret, c);
	if (!rc)
		rc = find_numbers(ret, c, suite_case, err);
	if (!rc && timer)
		rc = read_timer(ret, c, timer);
	if (!rc)
		rc = round_all(ret, c);
	if (rc) {
		worked_done(ret);
		return rc == -ENOMEM ? err_set(err, rc, "out of memory") : rc;
	}
	ret->observed = (struct observed){
		.row = c->row,
		.end = c->end,
		.start_real_ns = c->start_real_ns,
		.end_real_ns = c->end_real_ns,
		.logs = (const struct roi_log *const *)ret->logs.items,
		.n_logs = ret->logs.n,
		.rank_cpus = ret->rank_cpus,
		.rank_threads = ret->rank_threads,
		.timer = timer ? &ret->timer : NULL,
		.fom = ret->fom,
		.own_timer = ret->own_timer,
		.notes = c->notes,
	};
	rc = take_pictures(&ret->observed, c, err);
	if (rc)
		worked_done(ret);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

void worked_done(struct worked *w)
{
	roilogs_done(&w->logs);
	*w = (struct worked){ .audit_ok = UNKNOWN };
}
