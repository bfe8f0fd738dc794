/* Any bytes as segments of a spool: the first two say how many of the rest are the segment of
 * marks, what is left is the segment of context. The spool opens, hands out only what its sums
 * bear out and in order, and goes on working. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/file.h"
#include "lib/spool.h"
#include "lib/spool_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char folder[64];

static void make_folder(void)
{
	if (folder[0]) {
		if (mkdir(folder, 0700))
			abort();
		return;
	}
	(void)snprintf(folder, sizeof folder, "%s/roimeter-fuzz.XXXXXX",
		       access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(folder))
		abort();
}

static void put_segment(enum spool_class class, const uint8_t *data, size_t n)
{
	char name[SEGMENT_NAME_BYTES], path[128];
	segment_name(name, class, 1);
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	(void)close(fd);
}

/* Reads all; what comes is in order. */
static uint64_t read_all(struct spool *s)
{
	struct spool_item item;
	uint64_t last = 0;
	struct spool_stats st;
	spool_stats(s, &st);
	last = st.read_seq;
	while (spool_read(s, &item, NULL) == 1) {
		if (item.first_seq != last + 1 || item.seq < item.first_seq ||
		    (!item.gap && (item.seq != item.first_seq || !item.n)))
			abort();
		last = item.seq;
	}
	spool_stats(s, &st);
	if (last != st.synced_seq)
		abort();
	return last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct spool *s = NULL;
	if (n < 2)
		return 0;
	size_t marks = (size_t)(data[0] | data[1] << 8);
	data += 2;
	n -= 2;
	marks = marks < n ? marks : n;
	make_folder();
	put_segment(SPOOL_MARK, data, marks);
	put_segment(SPOOL_CONTEXT, data + marks, n - marks);
	if (spool_open(&s, folder, 1 << 20, 2048, NULL))
		abort();
	uint64_t last = read_all(s);
	if (last < UINT64_MAX - 10) {
		if (spool_append(s, SPOOL_MARK, 0, "after", 5, NULL) || spool_sync(s, NULL) ||
		    read_all(s) != last + 1 || spool_ack(s, last + 1, NULL))
			abort();
	}
	spool_close(s);
	(void)file_remove_tree(folder, NULL);
	return 0;
}
