/* What is known of a stream before its next call, so that of the call only what is not expected
 * need be kept. Writer and reader keep one each and tell it of every call, so both expect the same.
 */
#ifndef SCHEMA_IOCAP_MODEL_H
#define SCHEMA_IOCAP_MODEL_H

#include "schema/iocap.h"

#define IOCAP_RESULT IO_ARGS
#define IOCAP_AT (IO_ARGS + 1)
#define IOCAP_COUNT (IO_ARGS + 2)

/* A call's signature, taken apart once. */
struct iocap_shape {
	char letter[IOCAP_FIELDS]; /* 0: no such argument; result; 'a' for at, 'c' for count */
	uint8_t n_args, handle, offset, whence,
		asked;                  /* index of the first such argument; 0xff: none */
	uint8_t order[IOCAP_FIELDS];    /* each field behind those that its expectation needs:
					   arguments    (offsets last), others that there are not,
					   result,    at */
	uint8_t track;                  /* 0 reads, 1 writes, 2 others */
	bool known, moves, makes, ends; /* bytes; a handle; a handle's end */
};
const struct iocap_shape *iocap_shape(unsigned call); /* of one that is unknown: known false */

/* Columns of values, by what they are. */
enum iocap_value {
	IOCAP_V_BYTES,
	IOCAP_V_OFFSET,
	IOCAP_V_HANDLE,
	IOCAP_V_TEXT,
	IOCAP_V_RESULT,
	IOCAP_V_AT,
	IOCAP_V_OTHER,
	IOCAP_VALUES
};
enum iocap_value iocap_value_of(const struct iocap_shape *s, unsigned field);

struct iocap_track {
	int64_t offset, end, delta, stride;
};

struct iocap_slot {
	uint32_t handle; /* 0: free */
	int64_t position;
	struct iocap_track track[3];
};

struct iocap_model {
	struct iocap_slot *slots;
	uint32_t n_slots, cap, max; /* n_slots: those that were ever used since it was empty */
	uint32_t first_free;        /* none below it is */
	uint32_t *map;              /* places of handles, by hash; slot + 1 */
	uint32_t map_cap, map_used;
	uint32_t newest_handle, newest_text, thread;
	uint32_t last_slot; /* of the call before */
	uint32_t last_handle, last_handle_slot;
	bool failed; /* no memory: nothing is expected any more */
};

void iocap_model_init(struct iocap_model *m, unsigned stream);
void iocap_model_done(struct iocap_model *m);

/* The slot a handle has; -1: none. */
int64_t iocap_model_slot(struct iocap_model *m, uint32_t handle);

/* What a call tells. */
void iocap_model_tell(struct iocap_model *m, const struct iocap_shape *s, const struct io_event *e);

/* A field's value against what is expected, and back: column and signature hold the difference. */
int64_t iocap_model_base(struct iocap_model *m, const struct iocap_shape *s,
			 const struct io_event *e, unsigned field);
/* The value of a field of which the signature says how and value; e has the fields before it in
 * order. False when it needs a column. */
bool iocap_model_expect(struct iocap_model *m, const struct iocap_shape *s,
			const struct io_event *e, unsigned field, enum iocap_how how, int64_t value,
			int64_t *ret);

static inline int64_t iocap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t iocap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
