/* What the files of a capture's writer share: iocap_write.c (streams, blocks), iocap_encode.c
 * (calls into symbols), iocap_names.c (texts and handles). */
#ifndef CORE_IOCAP_IMPL_H
#define CORE_IOCAP_IMPL_H

#include "core/iocap_grammar.h"
#include "core/iocap_write.h"
#include "schema/iocap_code.h"
#include "schema/iocap_model.h"

/* Signatures there may be; each kind of less exact ones finds room when those before have filled
 * theirs. */
#define SIGNATURES_MAX 32768u
#define SIGNATURES_EXACT 24576u
#define SIGNATURES_SIZES 28672u
#define SIGNATURES_OPEN 31744u
#define SIGNATURE_NONE 0xffffffffu

struct encoder {
	struct iocap_signature *items;
	uint32_t n, cap, written, blocks; /* of those; and their blocks */
	uint32_t *map;                    /* by hash: number + 1; twice as many as there may be */
	uint32_t map_cap;
	uint32_t *seen; /* hashes of what came once */
	uint8_t *sizes; /* how many sizes have a signature of their own, by hash of all the rest */
};

struct stream {
	bool used, listing, dirty;
	uint32_t thread;
	uint64_t turn; /* when it was last used */
	struct iocap_model model;
	struct iocap_grammar grammar;
	struct iocap_column list_items, list_times; /* while listing */
	uint32_t run_symbol;
	uint64_t run;
	unsigned list_left, backoff;          /* segments to list before a grammar is tried again */
	uint64_t first, symbols;              /* of the segment that is open */
	uint32_t values_blocks, times_blocks; /* written */
	struct iocap_column values[IOCAP_VALUES];
	struct iocap_column gaps, lengths;
	uint64_t last_end; /* in steps */
};

#define INFO_CACHE 4096u

struct names {
	struct iocap_column numbers, prefixes, suffixes, bytes;
	uint32_t n, last_number, text_blocks, info_blocks;
	char last[4096];
	size_t last_bytes;
	struct iocap_bytes infos; /* not yet written */
	uint32_t n_infos, pending_infos, last_handle;
	struct iocap_handle *cache; /* number: of the info, from 1 */
	struct iocap_handle before;
};

struct iocap_writer {
	struct iocap_sink sink;
	int rc;
	bool timed, finished, open_used;
	bool closed; /* a segment was, since the last flush */
	uint64_t step_ns, turn, calls, dropped, dropped_written, bytes;
	unsigned n_streams, recent;
	unsigned items_most, times_most;          /* in a stream's grammar, in a column */
	struct stream streams[IOCAP_STREAMS + 1]; /* the last: handles */
	struct encoder encoder;
	struct names names;
	struct iocap_bytes payload, out, scratch, open, open_payload;
};

/* The symbol of a call; what it leaves open is put into the stream's columns, and its model is
 * told. SIGNATURE_NONE: no room. */
uint32_t iocap_encode(struct encoder *x, struct stream *s, const struct io_event *e);
/* The symbol that tells of another thread. */
uint32_t iocap_encode_switch(struct encoder *x, struct stream *s, uint32_t thread);
bool iocap_encoder_init(struct encoder *x);
void iocap_encoder_done(struct encoder *x);

/* What was put and not yet written, as a block into w->out. */
void iocap_texts_write(struct iocap_writer *w);
void iocap_infos_write(struct iocap_writer *w);
void iocap_texts_payload(struct iocap_writer *w); /* the same into w->payload; it stays */
void iocap_names_done(struct names *n);

void iocap_stream_symbol(struct iocap_writer *w, struct stream *s, uint32_t symbol);
/* To be called when symbols were put. */
void iocap_closed(struct iocap_writer *w);

#endif
