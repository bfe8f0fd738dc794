/* Folders of logs, and the processes behind them: an agent in this process, logs made by hand. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
/* cmocka wants those before */
#include <cmocka.h>

#include "agent/folder.h"
#include "agent/impl.h"
#include "agent/process.h"
#include "lib/num.h"
#include "schema/picture.h"
#include "tests/unit/agent_world.h"
#include "tests/unit/marklog_build.h"

static char boot_id[40];

static void read_boot(void)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	assert_non_null(f);
	assert_non_null(fgets(boot_id, sizeof boot_id, f));
	assert_int_equal(fclose(f), 0);
	boot_id[strcspn(boot_id, "\n")] = 0;
}

/* A log of a process of this boot, with one entry. exited: it came to its end. */
static void make_log(struct built *b, long pid, unsigned long long start, unsigned generation,
		     bool exited)
{
	static char name[96];
	uint32_t at = MARKLOG_FIXED_BYTES + 512;
	built_init(b);
	(void)snprintf(name, sizeof name, "%.8s-%ld-%llu.%u", boot_id, pid, start, generation);
	built_text(b, MARKLOG_STREAM, &at, name, strlen(name));
	built_header(b)->pid = (uint32_t)pid;
	built_header(b)->ready = 1;
	built_header(b)->streams = 1;
	built_header(b)->exited = exited;
	built_entry(b, 0, 1000, 2000, 0);
}

/* Whole at once, as a marked process makes it: the name is there when it is closed. */
static void leave(const char *folder, const char *name, const void *bytes, size_t n)
{
	char path[512];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	assert_int_equal(close(fd), 0);
}

static void leave_log(const char *folder, long pid, bool exited)
{
	char name[64];
	struct built b;
	make_log(&b, pid, 77, 0, exited);
	(void)snprintf(name, sizeof name, "p%ld.roilog", pid);
	leave(folder, name, b.bytes, sizeof b.bytes);
}

static size_t files(const char *folder)
{
	size_t n = 0;
	DIR *d = opendir(folder);
	const struct dirent *e;
	assert_non_null(d);
	while ((e = readdir(d)))
		n += strstr(e->d_name, ".roilog") != NULL;
	(void)closedir(d);
	return n;
}

/* Until this many frames of processes are there, or a minute passed. */
static size_t wait_for(struct world *w, size_t many)
{
	size_t n = 0;
	for (int i = 0; i < 12000; i++) {
		world_turn(w);
		n = world_count(w, FRAME_PROCESS);
		if (n >= many)
			break;
		(void)usleep(5000);
	}
	return n;
}

static struct world *open_world(void)
{
	struct world *w = calloc(1, sizeof *w);
	assert_non_null(w);
	read_boot();
	world_folder(w);
	return w;
}

static void close_world(struct world *w)
{
	world_done(w);
	free(w);
}

static uint64_t losses(struct world *w)
{
	struct frame f;
	uint64_t n = 0;
	for (size_t at = 0; outbox_each_loss(w->outbox, &at, &f);)
		n += f.as.loss.count;
	return n;
}

/* ---- folders ----------------------------------------------------------------------------------
 */

static void more_logs_than_can_be_followed_are_all_taken(void **state)
{
	struct world *w = open_world();
	(void)state;
	w->config.processes = 16;
	assert_int_equal(mkdir(w->logs, 01777), 0);
	for (long i = 0; i < 300; i++)
		leave_log(w->logs, 4200000 + i, true);
	world_start(w);
	assert_int_equal(wait_for(w, 300), 300);
	assert_int_equal(files(w->logs), 0);
	for (long i = 300; i < 500; i++)
		leave_log(w->logs, 4200000 + i, true);
	assert_int_equal(wait_for(w, 500), 500);
	assert_int_equal(files(w->logs), 0);
	assert_int_equal(losses(w), 0);
	close_world(w);
}

