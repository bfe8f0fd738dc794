/* Which runs are open, on disk: what was synced is there again, whatever happened to the file. */
/* wrap: fdatasync malloc calloc realloc */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/notebook.h"
#include "lib/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/small_disk.h"

static int fail_syncs, syncs;
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	(void)fd;
	syncs++;
	if (fail_syncs <= 0)
		return 0;
	fail_syncs--;
	errno = EIO;
	return -1;
}

static char folder[64], path[80];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-test.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof path, "%s/runs", folder);
	fail_syncs = syncs = 0;
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

static struct noted of(unsigned i)
{
	struct noted run = { .uid = 1000 + i,
			     .pid = (pid_t)(7 + i),
			     .start = UINT64_MAX - i,
			     .space = 4026531836,
			     .boot = "c0ffee00-0000-4000-8000-000000000001",
			     .announced_real_ns =
				     i ? INT64_C(1700000000000000000) + i : INT64_MIN };
	(void)snprintf(run.run, sizeof run.run, "20260101T000000Z-%08x", i);
	return run;
}

static struct notebook *open_it(size_t damaged)
{
	struct notebook *b = NULL;
	size_t n = 999;
	assert_int_equal(notebook_open(&b, folder, &n, NULL), 0);
	assert_int_equal(n, damaged);
	return b;
}

static void put(struct notebook *b, unsigned i)
{
	struct noted run = of(i);
	assert_int_equal(notebook_put(b, &run, NULL), 0);
}

static size_t count(const struct notebook *b)
{
	size_t at = 0, n = 0;
	while (notebook_next(b, &at))
		n++;
	return n;
}

static const struct noted *find(const struct notebook *b, unsigned i)
{
	struct noted wanted = of(i);
	const struct noted *run;
	size_t at = 0;
	while ((run = notebook_next(b, &at)))
		if (!strcmp(run->run, wanted.run))
			return run;
	return NULL;
}

static void assert_noted(const struct notebook *b, unsigned i)
{
	struct noted wanted = of(i);
	const struct noted *run = find(b, i);
	assert_non_null(run);
	assert_int_equal(run->uid, wanted.uid);
	assert_int_equal(run->pid, wanted.pid);
	assert_true(run->start == wanted.start && run->space == wanted.space);
	assert_true(run->announced_real_ns == wanted.announced_real_ns);
	assert_string_equal(run->boot, wanted.boot);
}

static void what_was_synced_is_there_in_the_next_life(void **state)
{
	(void)state;
	struct notebook *b = open_it(0);
	assert_int_equal(count(b), 0);
	for (unsigned i = 0; i < 100; i++)
		put(b, i);
	for (unsigned i = 0; i < 100; i += 2)
		notebook_remove(b, of(i).run);
	notebook_remove(b, "no such run");
	notebook_remove(b, "");
	assert_int_equal(notebook_sync(b, NULL), 0);
	notebook_close(b);
	b = open_it(0);
	assert_int_equal(count(b), 50);
	for (unsigned i = 1; i < 100; i += 2)
		assert_noted(b, i);
	notebook_close(b);
}

static void what_was_not_synced_is_not(void **state)
{
	(void)state;
	struct notebook *b = open_it(0);
	put(b, 1);
	assert_int_equal(notebook_sync(b, NULL), 0);
	put(b, 2);
	notebook_remove(b, of(1).run);
	notebook_close(b);
	b = open_it(0);
	assert_non_null(find(b, 1));
	assert_null(find(b, 2));
	notebook_close(b);
}

static void a_run_that_is_announced_again_keeps_one_place(void **state)
{
	(void)state;
	struct notebook *b = open_it(0);
	for (unsigned i = 0; i < 40; i++) {
		struct noted run = of(3);
		run.pid = (pid_t)(100 + i);
		assert_int_equal(notebook_put(b, &run, NULL), 0);
		assert_int_equal(notebook_sync(b, NULL), 0);
	}
	notebook_close(b);
	b = open_it(0);
	assert_int_equal(count(b), 1);
	assert_int_equal(find(b, 3)->pid, 139);
	notebook_close(b);
}

