/* Between the files of platform. */
#ifndef NODE_PLATFORM_IMPL_H
#define NODE_PLATFORM_IMPL_H

#include "node/platform.h"

struct probe {
	struct platform *p;
	struct arena *a;
	const char *root;
};

/* What can be known without an accelerator. */
void platform_read_cpu(const struct probe *p);

#endif
