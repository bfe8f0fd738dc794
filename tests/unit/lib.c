/* lib: errors, arenas, buffers, files, numbers. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/num.h"
#include "lib/shell.h"

static void err_puts_context_before_and_cuts_at_the_end(void **state)
{
	(void)state;
	struct err err = { "" };
	assert_int_equal(err_set(&err, -ENOENT, "open %s", "a.yaml"), -ENOENT);
	assert_int_equal(err_wrap(&err, -ENOENT, "suite %s", "demo"), -ENOENT);
	assert_string_equal(err.text, "suite demo: open a.yaml");
	assert_int_equal(err_set(NULL, -1, "nobody listens"), -1);

	char longer[2 * ERR_TEXT_BYTES];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	(void)err_set(&err, -1, "%s", longer);
	assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
	(void)err_wrap(&err, -1, "where");
	assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
	assert_memory_equal(err.text, "where: xxx", 10);
	(void)err_wrap(&err, -1, "%s", longer);
	assert_int_equal(strlen(err.text), ERR_TEXT_BYTES - 1);
}

static void arena_hands_out_zeroed_aligned_memory_up_to_its_ceiling(void **state)
{
	(void)state;
	struct arena a = { .max_bytes = 1 << 20 };
	size_t sum = 0;
	for (size_t n = 1; n < 20000; n = n * 3 / 2 + 1) {
		unsigned char *p = arena_alloc(&a, n);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, n);
		sum += n;
	}
	assert_true(a.used_bytes >= sum);
	assert_null(arena_alloc(&a, 1 << 20));
	assert_null(arena_array(&a, SIZE_MAX / 2, 4));
	assert_string_equal(arena_printf(&a, "%s/%d", "x", 7), "x/7");
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	assert_null(arena_strdup(&a, NULL));
	arena_free(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_non_null(arena_alloc(&a, 10)); /* empty again, and usable */
	arena_free(&a);
}

