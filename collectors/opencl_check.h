/* Can OpenCL be watched here? */
#ifndef COLLECTORS_OPENCL_CHECK_H
#define COLLECTORS_OPENCL_CHECK_H

#include <stddef.h>

/* As collector.check. Asks in a process of its own: drivers start threads and print. */
int opencl_check(char *why, size_t room);

#endif
