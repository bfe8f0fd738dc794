/* The tables that describe the record, made from the lists of schema/record.h, and a record's
 * beginning and end. */
#include "schema/record.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/num.h"
#include "schema/table.h"
#include "schema/utf8.h"
#include "schema/walk.h"

#define SELF measurement
TABLE(measurement, MEASUREMENT_FIELDS)
#undef SELF
#define SELF inputs
TABLE(inputs, INPUTS_FIELDS)
#undef SELF
#define SELF roi
TABLE(roi, ROI_FIELDS)
#undef SELF
#define SELF phase
TABLE(phase, PHASE_FIELDS)
#undef SELF
#define SELF per_device
TABLE(per_device, PER_DEVICE_FIELDS)
#undef SELF
#define SELF device
TABLE(device, DEVICE_FIELDS)
#undef SELF
#define SELF runtime_api
TABLE(runtime_api, RUNTIME_API_FIELDS)
#undef SELF
#define SELF op
TABLE(op, OP_FIELDS)
#undef SELF
#define SELF io_sums
TABLE(io_sums, IO_SUMS_FIELDS)
#undef SELF
#define SELF io_pattern
TABLE(io_pattern, IO_PATTERN_FIELDS)
#undef SELF
#define SELF io_by_interface
TABLE(io_by_interface, IO_INTERFACE_FIELDS)
#undef SELF
#define SELF io_file
TABLE(io_file, IO_FILE_FIELDS)
#undef SELF
#define SELF io_series
TABLE(io_series, IO_SERIES_FIELDS)
#undef SELF
#define SELF io_mpi
TABLE(io_mpi, IO_MPI_FIELDS)
#undef SELF
#define SELF io_kept
TABLE(io_kept, IO_KEPT_FIELDS)
#undef SELF
#define SELF io
TABLE(io, IO_FIELDS)
#undef SELF
#define SELF gap
TABLE(gap, GAP_FIELDS)
#undef SELF
#define SELF whole_process
TABLE(whole_process, WHOLE_PROCESS_FIELDS)
#undef SELF
#define SELF device_state
TABLE(device_state, DEVICE_STATE_FIELDS)
#undef SELF
#define SELF context
TABLE(context, CONTEXT_FIELDS)
#undef SELF
#define SELF fom
TABLE(fom, FOM_FIELDS)
#undef SELF
#define SELF own_timer
TABLE(own_timer, OWN_TIMER_FIELDS)
#undef SELF
#define SELF launcher
TABLE(launcher, LAUNCHER_FIELDS)
#undef SELF
#define SELF placement
TABLE(placement, PLACEMENT_FIELDS)
#undef SELF
#define SELF accelerator
TABLE(accelerator, ACCELERATOR_FIELDS)
#undef SELF
#define SELF platform_info
TABLE(platform_info, PLATFORM_INFO_FIELDS)
#undef SELF
#define SELF provenance
TABLE(provenance, PROVENANCE_FIELDS)
#undef SELF
#define SELF observer
TABLE(observer, OBSERVER_FIELDS)
#undef SELF
#define SELF execution
TABLE(execution, EXECUTION_FIELDS)
#undef SELF
#define SELF rank
TABLE(rank, RANK_FIELDS)
#undef SELF
#define SELF caveat
TABLE(caveat, CAVEAT_FIELDS)
#undef SELF
#define SELF null_reason
TABLE(null_reason, NULL_FIELDS)
#undef SELF
#define SELF record_body
TABLE(record_body, RECORD_FIELDS)
#undef SELF

RECORD_BLOCKS(DEFINE_BLOCK)

const char *field_label(const struct field *f, char text[FIELD_LABEL_BYTES])
{
	size_t n = strlen(f->name);
	if (n && f->name[n - 1] == '_')
		n--;
	assert(n < FIELD_LABEL_BYTES);
	memcpy(text, f->name, n);
	text[n] = 0;
	return text;
}

static bool block_is_null(const struct block *block, const void *at)
{
	for (size_t i = 0; i < block->count; i++)
		if (!field_is_null(&block->fields[i], at))
			return false;
	return true;
}

bool field_is_null(const struct field *f, const void *block)
{
	const void *at = field_at(f, block);
	switch (f->type) {
	case FIELD_NUM:
		return !known(num_at(f, block));
	case FIELD_TXT:
		return !txt_at(f, block);
	case FIELD_TER:
		return ter_at(f, block) == UNKNOWN;
	case FIELD_NUMS:
		return !((const struct nums *)at)->items;
	case FIELD_TXTS:
		return !((const struct txts *)at)->items;
	case FIELD_BLOCK:
		return block_is_null(f->block, at);
	case FIELD_LIST:
		return !list_get(at).items;
	}
	return true;
}

