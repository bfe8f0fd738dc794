/* NVTX ranges, where NVIDIA's header was there when this was built. */
#define _GNU_SOURCE
#include "marker/guest.h"

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAVE_NVTX 1
#endif
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
