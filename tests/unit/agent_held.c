/* The file of logs that are known by their descriptors only. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka wants those before */
#include <cmocka.h>

#include "agent/held.h"
#include "lib/file.h"

static char folder[64], path[96];

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-held.XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/held", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return file_remove_tree(folder, NULL);
}

static off_t size_now(void)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void a_million_logs_do_not_make_its_file_grow(void **state)
{
	struct held h;
	char name[64];
	off_t most = 0;
	(void)state;
	assert_int_equal(held_open(&h, folder, NULL), 0);
	held_add(&h, "0000aaaa-1-1.0", -1, false);
	for (int i = 0; i < 100000; i++) {
		(void)snprintf(name, sizeof name, "0000aaaa-%d-12345678.0", 1000 + i);
		held_add(&h, name, -1, false);
		held_remove(&h, name);
		if (i % 1000 == 0 && size_now() > most)
			most = size_now();
	}
	assert_in_range(most, 1, 2 << 20);
	held_add(&h, "0000aaaa-2-2.0", -1, false);
	held_close(&h);

	size_t at = 0;
	assert_int_equal(held_open(&h, folder, NULL), 0);
	assert_string_equal(held_before(&h, &at), "0000aaaa-1-1.0");
	assert_string_equal(held_before(&h, &at), "0000aaaa-2-2.0");
	assert_null(held_before(&h, &at));
	held_close(&h);
}

/* Earlier versions let it grow. */
static void a_file_that_is_too_large_is_no_reason_not_to_start(void **state)
{
	struct held h;
	size_t at = 0;
	(void)state;
	assert_int_equal(truncate(path, (off_t)65 << 20), 0);
	assert_int_equal(held_open(&h, folder, NULL), 0);
	assert_null(held_before(&h, &at));
	held_add(&h, "0000aaaa-3-3.0", -1, false);
	held_close(&h);
	assert_int_equal(held_open(&h, folder, NULL), 0);
	assert_string_equal(held_before(&h, &at), "0000aaaa-3-3.0");
	held_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_logs_do_not_make_its_file_grow),
		cmocka_unit_test(a_file_that_is_too_large_is_no_reason_not_to_start),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