void block_clear(const struct block *block, void *at)
{
	for (size_t i = 0; i < block->count; i++) {
		const struct field *f = &block->fields[i];
		void *to = field_in(f, at);
		switch (f->type) {
		case FIELD_NUM:
			*(double *)to = (double)NAN;
			break;
		case FIELD_TXT:
			*(const char **)to = NULL;
			break;
		case FIELD_TER:
			*(signed char *)to = UNKNOWN;
			break;
		case FIELD_NUMS:
			*(struct nums *)to = (struct nums){ 0 };
			break;
		case FIELD_TXTS:
			*(struct txts *)to = (struct txts){ 0 };
			break;
		case FIELD_BLOCK:
			block_clear(f->block, to);
			break;
		case FIELD_LIST:
			list_set(to, (struct list){ 0 });
			break;
		}
	}
}

void record_init(struct record *rec)
{
	*rec = (struct record){ 0 };
	block_clear(&record_block, &rec->body);
	rec->body.schema = RECORD_SCHEMA;
}

void record_done(struct record *rec)
{
	arena_free(&rec->arena);
	record_init(rec);
}

char *record_text(struct record *rec, const char *text, size_t bytes)
{
	if (!text)
		return NULL;
	size_t n = utf8_clean(NULL, text, bytes);
	char *copy = arena_alloc(&rec->arena, n + 1);
	if (copy)
		(void)utf8_clean(copy, text, bytes);
	return copy;
}

/* Room for one more item behind n of them. The list may have been read from bytes. */
static void *append(struct record *rec, struct record_room *list, void *items, size_t n,
		    size_t item_bytes)
{
	if (items && items == list->items && n < list->room)
		return items;
	size_t room = n < 4 ? 8 : 2 * n;
	void *grown = arena_array(&rec->arena, room, item_bytes);
	if (!grown)
		return NULL;
	if (n)
		memcpy(grown, items, n * item_bytes);
	*list = (struct record_room){ .items = grown, .room = room };
	return grown;
}

int record_caveat(struct record *rec, const char *code, const char *format, ...)
{
	char text[2048];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);

	struct record_body *b = &rec->body;
	struct caveat *items =
		append(rec, &rec->caveats, b->caveats.items, b->caveats.n, sizeof *items);
	if (!items)
		return -ENOMEM;
	b->caveats.items = items;
	struct caveat *c = &items[b->caveats.n];
	c->code = record_text(rec, code, strlen(code));
	c->text = record_text(rec, text, strlen(text));
	if (!c->code || !c->text)
		return -ENOMEM;
	b->caveats.n++;
	return 0;
}

int record_null(struct record *rec, const char *field, const char *why)
{
	struct record_body *b = &rec->body;
	struct null_reason *items =
		append(rec, &rec->nulls, b->nulls.items, b->nulls.n, sizeof *items);
	if (!items)
		return -ENOMEM;
	b->nulls.items = items;
	struct null_reason *r = &items[b->nulls.n];
	r->field = record_text(rec, field, strlen(field));
	r->why = record_text(rec, why, strlen(why));
	if (!r->field || !r->why)
		return -ENOMEM;
	b->nulls.n++;
	return 0;
}

static int copy_items(struct arena *arena, const struct field *f, void *at)
{
	struct list l = list_get(at);
	size_t bytes = f->type == FIELD_NUMS   ? sizeof(double)
		       : f->type == FIELD_TXTS ? sizeof(char *)
					       : f->block->size;
	void *items = l.items ? arena_array(arena, l.n + 1, bytes) : NULL;
	if (!l.items)
		return 0;
	if (!items)
		return -ENOMEM;
	memcpy(items, l.items, l.n * bytes);
	l.items = items;
	list_set(at, l);
	for (size_t i = 0; i < l.n; i++) {
		const char **text = f->type == FIELD_TXTS ? (const char **)items + i : NULL;
		if (text && !(*text = arena_strdup(arena, *text)))
			return -ENOMEM;
		if (f->type == FIELD_LIST && block_copy(arena, f->block, list_item(l, f->block, i)))
			return -ENOMEM;
	}
	return 0;
}

int block_copy(struct arena *arena, const struct block *block, void *at)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < block->count; i++) {
		const struct field *f = &block->fields[i];
		void *to = field_in(f, at);
		const char **text = to;
		if (f->type == FIELD_BLOCK)
			rc = block_copy(arena, f->block, to);
		else if (f->type == FIELD_TXT && *text)
			rc = (*text = arena_strdup(arena, *text)) ? 0 : -ENOMEM;
		else if (f->type == FIELD_NUMS || f->type == FIELD_TXTS || f->type == FIELD_LIST)
			rc = copy_items(arena, f, to);
	}
	return rc;
}
