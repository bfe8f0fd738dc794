/* A small mark log made by hand, for the tests of its reader: two streams of 8 records (4 kept, a
 * ring of 4) and 4 excludes. The clock runs at 2 ticks for a ns up to tick 1,000,000 and at 4
 * from there, so that a reader has to follow it. */
#ifndef TESTS_UNIT_MARKLOG_BUILD_H
#define TESTS_UNIT_MARKLOG_BUILD_H

#include <string.h>

#include "schema/marklog.h"

#define BUILD_HEADER 12288u
#define BUILD_STREAM (MARKLOG_BLOCK_BYTES + 8u * 32u + 4u * 16u)
#define BUILD_BYTES (BUILD_HEADER + 2 * BUILD_STREAM)
#define BUILD_MONO INT64_C(5000000000)
#define BUILD_REAL INT64_C(1790000000000000000)

struct built {
	_Alignas(16) unsigned char bytes[BUILD_BYTES];
};

static inline struct marklog_header *built_header(struct built *b)
{
	return (struct marklog_header *)(void *)b->bytes;
}

static inline struct marklog_stream *built_stream(struct built *b, unsigned i)
{
	return (struct marklog_stream *)(void *)(b->bytes + BUILD_HEADER + i * BUILD_STREAM);
}

static inline struct marklog_record *built_records(struct built *b, unsigned i)
{
	return (struct marklog_record *)(void *)((unsigned char *)built_stream(b, i) +
						 MARKLOG_BLOCK_BYTES);
}

static inline void built_text(struct built *b, enum marklog_text which, uint32_t *at,
			      const char *text, size_t n)
{
	memcpy(b->bytes + *at, text, n);
	built_header(b)->texts[which] = (struct marklog_span){ *at, (uint32_t)n };
	*at += (uint32_t)n;
}

static inline void built_entry(struct built *b, unsigned stream, uint64_t begin, uint64_t end,
			       uint64_t excluded)
{
	struct marklog_stream *s = built_stream(b, stream);
	uint64_t i = s->head;
	struct marklog_record *r = &built_records(b, stream)[i < 4 ? i : 4 + (i - 4) % 4];
	*r = (struct marklog_record){ begin, end, excluded, excluded ? 1 : 0, (uint32_t)(i + 1) };
	s->head = s->begun = i + 1;
}

/* One stream in use, without an entry. */
static inline void built_init(struct built *b)
{
	memset(b, 0, sizeof *b);
	struct marklog_header *h = built_header(b);
	memcpy(h->magic, MARKLOG_MAGIC, sizeof MARKLOG_MAGIC);
	h->header_bytes = BUILD_HEADER;
	h->stream_bytes = BUILD_STREAM;
	h->block_bytes = MARKLOG_BLOCK_BYTES;
	h->record_bytes = 32;
	h->records = 8;
	h->kept = 4;
	h->exclude_bytes = 16;
	h->excludes = 4;
	h->clock = MARKLOG_TSC;
	h->pid = 4711;
	uint32_t at = MARKLOG_FIXED_BYTES;
	built_text(b, MARKLOG_HOST, &at, "node1", 5);
	built_text(b, MARKLOG_EXE, &at, "/opt/\xff/app", 10);
	built_text(b, MARKLOG_RANK, &at, "3", 1);
	built_text(b, MARKLOG_STREAM, &at, "0123abcd-4711-99.0", 18);
	built_text(b, MARKLOG_ARGV, &at, "app\0\0-n 3\0", 10);
	h->pair[0] = (struct marklog_pair){ 0, BUILD_MONO, BUILD_REAL, 40 };
	h->pair[1] = (struct marklog_pair){ 1000000, BUILD_MONO + 500000, BUILD_REAL + 500000, 40 };
	h->pairs = 2;
	h->last[0] = (struct marklog_pair){ 2000000, BUILD_MONO + 750000, BUILD_REAL + 760000, 40 };
	h->latest = 1;
	h->streams = 1;
	h->ready = 1;
	built_stream(b, 0)->tenants = 1;
}

#endif
