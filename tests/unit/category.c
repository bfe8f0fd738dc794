/* Names of kernels that are collectives, and of calls that wait. */
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

static bool waits(unsigned interfaces, const char *name)
{
	return sync_call(interfaces, str_of(name));
}

static void calls_that_wait_are_known_by_name(void **state)
{
	(void)state;
	static const char *const of_cuda[] = { "cudaMemcpy", "cudaMemset_v3020",
					       "cudaStreamSynchronize_ptsz",
					       "cudaMemcpy_ptds_v7000" };
	static const char *const of_driver[] = { "cuCtxSynchronize", "cuMemcpyHtoD_v2",
						 "cuStreamSynchronize_ptsz",
						 "cuMemcpyDtoH_ptds_v2" };
	static const char *const of_hip[] = { "hipMemcpy", "hipMemcpyWithStream",
					      "hipStreamSynchronize_spt" };
	static const char *const none[] = {
		"",
		"cudaMemcpy_v",
		"cudaMemcpyAsync_v3020",
		"cudaMemcpy2D",
		"cuMemcpyHtoDAsync_v2",
		"cudaMemcpy_v3020x",
		"hipMemcpyAsync",
		"hipMemcpy_spt_spt",
		"hipMemcpy_v2",
		"cudaMemcpy_ptsz_ptds",
		"cudaDevice",
		"cuCtxSynchronize_",
		"XcudaMemcpy",
	};
	for (size_t i = 0; i < sizeof of_cuda / sizeof *of_cuda; i++)
		assert_true(waits(CALL_CUDA, of_cuda[i]) &&
			    !waits(CALL_CUDA_DRIVER | CALL_HIP, of_cuda[i]));
	for (size_t i = 0; i < sizeof of_driver / sizeof *of_driver; i++)
		assert_true(waits(CALL_CUDA_DRIVER, of_driver[i]) &&
			    !waits(CALL_CUDA | CALL_HIP, of_driver[i]));
	for (size_t i = 0; i < sizeof of_hip / sizeof *of_hip; i++)
		assert_true(waits(CALL_CUDA | CALL_HIP, of_hip[i]) && !waits(CALL_CUDA, of_hip[i]));
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(waits(CALL_CUDA | CALL_CUDA_DRIVER | CALL_HIP, none[i]));
	/* Only what belongs to the name. */
	assert_true(sync_call(CALL_CUDA, (struct str){ .p = "cudaMemcpyAsync", .n = 10 }));
	assert_false(sync_call(CALL_CUDA, (struct str){ .p = NULL }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectives_are_known_by_their_library),
		cmocka_unit_test(calls_that_wait_are_known_by_name),
	};
	return cmocka_run_group_tests_name("category", tests, NULL, NULL);
}
