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
	if (ends(name, "2D")) /* of a rectangle: CopyHostToDevice2D */
		name.n -= 2;
	if (ends(name, "HOST_TO_DEVICE") || ends(name, "HostToDevice"))
		return COPY_H2D;
	if (ends(name, "DEVICE_TO_HOST") || ends(name, "DeviceToHost"))
		return COPY_D2H;
	if (ends(name, "DEVICE_TO_DEVICE") || ends(name, "DeviceToDevice"))
		return COPY_D2D;
	return COPY_OTHER;
}