static void arena_grow_keeps_what_was_there(void **state)
{
	(void)state;
	struct arena a = { 0 };
	int *items = NULL;
	size_t cap = 0;
	for (int i = 0; i < 1000; i++) {
		items = arena_grow(&a, items, &cap, (size_t)i + 1, sizeof *items);
		assert_non_null(items);
		items[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	arena_free(&a);
}

static void buf_fails_once_and_for_all_past_its_ceiling(void **state)
{
	(void)state;
	struct buf b = { .max = 10 };
	buf_puts(&b, "12345");
	buf_printf(&b, "%d", 678);
	assert_string_equal(b.data, "12345678");
	assert_false(b.failed);
	buf_puts(&b, "9ab");
	assert_true(b.failed);
	buf_puts(&b, "9");
	assert_int_equal(b.len, 8);
	buf_done(&b);
	assert_null(b.data);
	assert_int_equal(b.max, 10);
}

static void files_are_replaced_whole_or_not_at_all(void **state)
{
	(void)state;
	char dir[] = "/tmp/roimeter-lib-XXXXXX";
	assert_non_null(mkdtemp(dir));
	char path[128], below[160];
	struct err err = { "" };
	(void)snprintf(below, sizeof below, "%s/a/b/c", dir);
	assert_int_equal(file_mkdirs(below, &err), 0);
	assert_int_equal(file_mkdirs(below, &err), 0);
	(void)snprintf(path, sizeof path, "%s/a/b/c/f", dir);
	assert_int_equal(file_write(path, "old", 3, &err), 0);
	assert_int_equal(file_write(path, "new!", 4, &err), 0);
	struct buf b = { .max = 4 };
	assert_int_equal(file_read(&b, path, &err), 0);
	assert_string_equal(b.data, "new!");
	assert_int_equal(file_read(&b, path, &err), -EFBIG); /* 4 more would pass the ceiling */
	assert_non_null(strstr(err.text, path));
	buf_done(&b);

	(void)snprintf(path, sizeof path, "%s/missing/f", dir);
	assert_int_equal(file_write(path, "x", 1, &err), -ENOENT);
	assert_int_equal(file_read(&b, path, &err), -ENOENT);
	assert_non_null(strstr(err.text, "No such file"));

	/* A link out of the folder is removed, not followed. */
	char link[160], outside[160];
	(void)snprintf(outside, sizeof outside, "%s-kept", dir);
	(void)snprintf(link, sizeof link, "%s/a/link", dir);
	assert_int_equal(mkdir(outside, 0700), 0);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(file_remove_tree(dir, &err), 0);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(access(outside, F_OK), 0);
	assert_int_equal(rmdir(outside), 0);
	assert_int_equal(file_remove_tree(dir, &err), 0);
}

/* What a pipe gives in pieces is put together; only its end makes it less. */
static void bytes_of_a_descriptor_are_read_to_the_end(void **state)
{
	(void)state;
	int ends[2];
	char got[16] = "";
	struct buf b = { .max = 4 };
	struct err err = { "" };
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (const char *p = "abcdefghij"; *p; p++) {
			const struct timespec pause = { .tv_nsec = 1000000 };
			if (write(ends[1], p, 1) != 1)
				_exit(1);
			(void)nanosleep(&pause, NULL);
		}
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(file_fill(ends[0], got, 6), 6);
	assert_memory_equal(got, "abcdef", 6);
	assert_int_equal(file_read_fd(&b, ends[0], "the pipe", &err), 0);
	assert_string_equal(b.data, "ghij");
	assert_int_equal(file_fill(ends[0], got, 6), 0);
	assert_int_equal(file_fill_at(ends[0], got, 6, 0), -ESPIPE);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(file_fill(ends[0], got, 6), -EBADF);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	buf_done(&b);
}

static void bytes_of_a_file_are_read_from_anywhere(void **state)
{
	(void)state;
	FILE *f = tmpfile();
	char got[16] = "";
	assert_non_null(f);
	assert_true(fputs("0123456789", f) >= 0 && fflush(f) == 0);
	rewind(f);
	assert_int_equal(file_fill_at(fileno(f), got, 4, 3), 4);
	assert_memory_equal(got, "3456", 4);
	assert_int_equal(file_fill_at(fileno(f), got, 4, 8), 2);
	assert_int_equal(file_fill_at(fileno(f), got, 4, 20), 0);
	assert_int_equal(file_fill_at(fileno(f), got, 4, UINT64_MAX), -EINVAL);
	assert_int_equal(file_fill(fileno(f), got, sizeof got), 10); /* it stands where it stood */
	assert_int_equal(fclose(f), 0);
}

static void num15_survives_text_and_back(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (int i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		double x = num15((double)(seed >> 11) * 1e-9 / (1 + i % 977));
		char text[40];
		(void)snprintf(text, sizeof text, "%.15g", x);
		assert_true(strtod(text, NULL) == x);
		assert_true(num15(x) == x);
	}
	assert_false(known(num15(NAN)));
	assert_true(num15(0) == 0);
}

static void figures_have_three_digits_and_null_is_a_dash(void **state)
{
	(void)state;
	static const struct {
		double seconds;
		const char *text;
	} durations[] = {
		{ NAN, "-" },
		{ 0, "0 s" },
		{ 4e-9, "4.00 ns" },
		{ 8.7e-7, "870 ns" },
		{ 12.34e-6, "12.3 us" },
		{ 0.00104, "1.04 ms" },
		{ 0.9994, "999 ms" },
		{ 0.9996, "1.00 s" },
		{ 2.5, "2.50 s" },
		{ 599.4, "599 s" },
		{ 723, "12 min 03 s" },
		{ -0.02, "-20.0 ms" },
		{ 9.996e-6, "10.0 us" },
	};
	char text[32];
	for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
		assert_string_equal(num_duration(text, durations[i].seconds), durations[i].text);
	assert_string_equal(num_si(text, 1312e6), "1.31 G");
	assert_string_equal(num_si(text, 5), "5");
	assert_string_equal(num_si(text, 0.25), "0.25");
	assert_string_equal(num_si(text, 999.6), "1.00 k");
	assert_string_equal(num_si(text, NAN), "-");
}

static void commands_are_quoted_where_a_shell_needs_it(void **state)
{
	(void)state;
	static const struct {
		const char *word, *text;
	} words[] = {
		{ "./a-b_c.x", "./a-b_c.x" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "$HOME", "'$HOME'" },
		{ "Größe", "'Größe'" },
		{ "two\nlines", "$'two\\012lines'" },
		{ "\x1b\\'", "$'\\033\\\\\\''" },
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct buf b = { 0 };
		shell_word(&b, words[i].word);
		assert_string_equal(b.data, words[i].text);
		buf_done(&b);
	}
	struct buf b = { 0 };
	shell_assignment(&b, "A=b c=d");
	assert_string_equal(b.data, "A='b c=d'");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(err_puts_context_before_and_cuts_at_the_end),
		cmocka_unit_test(arena_hands_out_zeroed_aligned_memory_up_to_its_ceiling),
		cmocka_unit_test(arena_grow_keeps_what_was_there),
		cmocka_unit_test(buf_fails_once_and_for_all_past_its_ceiling),
		cmocka_unit_test(files_are_replaced_whole_or_not_at_all),
		cmocka_unit_test(bytes_of_a_descriptor_are_read_to_the_end),
		cmocka_unit_test(bytes_of_a_file_are_read_from_anywhere),
		cmocka_unit_test(num15_survives_text_and_back),
		cmocka_unit_test(commands_are_quoted_where_a_shell_needs_it),
		cmocka_unit_test(figures_have_three_digits_and_null_is_a_dash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
