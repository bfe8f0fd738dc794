/* ROCm: rocprofv3's database (rocpd), JSON and CSV, and the older rpd. What a file is, it tells. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "import/trace_rocprof_impl.h"

enum category roc_copy(enum roc_agent_type from, enum roc_agent_type to, bool same)
{
	if (from == ROC_CPU && to == ROC_GPU)
		return COPY_H2D;
	if (from == ROC_GPU && to == ROC_CPU)
		return COPY_D2H;
	return from == ROC_GPU && to == ROC_GPU && same ? COPY_D2D : COPY_OTHER;
}

static bool ends(struct str text, const char *word)
{
	size_t n = strlen(word);
	return text.p && text.n >= n && strncasecmp(text.p + text.n - n, word, n) == 0;
}

enum category roc_copy_named(struct str name)
{
	if (ends(name, "HOST_TO_DEVICE") || ends(name, "HostToDevice"))
		return COPY_H2D;
	if (ends(name, "DEVICE_TO_HOST") || ends(name, "DeviceToHost"))
		return COPY_D2H;
	if (ends(name, "DEVICE_TO_DEVICE") || ends(name, "DeviceToDevice"))
		return COPY_D2D;
	return COPY_OTHER;
}

bool roc_waits(struct str name)
{
	static const char *const calls[] = {
		"hipDeviceSynchronize",
		"hipStreamSynchronize",
		"hipEventSynchronize",
		"hipMemcpy",
		"hipMemcpyWithStream",
		"hipMemcpyHtoD",
		"hipMemcpyDtoH",
		"hipMemcpyDtoD",
		"hipMemset",
	};
	size_t n = name.p ? name.n : 0;
	if (n > 4 && memcmp(name.p + n - 4, "_spt", 4) == 0) /* on the thread's own stream */
		n -= 4;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (n == strlen(calls[i]) && memcmp(name.p, calls[i], n) == 0)
			return true;
	return false;
}
