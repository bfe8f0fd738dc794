/* Inside the double of libcupti. */
#ifndef TESTS_DOUBLE_FAKE_CUPTI_H
#define TESTS_DOUBLE_FAKE_CUPTI_H

#include <cuda.h>
#include <cupti.h>

#include "double.h"

/* ---- buffers (cupti_buffer.c) ---- */

struct slot;

/* Room for a record, zeroed, in the buffer of this thread. NULL: dropped, and counted. */
struct slot *slot_reserve(uint32_t size);
uint8_t *slot_bytes(struct slot *s);              /* only between reserve and publish */
void slot_publish(struct slot *s, bool complete); /* the record is written, its times perhaps not */
/* Writes the record's times unless its buffer was given away; frees the slot. */
void slot_complete(struct slot *s, uint32_t start_at, uint32_t end_at, uint64_t start,
		   uint64_t end);
void buffers_flush(bool forced);
size_t buffers_dropped(void);
void buffers_callbacks(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c);
void buffers_per_thread(bool on);
bool buffers_ready(void);
void cupti_own_lock(void); /* CUPTI's own: held while it calls `requested` and `completed` */
void cupti_own_unlock(void);

/* ---- records (cupti_record.c) ---- */

uint32_t record_size(uint32_t kind); /* of the version that the script asks for; 0: no such kind */
uint64_t record_time(uint64_t ns);   /* in the clock that records are in */
void *record_reserve(const struct double_op *op);
void record_complete(void *slot, uint64_t start, uint64_t end);
void record_call(const struct double_call *call);
void record_sync(const struct double_sync *sync);
void record_context(const struct double_context *c);
void record_devices(void);
void record_external(uint32_t correlation);
void record_marker(uint32_t flags, uint32_t id, const char *name, const char *domain);
void record_timestamp_callback(CUpti_TimestampCallbackFunc f);

/* ---- what is enabled (cupti.c) ---- */

bool kind_enabled(uint32_t kind);
bool call_enabled(uint32_t kind, uint32_t cbid);
CUptiResult refuse(const char *call);

#define REFUSE()                                                                                   \
	do {                                                                                       \
		CUptiResult refused_ = refuse(__func__);                                           \
		if (refused_)                                                                      \
			return refused_;                                                           \
	} while (0)

#endif
