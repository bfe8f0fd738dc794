/* What the files of the CUPTI collector share. The driver loads the library in cuInit
 * (CUDA_INJECTION64_PATH) and calls InitializeInjection; libcupti is looked for then, with dlopen.
 *
 * Locks, and what may be called under them. The pool's (cupti_pool.c) is a leaf. The flow's
 * (live_take) is held while records are read: no note is made then, and only calls of libcupti that
 * know no lock. That of cupti_work.c is held around calls of libcupti that deliver buffers; neither
 * `requested` nor `completed` takes it, so those never wait for each other. */
#ifndef COLLECTORS_CUPTI_IMPL_H
#define COLLECTORS_CUPTI_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/cupti_abi.h"
#include "collectors/live.h"
#include "core/flow.h"

/* The entry points; those that older versions lack are NULL. */
struct cupti_api {
	int (*version)(uint32_t *ret);
	int (*result_string)(int result, const char **ret);
	int (*error_message)(int result, const char **ret);
	int (*subscribe)(void **ret, cupti_callback *f, void *arg);
	int (*subscribe_v2)(void **ret, cupti_callback *f, void *arg, struct cupti_subscriber *s);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t on, void *subscriber, int domain, uint32_t cbid);
	int (*callback_name)(int domain, uint32_t cbid, const char **ret);
	int (*register_callbacks)(cupti_requested *requested, cupti_completed *completed);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*set_attribute)(int attribute, size_t *size, void *value);
	int (*get_attribute)(int attribute, size_t *size, void *value);
	int (*register_timestamp)(uint64_t (*f)(void));
	int (*timestamp)(uint64_t *ret);
	int (*configure_um)(struct cupti_um_config *list, uint32_t n);
	int (*next_record)(uint8_t *buffer, size_t bytes, void **record);
	int (*dropped)(void *context, uint32_t stream, size_t *ret);
	int (*flush_all)(uint32_t flag);
};
extern struct cupti_api cupti;

/* ---- cupti_load.c ---- */

enum { CUPTI_LOADED, CUPTI_NO_DRIVER, CUPTI_NO_LIBRARY };

/* Finds a libcupti and fills the table; else says in why what is missing. */
int cupti_load(char *why, size_t room);
const char *cupti_path(void);        /* of the one that was loaded; "" none */
uint32_t cupti_driver_version(void); /* 12040 for 12.4; 0 unknown */
bool cupti_driver_there(void);
/* A function of libcuda; NULL: no driver, no such function. */
void *cupti_driver_symbol(const char *name);
/* "CUPTI_ERROR_NOT_SUPPORTED (27)", and what CUPTI has to say about it */
void cupti_result_text(int result, char *text, size_t room);

/* For the table of the collector. */
int cupti_check(char *why, size_t room);

/* ---- cupti_start.c ---- */

/* Once for each process. */
void cupti_start(void);
/* Is this the process that was started, and at work? Not in a forked child, not after the end. */
bool cupti_on(void);
bool cupti_has(int kind); /* was enabled */

/* ---- cupti_pool.c ---- */

int cupti_pool_init(void);
void cupti_pool_done(void);
cupti_requested cupti_buffer_requested;
cupti_completed cupti_buffer_completed;
bool cupti_pool_used(void);        /* did libcupti ever ask for a buffer? */
uint64_t cupti_pool_come(void);    /* buffers that came back */
size_t cupti_pool_missing(void);   /* buffers with records that are not back */
bool cupti_pool_changed(void);     /* ... or since this was last asked */
uint64_t cupti_pool_refused(void); /* requests that found nothing */
void cupti_add_dropped(void);      /* what libcupti lost, into the flow; no lock of ours is held */
size_t cupti_pool_text(char *text, size_t room); /* "32 x 256 KiB" */

/* ---- cupti_record.c ---- */

/* All records of a buffer into the flow. */
void cupti_read(uint8_t *buffer, size_t bytes);
uint64_t cupti_untimed(void);
void cupti_record_notes(void); /* what is to be said at the end */

/* ---- cupti_call.c; under the flow's lock ---- */

void cupti_call(struct flow *f, const struct cupti_call_record *r);
void cupti_marker(struct flow *f, const struct cupti_marker_record *r);
/* No more calls than these may come: those of the driver count if none of the runtime came. */
void cupti_calls_settle(struct flow *f);
bool cupti_driver_calls_idle(void); /* calls of the driver are recorded and not used */
bool cupti_ranges_lost(void);       /* there was no room for one */
/* The patterns of the region and of what is left out of it; NULL: marks tell it. */
const char *cupti_range(void);

/* ---- cupti_clock.c ---- */

/* Before any kind is enabled: asks for time stamps on our clock, and looks what they really are on.
 */
void cupti_clock_start(void);
void cupti_clock_tell(void); /* into the picture */
void cupti_clock_check(void);
void cupti_clock_refresh(void); /* now and then, where times have to be converted */
int64_t cupti_clock_now(void);
int64_t cupti_clock_convert(uint64_t t);

/* ---- cupti_device.c ---- */

/* Asks the driver for the names and UUIDs of all devices; not from a callback for buffers. */
void cupti_devices_find(void);
/* Under the flow's lock. */
uint32_t cupti_device(struct flow *f, uint32_t ordinal);

/* ---- cupti_name.c; under the flow's lock ---- */

struct cupti_name {
	uint32_t number, category;
};
struct cupti_name cupti_kernel_name(struct flow *f, const char *name);

/* ---- cupti_work.c: our own thread, and the end ---- */

int cupti_work_start(void);
/* Something for the thread to do before its time. Any thread, never waits. */
void cupti_work_wake(void);
bool cupti_flush(enum live_flush how);
void cupti_forget(void); /* in a forked child */
void cupti_end(void);

#endif