static void logs_of_a_user_past_its_share_wait_and_are_all_taken(void **state)
{
	struct world *w = open_world();
	(void)state;
	w->config.processes = 16;
	world_start(w);
	const struct core_config c = { .first_ns = 50000000,
				       .slowest_ns = 100000000,
				       .max_logs = 16,
				       .max_runs = 16,
				       .share = 0.5,
				       .unshared = { (uid_t)-1, (uid_t)-1 } };
	core_reconfigure(w->agent->core, &c, agent_now());
	for (long i = 0; i < 20; i++)
		leave_log(w->logs, 4200000 + i, true);
	assert_int_equal(wait_for(w, 20), 20);
	assert_int_equal(files(w->logs), 0);
	assert_int_equal(losses(w), 0);
	close_world(w);
}

static void when_more_happens_than_the_kernel_keeps_the_folder_is_looked_through(void **state)
{
	struct world *w = open_world();
	char path[256];
	(void)state;
	world_start(w);
	world_turn(w);
	for (int i = 0; i < 40000; i++) { /* two names in turn: equal ones are one event */
		(void)snprintf(path, sizeof path, "%s/%d", w->logs, i % 2);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		(void)close(fd);
	}
	for (long i = 0; i < 20; i++)
		leave_log(w->logs, 4200000 + i, true);
	assert_int_equal(wait_for(w, 20), 20);
	close_world(w);
}

static void somebody_else_s_folder_is_left_as_it_is_and_taken_once(void **state)
{
	struct world *w = open_world();
	char other[128];
	const char *const folders[] = { other };
	struct built b;
	(void)state;
	(void)snprintf(other, sizeof other, "%s/other", w->folder);
	assert_int_equal(mkdir(other, 0755), 0);
	w->config.folders.items = (const char **)(uintptr_t)folders;
	w->config.folders.n = 1;
	for (long i = 0; i < 10; i++)
		leave_log(other, 4200000 + i, true);
	make_log(&b, 4200100, 77, 0, true);
	char host[256];
	assert_int_equal(gethostname(host, sizeof host), 0);
	world_start(w);
	assert_int_equal(wait_for(w, 10), 10);
	assert_int_equal(files(other), 10);
	world_stop(w);
	world_start(w);
	for (int i = 0; i < 10; i++)
		world_turn(w);
	assert_int_equal(world_count(w, FRAME_PROCESS), 10);
	/* One that changed since is another one. */
	leave_log(other, 4200100, true);
	char path[256];
	(void)snprintf(path, sizeof path, "%s/p4200000.roilog", other);
	assert_int_equal(truncate(path, sizeof b.bytes + 100), 0);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	(void)close(fd);
	assert_int_equal(wait_for(w, 12), 12);

	/* The folder is taken away, and comes back. */
	char away[160];
	(void)snprintf(away, sizeof away, "%s.away", other);
	assert_int_equal(rename(other, away), 0);
	world_turn(w);
	assert_int_equal(mkdir(other, 0755), 0);
	leave_log(other, 4200200, true);
	folders_check(w->agent);
	assert_int_equal(wait_for(w, 13), 13);
	close_world(w);
}

static void logs_of_another_boot_or_machine_are_told_apart(void **state)
{
	struct world *w = open_world();
	char other[128];
	const char *const folders[] = { other };
	struct built b;
	(void)state;
	(void)snprintf(other, sizeof other, "%s/other", w->folder);
	assert_int_equal(mkdir(other, 0755), 0);
	w->config.folders.items = (const char **)(uintptr_t)folders;
	w->config.folders.n = 1;
	world_start(w);
	built_init(&b); /* host node1, boot 0123abcd */
	leave(other, "theirs.roilog", b.bytes, sizeof b.bytes);
	for (int i = 0; i < 10; i++)
		world_turn(w);
	assert_int_equal(world_count(w, FRAME_PROCESS), 0);

	char host[256] = "";
	uint32_t at = MARKLOG_FIXED_BYTES + 512;
	assert_int_equal(gethostname(host, sizeof host - 1), 0);
	built_text(&b, MARKLOG_HOST, &at, host, strlen(host));
	leave(other, "before.roilog", b.bytes, sizeof b.bytes);
	assert_int_equal(wait_for(w, 1), 1);
	assert_int_equal(losses(w), 0);
	close_world(w);
}

