/* What the files of a capture's reader share: iocap_open.c (folder, files), iocap_read.c (blocks),
 * iocap_segment.c (symbols), iocap_cursor.c (calls). */
#ifndef SCHEMA_IOCAP_IMPL_H
#define SCHEMA_IOCAP_IMPL_H

#include "lib/arena.h"
#include "schema/iocap.h"
#include "schema/iocap_alike.h"
#include "schema/iocap_code.h"
#include "schema/iocap_model.h"
#include "schema/iocap_view.h"

#define COLUMN_MAX ((size_t)1 << 19) /* numbers in one; writers make smaller ones */
#define HANDLES_MAX ((uint64_t)1 << 25)

struct place {
	struct iocap_in in; /* of a block's payload */
};
struct places {
	struct place *items;
	size_t n, cap;
};

struct segment {
	struct iocap_in in; /* behind its head */
	uint64_t first, symbols, events;
	uint32_t thread, rules;
	bool list;
};

/* One, decoded. */
struct symbols {
	struct iocap_item *items;
	size_t n_items, n_rules;
	size_t *begin;    /* of each rule's items; one more at the end */
	uint64_t *length; /* of each rule in symbols */
	uint64_t *events; /* the same without changes of thread */
};

struct rstream {
	struct segment *segments;
	size_t n_segments, cap;
	struct places values, times;
	uint64_t symbols, events, timed; /* timed: events that have their times */
};

struct text {
	uint32_t number, bytes;
	const char *text;
};

struct rprocess {
	struct iocap *of;
	const char *name; /* of the file, for sentences */
	struct iocap_view file, open;
	struct iocap_process facts;
	struct iocap_sums sums;
	struct text *texts;
	size_t n_texts, texts_cap, text_bytes;
	bool texts_sorted;
	size_t text_blocks, info_blocks, signature_blocks;
	struct iocap_handle *infos; /* number: not used */
	size_t n_infos, infos_cap;
	struct iocap_signature *signatures;
	size_t n_signatures, signatures_cap;
	struct rstream streams[IOCAP_STREAMS + 1]; /* the last: handles */
	size_t n_streams;
	uint32_t switches; /* signature of a change of thread, + 1; 0: there is none */
	/* made when they are asked for */
	uint32_t *handle_numbers, *handle_infos;
	size_t n_handles;
	bool handles_made;
	struct iocap_handle answer;
	struct symbols decoded;
	const struct segment *decoded_of;
};

struct iocap {
	struct rprocess **processes;
	size_t n;
	struct arena arena;
	size_t max_bytes;      /* of files, and of tables; 0: no limit */
	size_t files, tables;  /* so far; counted where there is a limit */
	uint64_t work;         /* as well: bytes of bases and numbers of symbols looked at */
	struct iocap_base {    /* of files that are stored as what differs: the last one used */
		char *path;
		struct iocap_view file;
		struct iocap_blocks blocks;
	} base;
	bool is_folder; /* of several: one that has not even its beginning hides no other */
};

/* So many bytes more of a table. -EFBIG past the limit. */
int iocap_table_room(struct iocap *c, uint64_t bytes, struct err *err);

/* So much more to be looked at. -EFBIG past a multiple of the limit: a small file may say the same
 * again and again, which needs no memory, but time. */
int iocap_work(struct iocap *c, uint64_t more, struct err *err);

/* What to say when the arena gave nothing: it is full, or there is no memory. */
int iocap_no_memory(const struct iocap *c, struct err *err);

/* Reads all blocks of a file, of what was under way (NULL: nothing was), and of the base where the
 * file is stored as what differs from another (else NULL). */
int iocap_process_read(struct iocap *c, struct rprocess *p, const void *bytes, size_t n,
		       const struct iocap_blocks *base, const void *open, size_t n_open,
		       struct err *err);
void iocap_process_free(struct rprocess *p);

/* -EINVAL with a sentence when it contradicts itself, -ENOMEM. */
int iocap_symbols_read(const struct rprocess *p, const struct segment *s, bool handles,
		       struct symbols *ret, struct err *err);
void iocap_symbols_free(struct symbols *s);

int iocap_handles_make(struct rprocess *p, struct err *err);

/* ---- a walk over a stream's symbols and columns ---- */

/* A rule's body on the way: the next item, how often the body and the item are still to come (the
 * item 0: not begun). */
struct step {
	size_t item, rule;
	uint64_t left, item_left;
};

struct walk {
	struct rprocess *p;
	struct rstream *s;
	bool handles;
	size_t segment;
	struct symbols now;
	bool loaded;
	struct step *stack;
	size_t depth, cap;
	struct {
		uint64_t *x;
		size_t n, at, block;
	} values[IOCAP_VALUES];
};

void iocap_walk_init(struct walk *w, struct rprocess *p, struct rstream *s, bool handles);
int iocap_walk_next(struct walk *w, uint32_t *ret_symbol, struct err *err); /* 1, 0, negative */
int iocap_walk_value(struct walk *w, enum iocap_value kind, int64_t *ret, struct err *err);
void iocap_walk_done(struct walk *w);

int iocap_bad(const struct rprocess *p, struct err *err, const char *what);

/* Room for one more of *items: grows it, -ENOMEM. */
int iocap_more(void **items, size_t n, size_t *cap, size_t item_bytes);

#endif
