/* OpenCL devices, where there is no OpenCL. With PoCL: tests/system/opencl. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "node/opencl.h"

static void without_a_loader_there_is_no_device(void **state)
{
	(void)state;
	struct arena a = { 0 };
	const struct opencl_info *all = NULL;
	size_t n = 99;
	assert_int_equal(opencl_ask("libno-such-loader.so.7", &a, &all, &n), -ENOENT);
	/* A library that is there, and no loader. */
	assert_int_equal(opencl_ask("libm.so.6", &a, &all, &n), -ENOENT);
	assert_null(all);
	assert_int_equal(n, 99);
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_loader_there_is_no_device),
	};
	return cmocka_run_group_tests_name("node_opencl", tests, NULL, NULL);
}
