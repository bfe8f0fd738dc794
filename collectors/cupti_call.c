/* Calls of the program, and its NVTX ranges.
 *
 * A call of the runtime makes calls of the driver, so only one of the two is counted. Which one is
 * not known when libcupti starts: the runtime is mostly a static part of the program. So both are
 * recorded; the driver's are held back until one of the runtime comes (then the driver's are
 * nothing but its insides, and are turned off), or until there are so many, or the region ends,
 * without one (then the driver's are the program's). */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti_impl.h"
#include "core/category.h"

#define HELD 4096
#define CBIDS 2048
#define OPEN_MAX 1024

static struct {
	int64_t begin_ns, end_ns;
	bool sync;
} held[HELD];
static unsigned n_held;
static enum { UNDECIDED, BY_RUNTIME, BY_DRIVER } layer;

/* ---- calls ---- */

static bool call_waits(int domain, uint32_t cbid)
{
	static uint8_t known[2][CBIDS]; /* 0: not yet; 1: no; 2: yes */
	const char *name = NULL;
	if (cbid >= CBIDS)
		return false;
	uint8_t *k = &known[domain == CUPTI_DOMAIN_RUNTIME][cbid];
	if (*k == 0) {
		unsigned whose = domain == CUPTI_DOMAIN_RUNTIME ? CALL_CUDA : CALL_CUDA_DRIVER;
		bool yes = cupti.callback_name && cupti.callback_name(domain, cbid, &name) == 0 &&
			   sync_call(whose, str_of(name));
		*k = yes ? 2 : 1;
	}
	return *k == 2;
}

static void decide(struct flow *f, bool by_runtime)
{
	__atomic_store_n(&layer, by_runtime ? BY_RUNTIME : BY_DRIVER, __ATOMIC_RELAXED);
	for (unsigned i = 0; !by_runtime && i < n_held; i++)
		flow_call(f, held[i].begin_ns, held[i].end_ns, held[i].sync);
	n_held = 0;
	if (by_runtime)
		cupti_work_wake();
}

void cupti_call(struct flow *f, const struct cupti_call_record *r)
{
	bool runtime = r->kind == CUPTI_KIND_RUNTIME;
	if (!r->start || r->end < r->start || r->end > INT64_MAX)
		return;
	int64_t begin = cupti_clock_convert(r->start), end = cupti_clock_convert(r->end);
	bool sync = call_waits(runtime ? CUPTI_DOMAIN_RUNTIME : CUPTI_DOMAIN_DRIVER, r->cbid);
	if (layer == UNDECIDED && runtime)
		decide(f, true);
	else if (layer == UNDECIDED && n_held == HELD)
		decide(f, false);
	if (layer == UNDECIDED) {
		held[n_held].begin_ns = begin;
		held[n_held].end_ns = end;
		held[n_held++].sync = sync;
	} else if (runtime == (layer == BY_RUNTIME)) {
		flow_call(f, begin, end, sync);
	}
}

void cupti_calls_settle(struct flow *f)
{
	if (layer == UNDECIDED && n_held > 0)
		decide(f, false);
}

bool cupti_driver_calls_idle(void)
{
	return __atomic_load_n(&layer, __ATOMIC_RELAXED) == BY_RUNTIME;
}

/* ---- ranges ---- */

static struct {
	uint32_t id;
	bool exclude;
} open_ranges[OPEN_MAX];
static unsigned n_open;
static bool ranges_lost;

bool cupti_ranges_lost(void)
{
	return ranges_lost;
}

const char *cupti_range(void)
{
	const char *glob = getenv("ROIMETER_RANGE");
	return glob && *glob ? glob : NULL;
}

static bool fits(const char *glob, const char *name)
{
	return glob && *glob && name && fnmatch(glob, name, 0) == 0;
}

static void range_begins(struct flow *f, const struct cupti_marker_record *r)
{
	bool region = fits(cupti_range(), r->name);
	bool exclude = !region && fits(getenv("ROIMETER_RANGE_EXCLUDE"), r->name);
	if (!region && !exclude)
		return;
	if (n_open == OPEN_MAX) {
		ranges_lost = true;
		return;
	}
	open_ranges[n_open].id = r->id;
	open_ranges[n_open++].exclude = exclude;
	if (flow_mark(f, exclude ? FLOW_EXCLUDE_BEGIN : FLOW_BEGIN, cupti_clock_convert(r->time)))
		ranges_lost = true;
}

static void range_ends(struct flow *f, const struct cupti_marker_record *r)
{
	for (unsigned i = n_open; i-- > 0;) {
		if (open_ranges[i].id != r->id)
			continue;
		bool exclude = open_ranges[i].exclude;
		open_ranges[i] = open_ranges[--n_open];
		if (flow_mark(f, exclude ? FLOW_EXCLUDE_END : FLOW_END,
			      cupti_clock_convert(r->time)))
			ranges_lost = true;
		return;
	}
}

void cupti_marker(struct flow *f, const struct cupti_marker_record *r)
{
	if (!r->time || r->time > INT64_MAX)
		return;
	if (r->flags & CUPTI_MARKER_BEGINS)
		range_begins(f, r);
	else if (r->flags & CUPTI_MARKER_ENDS)
		range_ends(f, r);
}
