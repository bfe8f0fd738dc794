/* Any bytes as a log of Darshan: all that is read of one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/darshan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[64];
	int fd = memfd_create("log", MFD_CLOEXEC);
	if (fd < 0 || (n && write(fd, data, n) != (ssize_t)n))
		abort();
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const char *paths[] = { path };
	for (int salvage = 0; salvage < 2; salvage++) {
		struct imports in;
		struct err err = { 0 };
		struct io_options o = { .salvage = salvage };
		int rc = import_darshan(&in, paths, 1, &o, &err);
		if (rc && !err.text[0])
			abort();
		if (!rc)
			imports_done(&in);
	}
	json_t *totals;
	struct err err = { 0 };
	if (darshan_totals(&totals, path, &err) && !err.text[0])
		abort();
	json_decref(totals);
	(void)close(fd);
	return 0;
}
