/* Start: libcupti is found and subscribed to, the clock is ours, and the kinds of records are
 * turned on, each for itself. After the first thing that fails for good nothing is asked again: a
 * libcupti without a driver looks for it in every call, which takes half a millisecond. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/cupti_impl.h"
#include "collectors/live.h"
#include "core/category.h"

#define COPIES (1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D | 1u << COPY_OTHER)

static const struct {
	int kind;
	unsigned observes; /* what is not seen without it */
	const char *what;  /* NULL: of no harm when it is missing */
} kinds[] = {
	{ CUPTI_KIND_KERNEL, 1u << COMPUTE | 1u << COLLECTIVE, "kernels" },
	{ CUPTI_KIND_MEMCPY, COPIES, "copies" },
	{ CUPTI_KIND_PEER_COPY, 1u << COPY_OTHER, "copies between devices" },
	{ CUPTI_KIND_MEMSET, 1u << FILL, "fills" },
	{ CUPTI_KIND_RUNTIME, 0, "calls of the runtime" },
	{ CUPTI_KIND_OVERHEAD, 0, NULL },
	{ CUPTI_KIND_DECOMPRESS, 0, NULL },
};

static void *subscriber;
static pid_t owner;
static bool on, late_done, refused_kinds[CUPTI_KINDS], kinds_on[CUPTI_KINDS];
static int results[CUPTI_KINDS];

bool cupti_on(void)
{
	return __atomic_load_n(&on, __ATOMIC_ACQUIRE) && owner == getpid();
}

bool cupti_has(int kind)
{
	return __atomic_load_n(&kinds_on[kind], __ATOMIC_ACQUIRE);
}

static bool enable(int kind)
{
	results[kind] = cupti.enable(kind);
	refused_kinds[kind] = results[kind] != CUPTI_OK;
	__atomic_store_n(&kinds_on[kind], results[kind] == CUPTI_OK, __ATOMIC_RELEASE);
	return results[kind] == CUPTI_OK;
}

static void note_refused(int kind, const char *what)
{
	char text[200];
	if (!refused_kinds[kind])
		return;
	cupti_result_text(results[kind], text, sizeof text);
	live_note("CUPTI does not record %s: %s", what, text);
}

/* ---- once the driver is started ---- */

static void start_migrations(void)
{
	static const uint32_t counters[] = { CUPTI_UM_HTOD, CUPTI_UM_DTOH, CUPTI_UM_DTOD };
	struct cupti_um_config c[3];
	char text[200];
	int rc = CUPTI_ERROR_21_KIND;
	for (uint32_t scope = CUPTI_UM_SCOPE_ALL; cupti.configure_um && rc && scope; scope--) {
		for (int i = 0; i < 3; i++)
			c[i] = (struct cupti_um_config){ .scope = scope,
							 .kind = counters[i],
							 .enable = 1 };
		rc = cupti.configure_um(c, 3);
		if (rc) /* versions that do not know migrations between devices */
			rc = cupti.configure_um(c, 2);
	}
	if (rc == CUPTI_OK && enable(CUPTI_KIND_UNIFIED_MEMORY))
		return;
	cupti_result_text(rc ? rc : results[CUPTI_KIND_UNIFIED_MEMORY], text, sizeof text);
	live_note("migrations of unified memory are not seen: %s", text);
}

static void start_late(void)
{
	if (__atomic_exchange_n(&late_done, true, __ATOMIC_ACQ_REL))
		return;
	cupti_devices_find();
	start_migrations();
	/* After our own questions to the driver, which are no calls of the program. */
	if (!enable(CUPTI_KIND_DRIVER))
		note_refused(CUPTI_KIND_DRIVER, "calls of the driver");
}

/* Somebody has loaded us by hand, not the driver: it may have been at work for long, and then says
 * no more that it has started. In its own start, when it loads us, it is not asked anything. */
static void start_after_all(void)
{
	int (*count_of)(int *) = NULL;
	int n = 0;
	const char *said = getenv("CUDA_INJECTION64_PATH");
	void *at = said && *said ? NULL : cupti_driver_symbol("cuDeviceGetCount");
	memcpy(&count_of, &at, sizeof at);
	if (!count_of || count_of(&n))
		return;
	live_note("the collector was loaded when CUDA was at work already: what the device did "
		  "before that is not known");
	start_late();
}

static void told(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg;
	(void)data;
	if (domain != CUPTI_DOMAIN_RESOURCE || !cupti_on())
		return;
	if (cbid == CUPTI_RESOURCE_INIT_FINISHED || cbid == CUPTI_RESOURCE_CONTEXT_CREATED)
		start_late();
	else if (cbid == CUPTI_RESOURCE_CONTEXT_DESTROY)
		(void)cupti_flush(LIVE_FLUSH); /* a program may end without us after this */
}

/* ---- the start itself ---- */

/* NULL: subscribed; else the picture's status, and the reason. */
static const char *subscribe(char *why, size_t room)
{
	char other[64] = "", text[200];
	struct cupti_subscriber s = {
		.size = sizeof s,
		.name = "roimeter",
		.other = other,
		.other_room = sizeof other,
	};
	int rc = cupti.subscribe_v2 ? cupti.subscribe_v2(&subscriber, told, NULL, &s)
				    : cupti.subscribe(&subscriber, told, NULL);
	if (rc == CUPTI_OK)
		return NULL;
	other[sizeof other - 1] = 0;
	if (rc == CUPTI_ERROR_39_SUBSCRIBERS || rc == CUPTI_ERROR_12_LIMIT) {
		(void)snprintf(why, room,
			       "another profiler is attached to the program%s%s: CUPTI serves "
			       "only one",
			       other[0] ? ", " : "", other);
		return "busy";
	}
	if (rc == CUPTI_ERROR_999_UNKNOWN && !cupti_driver_there()) {
		(void)snprintf(why, room,
			       "there is no NVIDIA driver here (libcuda.so.1 is not found)");
		return "no_driver";
	}
	cupti_result_text(rc, text, sizeof text);
	(void)snprintf(why, room, "CUPTI refused to be used (cuptiSubscribe): %s", text);
	return "refused";
}

