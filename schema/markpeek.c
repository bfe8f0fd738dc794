#define _GNU_SOURCE
#include "schema/markpeek.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "schema/marklog_impl.h"

#define STREAM_MAX (UINT32_C(1) << 28)

static struct str text(const unsigned char *p, size_t n, enum marklog_text which)
{
	const unsigned char *span = p + offsetof(struct marklog_header, texts) +
				    (size_t)which * sizeof(struct marklog_span);
	size_t offset = get32(span), bytes = get32(span + 4);
	if (!bytes || offset > n || bytes > n - offset)
		return (struct str){ .p = NULL };
	const char *at = (const char *)p + offset;
	return (struct str){ .p = at, .n = strnlen(at, bytes) };
}

int markpeek_who(struct markpeek_who *ret, const void *head, size_t n)
{
	const unsigned char *p = head;
	if (n < sizeof(struct marklog_header) ||
	    memcmp(p, MARKLOG_MAGIC, sizeof MARKLOG_MAGIC) != 0)
		return !n || !p[0] ? -EAGAIN : -EINVAL; /* made, and nothing written yet */
	if (!AT32(p, struct marklog_header, ready))
		return -EAGAIN;
	*ret = (struct markpeek_who){
		.pid = AT32(p, struct marklog_header, pid),
		.generation = AT32(p, struct marklog_header, generation),
		.host = text(p, n, MARKLOG_HOST),
		.exe = text(p, n, MARKLOG_EXE),
		.rank = text(p, n, MARKLOG_RANK),
		.run = text(p, n, MARKLOG_RUN),
		.exec = text(p, n, MARKLOG_EXEC),
		.boot_id = text(p, n, MARKLOG_BOOT_ID),
		.stream = text(p, n, MARKLOG_STREAM),
		.job = text(p, n, MARKLOG_JOB),
		.group = text(p, n, MARKLOG_GROUP),
		.world = text(p, n, MARKLOG_WORLD),
		.header_bytes = AT32(p, struct marklog_header, header_bytes),
		.stream_bytes = AT32(p, struct marklog_header, stream_bytes),
	};
	uint32_t block = AT32(p, struct marklog_header, block_bytes);
	if (ret->header_bytes < sizeof(struct marklog_header) || block < MARKLOG_BLOCK_BYTES ||
	    ret->stream_bytes < block || ret->stream_bytes > STREAM_MAX)
		return -EINVAL;
	return ret->stream.p && ret->stream.n ? 0 : -EINVAL;
}

void markpeek_state(struct markpeek_state *ret, const void *head)
{
	const unsigned char *p = head;
	*ret = (struct markpeek_state){
		.streams = AT32(p, struct marklog_header, streams),
		.exited = AT32(p, struct marklog_header, exited) != 0,
		.lost = AT64(p, struct marklog_header, overflow),
	};
}

void markpeek_far_add(struct markpeek_far *far, const void *block)
{
	const unsigned char *p = block;
	uint64_t begun = AT64(p, struct marklog_stream, begun);
	uint64_t head = AT64(p, struct marklog_stream, head);
	far->entries += head;
	far->open += begun > head; /* one a stream, at most */
	far->steps += AT64(p, struct marklog_stream, steps);
	far->marks = XXH3_64bits_withSeed(p, MARKLOG_BLOCK_BYTES, far->marks);
}