static void a_second_log_of_a_name_does_not_take_the_place_of_the_first(void **state)
{
	struct world *w = open_world();
	struct built b;
	(void)state;
	pid_t pid = fork();
	if (!pid) {
		(void)pause();
		_exit(0);
	}
	struct process_view v;
	uint64_t start;
	process_view_open(&v, boot_id);
	assert_int_equal(process_start(&v, pid, &start), 0);
	world_start(w);
	make_log(&b, pid, start, 0, false);
	leave(w->logs, "one.roilog", b.bytes, sizeof b.bytes);
	world_turn(w);
	leave(w->logs, "two.roilog", b.bytes, sizeof b.bytes);
	world_turn(w);
	assert_int_equal(losses(w), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(wait_for(w, 1) >= 1);
	struct world_reader r = { .open = false };
	struct frame f;
	size_t finals = 0;
	outbox_rewind(w->outbox);
	while (world_frame(w, &r, FRAME_PROCESS, &f)) {
		finals += f.as.process.final == YES;
		assert_memory_equal(f.as.process.file.p, "one.roilog", 10);
		assert_int_equal(f.as.process.pid, pid);
	}
	batch_in_done(&r.in);
	assert_int_equal(finals, 1);
	close_world(w);
}

static void a_log_that_is_cut_while_it_is_followed_is_a_loss_with_a_sentence(void **state)
{
	struct world *w = open_world();
	struct built b;
	char path[256];
	(void)state;
	pid_t pid = fork();
	if (!pid) {
		(void)pause();
		_exit(0);
	}
	struct process_view v;
	uint64_t start;
	process_view_open(&v, boot_id);
	assert_int_equal(process_start(&v, pid, &start), 0);
	world_start(w);
	make_log(&b, pid, start, 0, false);
	leave(w->logs, "one.roilog", b.bytes, sizeof b.bytes);
	world_turn(w);
	(void)snprintf(path, sizeof path, "%s/one.roilog", w->logs);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 12000 && !losses(w); i++) {
		world_turn(w);
		(void)usleep(5000);
	}
	assert_int_equal(losses(w), 1);
	close_world(w);
}

static void of_a_log_that_is_too_large_the_first_part_is_sent(void **state)
{
	struct world *w = open_world();
	struct world_reader r = { .open = false };
	struct frame f;
	uint64_t end = 0;
	char path[256];
	(void)state;
	assert_int_equal(mkdir(w->logs, 01777), 0);
	leave_log(w->logs, 4200000, true);
	(void)snprintf(path, sizeof path, "%s/p4200000.roilog", w->logs);
	assert_int_equal(truncate(path, (off_t)FOLLOW_MAX_BYTES + (1 << 20)), 0);
	world_start(w);
	for (int i = 0; i < 12000 && files(w->logs); i++) {
		world_turn(w);
		(void)usleep(5000);
	}
	assert_int_equal(files(w->logs), 0);
	while (world_frame(w, &r, FRAME_PROCESS, &f)) {
		assert_int_equal(f.as.process.offset, end);
		assert_int_equal(f.as.process.size, FOLLOW_MAX_BYTES);
		end += f.as.process.data.n;
	}
	batch_in_done(&r.in);
	assert_int_equal(end, FOLLOW_MAX_BYTES);
	assert_int_equal(losses(w), 1);
	close_world(w);
}

/* It is told in a moment, and at most once a second. */
static void expect_losses(struct world *w, uint64_t many)
{
	for (int i = 0; i < 12000 && losses(w) < many; i++) {
		world_turn(w);
		(void)usleep(5000);
	}
	assert_int_equal(losses(w), many);
}

