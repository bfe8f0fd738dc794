/* Any bytes as the file of a capture. The first byte says how: 0 the file as it is; 2 as 1, of a
 * base (length of its part in two bytes) and then of a file that is stored as what differs from it;
 * 3 as 1, from a file, within so many KiB as the second byte says and one; else blocks, each type,
 * stream, items, length (one byte, one, one, two) and payload, which get the sums that a whole file
 * has. What opens can be walked: calls that are counted are there, or it is said why not. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "schema/iocap.h"
#include "schema/iocap_alike.h"
#include "schema/iocap_code.h"

#define EVENTS_MAX 5000
#define HANDLES_LOOKED_AT 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void build(const uint8_t *p, size_t n, const char *magic, struct iocap_bytes *out)
{
	iocap_bytes_put(out, magic, 8);
	while (n >= 5) {
		size_t want = (size_t)p[3] | (size_t)p[4] << 8, len = want < n - 5 ? want : n - 5;
		struct iocap_bytes payload = { .data = (uint8_t *)(uintptr_t)(p + 5), .len = len };
		iocap_block_put(out, p[0], p[1] == 255 ? IOCAP_HANDLES : p[1], p[2], &payload);
		p += 5 + len;
		n -= 5 + len;
	}
}

/* A file of what differs from another, back as it was. */
static void build_alike(const uint8_t *p, size_t n, struct iocap_bytes *out)
{
	size_t want = n < 2 ? 0 : (size_t)p[0] | (size_t)p[1] << 8;
	size_t n_base = n < 2 ? 0 : want < n - 2 ? want : n - 2;
	struct iocap_bytes base = { 0 }, alike = { 0 };
	struct iocap_blocks blocks = { 0 };
	if (n < 2)
		return;
	build(p + 2, n_base, IOCAP_MAGIC, &base);
	build(p + 2 + n_base, n - 2 - n_base, IOCAP_ALIKE_MAGIC, &alike);
	if (iocap_blocks_list(&blocks, base.data, base.len, IOCAP_MAGIC) &&
	    !iocap_alike_get(out, alike.data, alike.len, &blocks))
		out->len = 0;
	iocap_blocks_done(&blocks);
	iocap_bytes_done(&base);
	iocap_bytes_done(&alike);
}

static void walk(const struct iocap *c)
{
	struct iocap_merged *m;
	struct io_event e;
	uint64_t seen = 0, counted = 0;
	int rc = iocap_merge(&m, c, 0, NULL);
	if (rc)
		return;
	while (seen < EVENTS_MAX && (rc = iocap_merge_next(m, &e, NULL)) > 0)
		seen++;
	iocap_merge_end(m);
	counted = iocap_sums(c, 0)->events;
	if (rc == 0 && seen != counted)
		abort();
}

static void look(const struct iocap *c)
{
	(void)iocap_text(c, 0, 1, NULL);
	if (iocap_sums(c, 0)->handles < HANDLES_LOOKED_AT)
		(void)iocap_handle(c, 0, 4);
	for (size_t s = 0; s < iocap_streams(c, 0); s++)
		for (size_t g = 0; g < iocap_segments(c, 0, s); g++)
			for (size_t r = 0; r < iocap_rules(c, 0, s, g) && r < 100; r++) {
				size_t items;
				uint64_t events;
				const struct iocap_item *i =
					iocap_rule(c, 0, s, g, r, &items, &events);
				if (i && !items)
					abort(); /* a rule of nothing */
			}
}

static void within(const uint8_t *bytes, size_t n, size_t max)
{
	char path[64];
	struct iocap *c = NULL;
	struct err err = { "" };
	int fd = memfd_create("capture", MFD_CLOEXEC);
	if (fd < 0 || (n && write(fd, bytes, n) != (ssize_t)n))
		abort();
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (iocap_open_within(&c, path, max, &err) == 0) {
		walk(c);
		look(c);
		iocap_close(c);
	} else if (!err.text[0]) {
		abort();
	}
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct iocap_bytes file = { 0 };
	struct iocap *c = NULL;
	struct err err = { "" };
	if (!n)
		return 0;
	if (data[0] == 3 && n > 1) {
		build(data + 2, n - 2, IOCAP_MAGIC, &file);
		within(file.data, file.len, ((size_t)data[1] + 1) << 10);
		iocap_bytes_done(&file);
		return 0;
	}
	if (data[0] == 2)
		build_alike(data + 1, n - 1, &file);
	else if (data[0])
		build(data + 1, n - 1, IOCAP_MAGIC, &file);
	else
		iocap_bytes_put(&file, data + 1, n - 1);
	uint8_t *exact = malloc(file.len ? file.len : 1);
	if (!exact)
		abort();
	if (file.len)
		memcpy(exact, file.data, file.len);
	if (iocap_open_bytes(&c, exact, file.len, "input", &err) == 0) {
		walk(c);
		look(c);
		iocap_close(c);
	} else if (!err.text[0]) {
		abort();
	}
	free(exact);
	iocap_bytes_done(&file);
	return 0;
}
