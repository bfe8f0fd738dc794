/* The CUPTI collector: a library that NVIDIA's driver loads into any program that uses it
 * (CUDA_INJECTION64_PATH). What the device did is folded as it comes; nothing is stored. */
#include <errno.h>
#include <stdlib.h>

#include "collectors/collector.h"
#include "collectors/cupti_impl.h"
#include "core/category.h"
#include "lib/version.h"

#define PUBLIC __attribute__((visibility("default")))

/* The driver calls this in cuInit. Not 1: the driver would say that the program can't start. */
PUBLIC int InitializeInjection(void);
PUBLIC int InitializeInjection(void)
{
	int saved = errno;
	cupti_start();
	errno = saved;
	return 1;
}

/* A program gets no variable of the person who measures it but those that are declared, and none of
 * ours: what is set for this collector goes with it. */
static const char *environment[8] = { "CUDA_INJECTION64_PATH", "{library}", NULL };

__attribute__((constructor)) static void hand_down(void)
{
	static const char *const names[] = { "ROIMETER_CUPTI", "ROIMETER_CUPTI_BUFFERS" };
	size_t n = 2;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);
		if (!value || !*value)
			continue;
		environment[n++] = names[i];
		environment[n++] = value;
	}
}

PUBLIC const struct collector collector = {
	.abi = COLLECTOR_ABI,
	.name = "cupti",
	.version = ROIMETER_VERSION_TEXT,
	.observes = 1u << COMPUTE | 1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D |
		    1u << COPY_OTHER | 1u << FILL | 1u << COLLECTIVE | 1u << OTHER,
	.runtime = "cuda",
	.environment = environment,
	.check = cupti_check,
};