static void what_processes_without_a_log_say_is_told_once(void **state)
{
	struct world *w = open_world();
	char path[256];
	(void)state;
	world_start(w);
	(void)snprintf(path, sizeof path, "%s/" MARKLOG_LOSSES, w->logs);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	struct marklog_losses *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(l != MAP_FAILED);
	l->slots[0] = (struct marklog_loss){
		.used = 1, .pid = 4200000, .error = ENOSPC, .entries = 3, .what = "make"
	};
	l->next = 1;
	assert_int_equal(close(fd), 0);
	expect_losses(w, 1);
	(void)snprintf(path, sizeof path, "%s/" MARKLOG_UNATTACHED, w->logs);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0 && write(fd, "pid 7: no library\n", 18) == 18);
	assert_int_equal(close(fd), 0);
	expect_losses(w, 2);
	(void)snprintf(path, sizeof path, "%s/" MARKLOG_LOSS_LINK "99", w->logs);
	assert_int_equal(symlink("pid 99: could not make its mark log", path), 0);
	expect_losses(w, 3);
	assert_int_equal(access(path, F_OK), -1);
	world_stop(w);
	world_start(w);
	world_turn(w);
	assert_int_equal(losses(w), 3);

	/* All slots in use, by processes that are gone: there is a new file. */
	for (uint64_t i = 0; i < MARKLOG_LOSS_SLOTS; i++)
		l->slots[i] = (struct marklog_loss){
			.used = 1, .pid = (uint32_t)(4200000 + i), .error = ENOSPC, .what = "make"
		};
	l->next = MARKLOG_LOSS_SLOTS;
	(void)munmap(l, sizeof *l);
	folders_check(w->agent);
	world_turn(w);
	assert_int_equal(losses(w), 2 + MARKLOG_LOSS_SLOTS);
	(void)snprintf(path, sizeof path, "%s/" MARKLOG_LOSSES, w->logs);
	uint64_t next = 1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, &next, sizeof next, offsetof(struct marklog_losses, next)),
			 sizeof next);
	assert_int_equal(close(fd), 0);
	assert_int_equal(next, 0);
	close_world(w);
}

/* Each word in a file that all may write to would be a look at the whole of it, and a line. */
static void who_says_losses_without_end_is_looked_at_once_a_second(void **state)
{
	struct world *w = open_world();
	char path[256], pipe[256];
	(void)state;
	world_start(w);
	(void)snprintf(path, sizeof path, "%s/" MARKLOG_UNATTACHED, w->logs);
	uint64_t changes = 0, before = losses(w);
	int64_t from = agent_now();
	for (int i = 0; i < 400; i++) {
		FILE *f = fopen(path, "a");
		assert_non_null(f);
		assert_true(fprintf(f, "pid %d: no library\n", i) > 0);
		assert_int_equal(fclose(f), 0);
		world_turn(w);
		changes += losses(w) != before;
		before = losses(w);
	}
	assert_true(changes <= 2 + (uint64_t)((agent_now() - from) / 1000000000));
	expect_losses(w, 400);

	/* A pipe in the place of a file is not waited for, and does not stay. */
	(void)snprintf(pipe, sizeof pipe, "%s/" MARKLOG_LOSSES, w->logs);
	assert_int_equal(unlink(pipe), 0);
	assert_int_equal(mkfifo(pipe, 0666), 0);
	FILE *f = fopen(path, "a");
	assert_non_null(f);
	assert_true(fprintf(f, "pid 1000: no library\n") > 0);
	assert_int_equal(fclose(f), 0);
	expect_losses(w, 401);
	struct stat st;
	assert_int_equal(lstat(pipe, &st), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size > 0);
	close_world(w);
}

/* ---- processes --------------------------------------------------------------------------------
 */

/* What a collector leaves of a process of this boot that is gone. false: nobody else's can be made.
 */