static void set_byte(int attribute, uint8_t value)
{
	size_t n = sizeof value;
	if (cupti.set_attribute)
		(void)cupti.set_attribute(attribute, &n, &value);
}

static const char *bring_up(unsigned *ret_observes, char *why, size_t room)
{
	char text[200];
	int rc = cupti_load(why, room);
	if (rc != CUPTI_LOADED)
		return rc == CUPTI_NO_DRIVER ? "no_driver" : "failed";
	const char *status = subscribe(why, room);
	if (status)
		return status;
	/* One buffer for all threads, or one that launches once in a minute keeps its records until
	 * the end, long after those around them were folded. */
	set_byte(CUPTI_ATTRIBUTE_PER_THREAD, 0);
	set_byte(CUPTI_ATTRIBUTE_ZEROED, 1);
	cupti_clock_start();
	rc = cupti_pool_init()
		     ? -1
		     : cupti.register_callbacks(cupti_buffer_requested, cupti_buffer_completed);
	if (rc) {
		cupti_result_text(rc, text, sizeof text);
		(void)snprintf(why, room,
			       rc < 0 ? "there is no memory for CUPTI's buffers"
				      : "CUPTI refused its buffers: %s",
			       text);
		return "failed";
	}
	unsigned observes = 1u << OTHER;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (enable(kinds[i].kind))
			observes |= kinds[i].observes;
	/* Copies between devices are copy_other; so are some of the plain ones: half is not
	 * observed. */
	if (!kinds_on[CUPTI_KIND_PEER_COPY] || !kinds_on[CUPTI_KIND_MEMCPY])
		observes &= ~(1u << COPY_OTHER);
	*ret_observes = observes;
	if (!(observes & ~(1u << OTHER))) {
		cupti_result_text(results[CUPTI_KIND_KERNEL], text, sizeof text);
		(void)snprintf(why, room, "CUPTI records nothing here: %s", text);
		return "refused";
	}
	return NULL;
}

/* The program must find libcupti at its first NVTX range, or those have no records. Only where the
 * region is such a range, and nobody else has asked for them: roimeter run has libroimeter-range.so
 * in the program, which makes marks of them. */
static void start_ranges(void)
{
	const char *taken = getenv("NVTX_INJECTION64_PATH");
	if (!cupti_range() || (taken && strcmp(taken, cupti_path()) != 0))
		return;
	if (!taken)
		(void)setenv("NVTX_INJECTION64_PATH", cupti_path(), 1);
	if (!enable(CUPTI_KIND_MARKER))
		note_refused(CUPTI_KIND_MARKER, "NVTX ranges, and the region is one");
}

static void say_what_is_there(void)
{
	char text[32];
	uint32_t version = cupti_driver_version();
	if (version) {
		(void)snprintf(text, sizeof text, "cuda%u.%u", version / 1000, version % 1000 / 10);
		live_runtime(text);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].what)
			note_refused(kinds[i].kind, kinds[i].what);
}

/* Is this the execution that is profiled? live_start knows it exactly; here it is only that nothing
 * of CUPTI is touched in one that is not. */
static bool wanted(void)
{
	const char *exec = getenv("ROIMETER_EXEC"), *collect = getenv("ROIMETER_COLLECT");
	return exec && strncmp(exec, "profiled.", 9) == 0 &&
	       live_wanted(collect, "cupti");
}

static void take_down(void)
{
	__atomic_store_n(&on, false, __ATOMIC_RELEASE);
	for (int k = 0; k < CUPTI_KINDS; k++)
		if (kinds_on[k] && cupti.disable)
			(void)cupti.disable(k);
	if (subscriber && cupti.unsubscribe)
		(void)cupti.unsubscribe(subscriber);
}

static void start(void)
{
	char why[512] = "";
	unsigned observes = 0;
	struct live_options o = {
		.collector = "cupti",
		.runtime = "cuda",
		.flush = cupti_flush,
		.child = cupti_forget,
	};
	if (!wanted())
		return;
	owner = getpid();
	__atomic_store_n(&on, true, __ATOMIC_RELEASE);
	const char *status = bring_up(&observes, why, sizeof why);
	o.observes = status ? 0 : observes;
	o.calls = !status && kinds_on[CUPTI_KIND_RUNTIME];
	if (live_start(&o) != 0) {
		take_down();
		return;
	}
	if (status) {
		take_down();
		live_refuse(status, "%s", why);
		return;
	}
	say_what_is_there();
	start_ranges();
	cupti_clock_tell();
	bool resource = cupti.enable_callback &&
			cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE,
					      CUPTI_RESOURCE_CONTEXT_CREATED) == CUPTI_OK;
	if (resource) {
		(void)cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE,
					    CUPTI_RESOURCE_INIT_FINISHED);
		(void)cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE,
					    CUPTI_RESOURCE_CONTEXT_DESTROY);
		start_after_all();
	} else {
		start_late();
	}
	if (cupti_work_start())
		live_note("the collector has no thread of its own: what is lost is seen at the end "
			  "only");
	(void)atexit(cupti_end);
}

void cupti_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, start);
}
