/* NVTX ranges, where NVIDIA's header was there when this was built. */
#define _GNU_SOURCE
#include "marker/guest.h"

#ifdef HAVE_NVTX /* marker/part.mk looks */
#include <nvtx3/nvToolsExt.h>
#endif

bool nvtx_push(const char *name)
{
#ifdef HAVE_NVTX
	(void)nvtxRangePushA(name);
	return true;
#else
	(void)name;
	return false;
#endif
}

bool nvtx_pop(void)
{
#ifdef HAVE_NVTX
	(void)nvtxRangePop();
	return true;
#else
	return false;
#endif
}