static bool leave_picture_of(uid_t uid, const char *folder, long pid, const char *exec)
{
	char name[128];
	struct picture p;
	struct buf b = { .max = 1 << 20 };
	picture_clear(&p);
	p.collector = "opencl";
	p.status = "ok";
	p.final = YES;
	p.run = "20260929T045201Z-0123abcd";
	p.exec = exec;
	p.stream = "the-log";
	p.exe = "/bin/true";
	picture_put(&b, &p);
	assert_false(b.failed);
	(void)snprintf(name, sizeof name, "%s/.%.8s-%ld-77.0.opencl.roipic", folder, boot_id, pid);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0 && write(fd, b.data, b.len) == (ssize_t)b.len);
	bool may = !fchown(fd, uid, (gid_t)-1);
	assert_int_equal(close(fd), 0);
	char seen[128];
	(void)snprintf(seen, sizeof seen, "%s/%.8s-%ld-77.0.opencl.roipic", folder, boot_id, pid);
	assert_int_equal(may ? rename(name, seen) : unlink(name), 0);
	buf_done(&b);
	return may;
}

static void leave_picture(const char *folder, long pid, const char *exec)
{
	assert_true(leave_picture_of(getuid(), folder, pid, exec));
}

static size_t pictures(struct world *w, size_t many)
{
	size_t n = 0;
	for (int i = 0; i < 12000 && n < many; i++) {
		world_turn(w);
		n = world_count(w, FRAME_PICTURE);
		(void)usleep(5000);
	}
	return n;
}

static bool is_there(const char *folder, const char *part)
{
	bool there = false;
	DIR *d = opendir(folder);
	const struct dirent *e;
	assert_non_null(d);
	while ((e = readdir(d)))
		there = there || strstr(e->d_name, part);
	(void)closedir(d);
	return there;
}

static void what_collectors_left_is_sent_and_goes(void **state)
{
	struct world *w = open_world();
	(void)state;
	assert_int_equal(mkdir(w->logs, 01777), 0);
	leave_picture(w->logs, 4200000, "profiled.opencl"); /* before this life */
	world_start(w);
	assert_int_equal(pictures(w, 1), 1);
	leave_picture(w->logs, 4200001, "profiled.opencl");
	assert_int_equal(pictures(w, 2), 2);
	struct world_reader r = { .open = false };
	struct frame f;
	outbox_rewind(w->outbox);
	assert_true(world_frame(w, &r, FRAME_PICTURE, &f));
	const struct frame_picture *p = &f.as.picture;
	assert_true(p->final == YES && p->data.n == p->size && p->uid == (int64_t)getuid());
	assert_memory_equal(p->run.p, "20260929T045201Z-0123abcd", p->run.n);
	assert_memory_equal(p->exec.p, "profiled.opencl", p->exec.n);
	assert_memory_equal(p->stream.p, "the-log", p->stream.n);
	assert_memory_equal(p->data.p, "roimeter-picture", 16);
	batch_in_done(&r.in);
	for (int i = 0; i < 200 && is_there(w->logs, ".roipic"); i++)
		world_turn(w);
	assert_false(is_there(w->logs, ".roipic"));
	assert_int_equal(losses(w), 0);
	close_world(w);
}

static void what_is_no_picture_is_said_once(void **state)
{
	struct world *w = open_world();
	char name[96];
	(void)state;
	world_start(w);
	(void)snprintf(name, sizeof name, "%.8s-4200000-77.0.opencl.roipic", boot_id);
	leave(w->logs, name, "nonsense", 8);
	leave_picture(w->logs, 4200001, NULL); /* of no execution */
	leave(w->logs, "strange.roipic", "roimeter-picture 1\n12345678", 27);
	for (int i = 0; i < 100 && losses(w) < 3; i++)
		world_turn(w);
	assert_int_equal(losses(w), 3);
	for (int i = 0; i < 20; i++) { /* made anew each second, by a process that lives */
		leave_picture(w->logs, 4200001, NULL);
		world_turn(w);
	}
	assert_int_equal(losses(w), 3);
	assert_int_equal(world_count(w, FRAME_PICTURE), 0);
	close_world(w);
}