static void thousands_of_runs_in_turn_need_one_page(void **state)
{
	(void)state;
	struct notebook *b = open_it(0);
	struct stat st;
	for (unsigned i = 0; i < 5000; i++) {
		put(b, i);
		assert_int_equal(notebook_sync(b, NULL), 0);
		notebook_remove(b, of(i).run);
	}
	assert_int_equal(notebook_sync(b, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4096);
	int before = syncs;
	assert_int_equal(notebook_sync(b, NULL), 0);
	assert_int_equal(syncs, before); /* nothing new costs nothing */
	notebook_close(b);
}

static void more_than_the_most_are_refused(void **state)
{
	(void)state;
	struct notebook *b = open_it(0);
	struct noted one_more = of(NOTEBOOK_MAX);
	for (unsigned i = 0; i < NOTEBOOK_MAX; i++)
		put(b, i);
	assert_int_equal(notebook_put(b, &one_more, NULL), -ENOSPC);
	put(b, 5); /* again is no more */
	notebook_remove(b, of(6).run);
	assert_int_equal(notebook_put(b, &one_more, NULL), 0);
	assert_int_equal(notebook_sync(b, NULL), 0);
	notebook_close(b);
	b = open_it(0);
	assert_int_equal(count(b), NOTEBOOK_MAX);
	assert_noted(b, NOTEBOOK_MAX);
	assert_null(find(b, 6));
	notebook_close(b);
}

static void names_that_are_none_are_refused(void **state)
{
	(void)state;
	static const char *const names[] = { "", "a b", "a\nb", "\xc3\xa4", "\x7f" };
	struct notebook *b = open_it(0);
	struct noted run = of(1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		(void)snprintf(run.run, sizeof run.run, "%s", names[i]);
		assert_int_equal(notebook_put(b, &run, NULL), -EINVAL);
	}
	memset(run.run, 'x', sizeof run.run);
	assert_int_equal(notebook_put(b, &run, NULL), -EINVAL);
	run.run[sizeof run.run - 1] = 0;
	assert_int_equal(notebook_put(b, &run, NULL), 0);
	notebook_close(b);
}

static void write_some(unsigned n)
{
	struct notebook *b = open_it(0);
	for (unsigned i = 0; i < n; i++)
		put(b, i);
	assert_int_equal(notebook_sync(b, NULL), 0);
	notebook_close(b);
}

static void any_bit_that_falls_over_costs_its_run_only(void **state)
{
	(void)state;
	write_some(3);
	for (unsigned bit = 0; bit < 8 * NOTEBOOK_SLOT; bit++) {
		unsigned char byte, was;
		off_t at = NOTEBOOK_SLOT + bit / 8;
		int fd = open(path, O_RDWR | O_CLOEXEC);
		assert_int_equal(pread(fd, &was, 1, at), 1);
		byte = (unsigned char)(was ^ (1u << (bit % 8)));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		struct notebook *b = open_it(1);
		assert_int_equal(count(b), 2);
		assert_noted(b, 0);
		assert_noted(b, 2);
		notebook_close(b);
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
		(void)close(fd);
	}
	struct notebook *b = open_it(0);
	assert_int_equal(count(b), 3);
	notebook_close(b);
}

static void damage_is_said_once(void **state)
{
	(void)state;
	write_some(3);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "rubbish", 7, 20), 7);
	(void)close(fd);
	struct notebook *b = open_it(1);
	assert_int_equal(notebook_sync(b, NULL), 0);
	notebook_close(b);
	b = open_it(0);
	assert_int_equal(count(b), 2);
	put(b, 9); /* in its place */
	notebook_close(b);
}

static void a_file_that_was_cut_off_has_what_is_left(void **state)
{
	(void)state;
	write_some(3);
	assert_int_equal(truncate(path, 2 * NOTEBOOK_SLOT + 100), 0);
	struct notebook *b = open_it(1);
	assert_int_equal(count(b), 2);
	for (unsigned i = 10; i < 40; i++)
		put(b, i);
	assert_int_equal(notebook_sync(b, NULL), 0);
	notebook_close(b);
	b = open_it(0);
	assert_int_equal(count(b), 32);
	notebook_close(b);
}

static void a_run_that_stands_there_twice_is_one(void **state)
{
	(void)state;
	unsigned char slot[NOTEBOOK_SLOT];
	write_some(2);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, slot, sizeof slot, 0), sizeof slot);
	assert_int_equal(pwrite(fd, slot, sizeof slot, 5 * NOTEBOOK_SLOT), sizeof slot);
	(void)close(fd);
	struct notebook *b = open_it(1);
	assert_int_equal(count(b), 2);
	notebook_close(b);
}

