/* Records with anything in them that a record may hold, the same for the same seed. */
#ifndef TESTS_RANDOM_RECORD_H
#define TESTS_RANDOM_RECORD_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "schema/codec.h"
#include "schema/walk.h"

struct dice {
	uint64_t state;
};

static inline uint64_t roll(struct dice *d)
{
	d->state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = d->state;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline size_t below(struct dice *d, size_t n)
{
	return (size_t)(roll(d) % n);
}

static inline double any_number(struct dice *d, bool negative_too)
{
	double x = 0, sign = negative_too && below(d, 2) ? -1 : 1;
	switch (below(d, 8)) {
	case 0:
		return (double)NAN;
	case 1:
		x = (double)below(d, 300);
		break;
	case 2:
		x = (double)(roll(d) >> below(d, 64));
		break;
	case 3:
		x = (double)(roll(d) % 10000000000) / 1e9;
		break;
	case 4:
		x = (double)roll(d) / 7e19;
		break;
	case 5:
		x = ldexp(1 + (double)below(d, 1000000) / 1e6, (int)below(d, 2000) - 1000);
		break;
	case 6:
		x = (double)(roll(d) % 1000000) / 1000;
		break;
	default:
		return negative_too ? -0.0 : 0.0;
	}
	return num15(sign * x);
}

static inline const char *any_text(struct dice *d, struct arena *a)
{
	static const char *const some[] = {
		"",
		"ok",
		"a b",
		"quote \" comma , semicolon ;",
		"line\nnext\r\n\ttab",
		"\xc3\xa4\xe2\x82\xac",
		"\xf0\x9f\x8f\x94 mountain",
		"\x01\x7f",
		"void k<float, 3>(float const*, int)",
	};
	size_t n = sizeof some / sizeof some[0], i = below(d, n + 2);
	if (i < n)
		return some[i];
	return i == n ? NULL
		      : arena_printf(a, "%0*llu", (int)below(d, 300), (unsigned long long)roll(d));
}

static inline void any_block(struct dice *d, struct arena *a, const struct block *block, void *at);

static inline void any_items(struct dice *d, struct arena *a, const struct field *f, void *to)
{
	size_t n = below(d, 4);
	struct list l = { .items = arena_array(a, n + 1, f->block ? f->block->size : 8), .n = n };
	for (size_t k = 0; k < n; k++) {
		const char *text = f->type == FIELD_TXTS ? any_text(d, a) : NULL;
		if (f->type == FIELD_NUMS)
			((double *)l.items)[k] = any_number(d, false);
		else if (f->type == FIELD_TXTS)
			((const char **)l.items)[k] = text ? text : "x";
		else
			any_block(d, a, f->block, list_item(l, f->block, k));
	}
	list_set(to, l); /* struct nums and struct txts are laid out alike */
}

static inline void any_block(struct dice *d, struct arena *a, const struct block *block, void *at)
{
	block_clear(block, at);
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		void *to = field_in(f, at);
		bool count = !strcmp(f->unit, "1") || !strcmp(f->unit, "B");
		if (f->type == FIELD_NUM)
			*(double *)to = any_number(d, !count);
		else if (f->type == FIELD_TXT)
			*(const char **)to = any_text(d, a);
		else if (f->type == FIELD_TER)
			*(signed char *)to = (signed char)((int)below(d, 3) - 1);
		else if (below(d, 3) == 0)
			continue;
		else if (f->type == FIELD_BLOCK)
			any_block(d, a, f->block, to);
		else
			any_items(d, a, f, to);
	}
}

/* Passes record_check. One of 24 cells; the run id says how old it is. */
static inline void any_record(struct record *rec, struct dice *d, unsigned second)
{
	static const char *const statuses[] = { "ok", "ok",           "ok",         "ok",
						"ok", "clean_failed", "roi_missing" };
	record_init(rec);
	any_block(d, &rec->arena, &record_block, &rec->body);
	struct record_body *b = &rec->body;
	b->schema = RECORD_SCHEMA;
	b->run_id = arena_printf(&rec->arena, "20260929T%02u%02u%02uZ-%08x", second / 3600 % 24,
				 second / 60 % 60, second % 60, (unsigned)(uint32_t)roll(d));
	b->suite = below(d, 2) ? "demo" : "Suite-2";
	b->app = below(d, 2) ? "heat" : "lj.melt";
	b->case_ = arena_printf(&rec->arena, "n%zu", below(d, 3));
	b->platform = below(d, 2) ? "cpu-x.linux6.1" : "nvidia-b200.cuda13.2";
	b->kind = "measured";
	b->utc = "2026-09-29T04:52:01.5Z";
	b->status = statuses[below(d, sizeof statuses / sizeof statuses[0])];
	b->roi.wall_s = 1 + (double)below(d, 1000) / 1000;
	for (size_t i = 0; i < b->roi.runs_s.n; i++)
		b->roi.runs_s.items[i] = 1;
	for (size_t i = 0; i < b->caveats.n; i++)
		b->caveats.items[i] = (struct caveat){ .code = "few_samples", .text = "Few." };
	for (size_t i = 0; i < b->nulls.n; i++)
		b->nulls.items[i] =
			(struct null_reason){ .field = "device", .why = "not_measured" };
}

#endif