static void a_picture_of_another_users_run_is_a_loss(void **state)
{
	struct world *w = open_world();
	struct frame f;
	char text[512] = "";
	uid_t uid = getuid() ? getuid() : 4712; /* root may speak for everybody */
	(void)state;
	world_start(w);
	assert_int_equal(
		core_announced(w->agent->core, "20260929T045201Z-0123abcd", 4711, w, agent_now()),
		0);
	bool may = leave_picture_of(uid, w->logs, 4200000, "profiled.opencl");
	for (int i = 0; may && i < 12000 && !losses(w); i++)
		world_turn(w);
	for (size_t at = 0; outbox_each_loss(w->outbox, &at, &f);)
		(void)snprintf(text, sizeof text, "%.*s", (int)f.as.loss.text.n, f.as.loss.text.p);
	assert_int_equal(losses(w), may);
	assert_true(!may || strstr(text, "is another user's: the picture is not taken"));
	assert_int_equal(world_count(w, FRAME_PICTURE), 0);
	for (int i = 0; i < 200 && is_there(w->logs, ".roipic"); i++)
		world_turn(w);
	assert_false(is_there(w->logs, ".roipic"));
	close_world(w);
	if (!may)
		skip(); /* no other user is known in this namespace */
}

static void names_of_streams_are_taken_apart(void **state)
{
	struct process_name n;
	static const char *const bad[] = { "",
					   "-",
					   "0123abcd",
					   "0123abcd-",
					   "0123abcd-x-1.0",
					   "0123abcd-0-1.0",
					   "0123abcd-1",
					   "0123abcd-1-1",
					   "0123abcde-1-1.0",
					   "0123abcd-99999999999-1.0" };
	(void)state;
	assert_int_equal(process_name_read(&n, "0123abcd-4711-99.2"), 0);
	assert_string_equal(n.boot, "0123abcd");
	assert_int_equal(n.pid, 4711);
	assert_int_equal(n.start, 99);
	assert_int_equal(process_name_read(&n, "0123abcd-4711-m123.0"), 0);
	assert_int_equal(n.start, 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(process_name_read(&n, bad[i]), -EINVAL);
}

static void a_process_is_known_by_its_start_and_its_owner(void **state)
{
	struct process_view v;
	struct process_name name = { .pid = 0 };
	uid_t uid = getuid();
	pid_t found;
	int pidfd;
	(void)state;
	read_boot();
	process_view_open(&v, boot_id);
	pid_t pid = fork();
	if (!pid) {
		(void)pause();
		_exit(0);
	}
	name.pid = pid;
	memcpy(name.boot, boot_id, 8);
	assert_int_equal(process_start(&v, pid, &name.start), 0);
	assert_int_equal(process_find(&v, &name, uid, 0, -1, false, &found, &pidfd), PROCESS_HERE);
	assert_int_equal(found, pid);
	(void)close(pidfd);
	/* Whoever passes the log is it, also where its number there is another one than here. */
	struct process_name inner = name;
	inner.pid = 1;
	assert_int_equal(process_find(&v, &inner, uid, pid, -1, false, &found, &pidfd),
			 PROCESS_HERE);
	assert_int_equal(found, pid);
	(void)close(pidfd);
	/* The same number, and another start: used again. */
	struct process_name again = name;
	again.start--;
	assert_int_equal(process_find(&v, &again, uid, 0, -1, true, &found, &pidfd), PROCESS_GONE);
	assert_int_equal(process_find(&v, &name, uid + 1, 0, -1, true, &found, &pidfd),
			 PROCESS_OTHERS);
	struct process_name before = name;
	before.boot[0] = before.boot[0] == '0' ? '1' : '0';
	assert_int_equal(process_find(&v, &before, uid, 0, -1, false, &found, &pidfd),
			 PROCESS_BEFORE);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_find(&v, &name, uid, 0, -1, false, &found, &pidfd), PROCESS_GONE);
}

/* ---- what was dealt with ----------------------------------------------------------------------
 */

static void fake_process(const char *proc, pid_t pid, unsigned start, unsigned uid, int inner)
{
	char path[256], text[256];
	(void)snprintf(path, sizeof path, "%s/%d", proc, (int)pid);
	assert_int_equal(mkdir(path, 0700), 0);
	int n = snprintf(text, sizeof text, "%d (x) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %u 0\n",
			 (int)pid, start);
	leave(path, "stat", text, (size_t)n);
	n = snprintf(text, sizeof text, "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\t%d\n", uid,
		     uid, uid, uid, (int)pid, inner);
	leave(path, "status", text, (size_t)n);
}

