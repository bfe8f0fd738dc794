/* Names of kernels that are collectives. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/category.h"

static void collectives_are_known_by_their_library(void **state)
{
	(void)state;
	static const char *const collective[] = {
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"ncclKernel_AllGather_RING_LL_Sum_int8_t",
		"NCCL",
		"void msccl::run(int)",
		"oneccl_allreduce_small",
		"rcclGenericKernel",
	};
	static const char *const compute[] = { "", "n", "nccnccccl", "gemm", "accl", "(ccl)" };
	for (size_t i = 0; i < sizeof collective / sizeof *collective; i++)
		assert_int_equal(kernel_category(str_of(collective[i])), COLLECTIVE);
	for (size_t i = 0; i < sizeof compute / sizeof *compute; i++)
		assert_int_equal(kernel_category(str_of(compute[i])), COMPUTE);
	/* Only what belongs to the name. */
	assert_int_equal(kernel_category((struct str){ .p = "ncclDev", .n = 3 }), COMPUTE);
	assert_int_equal(kernel_category((struct str){ .p = NULL }), COMPUTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectives_are_known_by_their_library),
	};
	return cmocka_run_group_tests_name("category", tests, NULL, NULL);
}
