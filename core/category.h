/* The eight categories of device operations, and how other people's names fall into them. */
#ifndef CORE_CATEGORY_H
#define CORE_CATEGORY_H

#include <stdbool.h>

#include "lib/str.h"

enum category {
	COMPUTE,
	COPY_H2D,
	COPY_D2H,
	COPY_D2D,
	COPY_OTHER,
	FILL,
	COLLECTIVE,
	OTHER,
	CATEGORIES
};

const char *category_name(enum category c); /* "compute", "copy_h2d", ... */
int category_of(const char *name);          /* enum category, or -1 */

/* CUPTI's kind of a copy (CUpti_ActivityMemcpyKind); 11 to 13, migrations of unified memory, too.
 */
enum category copy_kind_category(unsigned kind);

/* Does this call wait for the device? By name, as one of these interfaces, which may be added up: a
 * caller that sees calls of CUDA's runtime and of its driver, which the runtime makes, asks for one
 * of them only. With or without what the compiler (the default stream of each thread: "_ptsz",
 * "_spt") and the vendor ("_v3020") put behind a name. Only the plain forms wait: not the
 * asynchronous ones, not the two-dimensional ones. */
enum { CALL_CUDA = 1, CALL_CUDA_DRIVER = 2, CALL_HIP = 4 };
bool sync_call(unsigned interfaces, struct str name);

/* A kernel's category: collective where the name says so (nccl, rccl, msccl, oneccl; in upper case,
 * too), else compute. */
enum category kernel_category(struct str name);

#endif