/* In a pid namespace of one's own any number can be had. */
static void nobody_takes_the_name_of_another_user_s_process_by_its_number(void **state)
{
	char proc[] = "/tmp/roimeter-proc.XXXXXX";
	struct process_view v = { .proc = proc, .boot = "0123abcd" };
	struct process_name name = { .boot = "0123abcd", .pid = 1, .start = 99 };
	pid_t found;
	int pidfd;
	(void)state;
	assert_non_null(mkdtemp(proc));
	fake_process(proc, getpid(), 50, 54321, 1);
	fake_process(proc, 1, 99, 12345, 1);
	assert_int_equal(process_find(&v, &name, 54321, getpid(), -1, false, &found, &pidfd),
			 PROCESS_OTHERS);
	assert_int_equal(pidfd, -1);
	name.start = 98; /* nobody has that here: it is in its own namespace */
	assert_int_equal(process_find(&v, &name, 54321, getpid(), -1, false, &found, &pidfd),
			 PROCESS_HERE);
	assert_int_equal(found, getpid());
	assert_int_equal(close(pidfd), 0);
	assert_int_equal(file_remove_tree(proc, NULL), 0);
}

static void what_was_taken_is_known_in_the_next_life(void **state)
{
	struct taken t;
	char folder[] = "/tmp/roimeter-taken.XXXXXX", path[64];
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(taken_open(&t, folder, NULL), 0);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_false(taken_has(&t, i * 3));
		taken_add(&t, i * 3);
		taken_add(&t, i * 3);
	}
	taken_close(&t);
	assert_int_equal(taken_open(&t, folder, NULL), 0);
	for (uint64_t i = 2; i < 5000; i++) { /* 0 and 1 are one */
		assert_true(taken_has(&t, i * 3));
		assert_false(taken_has(&t, i * 3 + 2));
	}
	taken_close(&t);
	/* A key that a kill cut: what is behind it can't be told; all comes once more. */
	(void)snprintf(path, sizeof path, "%s/taken", folder);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 5000 * 8);
	assert_int_equal(truncate(path, st.st_size - 3), 0);
	assert_int_equal(taken_open(&t, folder, NULL), 0);
	assert_false(taken_has(&t, 30));
	taken_add(&t, 30);
	taken_close(&t);
	assert_int_equal(taken_open(&t, folder, NULL), 0);
	assert_true(taken_has(&t, 30));
	taken_close(&t);
	(void)file_remove_tree(folder, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_logs_than_can_be_followed_are_all_taken),
		cmocka_unit_test(logs_of_a_user_past_its_share_wait_and_are_all_taken),
		cmocka_unit_test(
			when_more_happens_than_the_kernel_keeps_the_folder_is_looked_through),
		cmocka_unit_test(somebody_else_s_folder_is_left_as_it_is_and_taken_once),
		cmocka_unit_test(logs_of_another_boot_or_machine_are_told_apart),
		cmocka_unit_test(a_second_log_of_a_name_does_not_take_the_place_of_the_first),
		cmocka_unit_test(a_log_that_is_cut_while_it_is_followed_is_a_loss_with_a_sentence),
		cmocka_unit_test(of_a_log_that_is_too_large_the_first_part_is_sent),
		cmocka_unit_test(what_processes_without_a_log_say_is_told_once),
		cmocka_unit_test(who_says_losses_without_end_is_looked_at_once_a_second),
		cmocka_unit_test(what_collectors_left_is_sent_and_goes),
		cmocka_unit_test(what_is_no_picture_is_said_once),
		cmocka_unit_test(a_picture_of_another_users_run_is_a_loss),
		cmocka_unit_test(names_of_streams_are_taken_apart),
		cmocka_unit_test(a_process_is_known_by_its_start_and_its_owner),
		cmocka_unit_test(nobody_takes_the_name_of_another_user_s_process_by_its_number),
		cmocka_unit_test(what_was_taken_is_known_in_the_next_life),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