static void a_sync_that_fails_is_made_up_for(void **state)
{
	(void)state;
	struct notebook *b = open_it(0);
	assert_int_equal(notebook_sync(b, NULL), 0);
	put(b, 1);
	fail_syncs = 2;
	assert_int_equal(notebook_sync(b, NULL), -EIO);
	assert_int_equal(notebook_sync(b, NULL), -EIO);
	assert_int_equal(notebook_sync(b, NULL), 0);
	notebook_close(b);
	b = open_it(0);
	assert_noted(b, 1);
	notebook_close(b);
}

static void it_opens_or_says_why_not(void **state)
{
	(void)state;
	struct notebook *b = NULL;
	struct err err = { .text = "" };
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(notebook_open(&b, folder, NULL, &err), -ELOOP);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(notebook_open(&b, "/nonexistent/folder", NULL, &err), -ENOENT);
	assert_null(b);
}

static void it_survives_every_failed_allocation(void **state)
{
	(void)state;
	write_some(20);
	for (int n = 1; fail_alloc(n); n++) {
		struct notebook *b = NULL;
		if (notebook_open(&b, folder, NULL, NULL))
			continue;
		for (unsigned i = 20; i < 40; i++) {
			struct noted run = of(i);
			(void)notebook_put(b, &run, NULL);
		}
		notebook_close(b);
	}
	struct notebook *b = open_it(0);
	assert_int_equal(count(b), 20);
	notebook_close(b);
}

/* Exit codes: 0 good, 77 no small disk may be made here, else the line that was wrong. */
#define NEED(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			return __LINE__ % 75 + 1;                                                  \
	} while (0)

static int on_a_full_disk(void)
{
	struct notebook *b = NULL;
	static char page[4096];
	char filler[96];
	struct noted run;
	if (!small_disk_mount(folder, "size=64k"))
		return 77;
	NEED(notebook_open(&b, folder, NULL, NULL) == 0);
	(void)snprintf(filler, sizeof filler, "%s/filler", folder);
	int fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	NEED(fd >= 0);
	while (write(fd, page, sizeof page) > 0) {
	}
	(void)close(fd);
	for (unsigned i = 0; i < 16; i++) {
		run = of(i);
		NEED(notebook_put(b, &run, NULL) == 0);
	}
	NEED(notebook_sync(b, NULL) == 0);
	run = of(16);
	NEED(notebook_put(b, &run, NULL) == -ENOSPC);
	notebook_remove(b, of(2).run);
	NEED(notebook_put(b, &run, NULL) == 0); /* in its place */
	NEED(notebook_sync(b, NULL) == 0);
	notebook_close(b);
	NEED(notebook_open(&b, folder, NULL, NULL) == 0);
	NEED(count(b) == 16 && find(b, 16) && !find(b, 2));
	notebook_close(b);
	return 0;
}

static void a_full_disk_has_room_for_the_first_ones(void **state)
{
	(void)state;
	int status = 0;
	pid_t child = fork();
	if (!child)
		_exit(on_a_full_disk());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no mount namespace of our own here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(what_was_synced_is_there_in_the_next_life),
		IN_A_FOLDER(what_was_not_synced_is_not),
		IN_A_FOLDER(a_run_that_is_announced_again_keeps_one_place),
		IN_A_FOLDER(thousands_of_runs_in_turn_need_one_page),
		IN_A_FOLDER(more_than_the_most_are_refused),
		IN_A_FOLDER(names_that_are_none_are_refused),
		IN_A_FOLDER(any_bit_that_falls_over_costs_its_run_only),
		IN_A_FOLDER(damage_is_said_once),
		IN_A_FOLDER(a_file_that_was_cut_off_has_what_is_left),
		IN_A_FOLDER(a_run_that_stands_there_twice_is_one),
		IN_A_FOLDER(a_sync_that_fails_is_made_up_for),
		IN_A_FOLDER(it_opens_or_says_why_not),
		IN_A_FOLDER(it_survives_every_failed_allocation),
		IN_A_FOLDER(a_full_disk_has_room_for_the_first_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
