/* Any bytes as the file of open runs: one slot each. What is taken makes the same bytes again, and
 * the file opens whatever is in it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "agent/notebook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The sum would stop nearly all: a second look is at the slot with a good one. */
static void look(unsigned char slot[NOTEBOOK_SLOT])
{
	unsigned char again[NOTEBOOK_SLOT];
	struct noted run;
	if (notebook_slot_read(&run, slot) != 1)
		return;
	notebook_slot_make(again, &run);
	/* Behind byte 216 a later version may have more. */
	if (memcmp(again, slot, 8) != 0 || memcmp(again + 16, slot + 16, 200) != 0)
		abort();
	if (!memchr(run.run, 0, sizeof run.run) || !memchr(run.boot, 0, sizeof run.boot))
		abort();
}

static void open_file(const uint8_t *data, size_t n)
{
	static char folder[64], path[96];
	struct notebook *b = NULL;
	size_t at = 0, damaged, runs = 0;
	if (!folder[0]) {
		(void)snprintf(folder, sizeof folder, "%s/roimeter-fuzz.XXXXXX",
			       access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		if (!mkdtemp(folder))
			abort();
		(void)snprintf(path, sizeof path, "%s/runs", folder);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || notebook_open(&b, folder, &damaged, NULL))
		abort();
	(void)close(fd);
	while (notebook_next(b, &at))
		runs++;
	if (runs + damaged > n / NOTEBOOK_SLOT + 1 || notebook_sync(b, NULL))
		abort();
	notebook_close(b);
	if (notebook_open(&b, folder, &damaged, NULL) || damaged)
		abort();
	for (at = 0; notebook_next(b, &at);)
		runs--;
	notebook_close(b);
	if (runs)
		abort();
	(void)unlink(path);
	(void)rmdir(folder);
	folder[0] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	unsigned char slot[NOTEBOOK_SLOT];
	for (size_t at = 0; at + NOTEBOOK_SLOT <= n; at += NOTEBOOK_SLOT) {
		memcpy(slot, data + at, sizeof slot);
		look(slot);
		uint64_t sum = XXH3_64bits(slot + 16, NOTEBOOK_SLOT - 16);
		for (unsigned i = 0; i < 8; i++)
			slot[8 + i] = (unsigned char)(sum >> (8 * i));
		look(slot);
	}
	if (n <= (size_t)64 * NOTEBOOK_SLOT)
		open_file(data, n);
	return 0;
}
