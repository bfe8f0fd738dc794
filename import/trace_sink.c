/* What readers hand out, into one flow for each process. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "import/trace_impl.h"

#define UNMAPPED UINT32_MAX
#define DEVICES_MAX 65536
#define NAMES_MAX ((size_t)1 << 16)  /* of operations; more are "(others)", as the flow calls them \
				      */
#define OTHERS "(others)"            /* the flow's number 0, too */

void trace_begin(struct trace_sink *t, const struct trace_options *options)
{
	*t = (struct trace_sink){ .options = options, .first_ns = INT64_MAX };
}

static void forget_sums(struct trace_member *m)
{
	flow_free(m->flow);
	m->flow = NULL;
	free(m->devices);
	free(m->names);
	m->devices = m->names = NULL;
	m->n_devices = m->n_names = 0;
}

void trace_end(struct trace_sink *t)
{
	for (size_t i = 0; i < t->n_members; i++) {
		forget_sums(&t->members[i]);
		free(t->members[i].kept);
	}
	free(t->members);
	free(t->window);
	free(t->names.slots);
	free(t->ranges.slots);
	trace_map_done(&t->numbers);
	arena_free(&t->arena);
}

/* ---- texts
 * ---------------------------------------------------------------------------------------- */

static size_t slot_of(const struct trace_texts *x, struct str text)
{
	size_t at = (size_t)XXH3_64bits(text.p, text.n) & (x->n_slots - 1);
	while (x->slots[at]) {
		struct str have = x->items[x->slots[at] - 1];
		if (have.n == text.n && memcmp(have.p, text.p, text.n) == 0)
			break;
		at = (at + 1) & (x->n_slots - 1);
	}
	return at;
}

static int widen(struct trace_texts *x)
{
	struct trace_texts wide = *x;
	wide.n_slots = x->n_slots ? 2 * x->n_slots : 256;
	wide.slots = calloc(wide.n_slots, sizeof *wide.slots);
	if (!wide.slots)
		return -ENOMEM;
	for (size_t i = 0; i < x->n; i++)
		wide.slots[slot_of(&wide, x->items[i])] = (uint32_t)i + 1;
	free(x->slots);
	*x = wide;
	return 0;
}

int trace_text_number(struct trace_sink *t, struct trace_texts *x, struct str text, size_t max,
		      uint32_t *ret)
{
	if (2 * (x->n + 1) > x->n_slots && widen(x))
		return -ENOMEM;
	size_t at = slot_of(x, text);
	*ret = x->slots[at] - 1;
	if (x->slots[at])
		return 0;
	*ret = (uint32_t)max;
	if (x->n == max)
		return 0;
	struct str *items = arena_grow(&t->arena, x->items, &x->cap, x->n + 1, sizeof *items);
	char *copy = arena_strndup(&t->arena, text.p, text.n);
	if (!items || !copy)
		return -ENOMEM;
	x->items = items;
	x->items[x->n] = (struct str){ copy, text.n };
	*ret = (uint32_t)x->n++;
	x->slots[at] = *ret + 1;
	return 0;
}

int trace_name(struct trace_sink *t, struct str name, uint32_t *ret)
{
	uint32_t others;
	if (!t->names.n && trace_text_number(t, &t->names, str_of(OTHERS), 1, &others))
		return -ENOMEM;
	int rc = trace_text_number(t, &t->names, name, NAMES_MAX, ret);
	if (*ret == NAMES_MAX)
		*ret = 0;
	return rc;
}

static int copy_text(struct trace_sink *t, const char **to, const char *text)
{
	if (!text || *to)
		return 0;
	*to = arena_strdup(&t->arena, text);
	return *to ? 0 : -ENOMEM;
}

/* ---- processes and devices
 * ---------------------------------------------------------------------------- */

static int add_member(struct trace_sink *t, int64_t process, size_t *ret)
{
	if (t->n_members == t->cap_members) {
		size_t cap = t->cap_members ? 2 * t->cap_members : 16;
		struct trace_member *more = realloc(t->members, cap * sizeof *more);
		if (!more)
			return -ENOMEM;
		t->members = more;
		t->cap_members = cap;
	}
	if (trace_map_put(&t->numbers, process, 0, t->n_members + 1))
		return -ENOMEM;
	t->members[t->n_members] = (struct trace_member){ .number = process };
	*ret = t->n_members++;
	return 0;
}

int trace_member_of(struct trace_sink *t, int64_t process, size_t *ret)
{
	if (t->last_member < t->n_members && t->members[t->last_member].number == process) {
		*ret = t->last_member;
		return 0;
	}
	uint64_t have = trace_map_get(&t->numbers, process, 0);
	int rc = have ? 0 : add_member(t, process, ret);
	if (have)
		*ret = (size_t)have - 1;
	if (!rc)
		t->last_member = *ret;
	return rc;
}

int trace_process(struct trace_sink *t, int64_t process, const char *host, const char *pid,
		  const char *rank, const char *exe)
{
	size_t i;
	int rc = trace_member_of(t, process, &i);
	if (rc)
		return rc;
	struct trace_member *m = &t->members[i];
	return copy_text(t, &m->host, host) || copy_text(t, &m->pid, pid) ||
			       copy_text(t, &m->rank, rank) || copy_text(t, &m->exe, exe)
		       ? -ENOMEM
		       : 0;
}

int trace_device(struct trace_sink *t, const char *name, const char *id, uint32_t *ret)
{
	const char *key = id ? id : name;
	for (size_t i = 0; i < t->n_devices; i++)
		if (strcmp(t->device_ids[i], key) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	const char **names = arena_grow(&t->arena, t->device_names, &t->cap_devices,
					t->n_devices + 1, sizeof *names);
	const char **ids =
		arena_grow(&t->arena, t->device_ids, &t->cap_ids, t->n_devices + 1, sizeof *ids);
	if (!names || !ids || t->n_devices == DEVICES_MAX)
		return -ENOMEM;
	t->device_names = names;
	t->device_ids = ids;
	names[t->n_devices] = arena_strdup(&t->arena, name);
	ids[t->n_devices] = arena_strdup(&t->arena, key);
	if (!names[t->n_devices] || !ids[t->n_devices])
		return -ENOMEM;
	*ret = (uint32_t)t->n_devices++;
	return 0;
}

/* ---- what is known of the trace
 * ---------------------------------------------------------------------- */

int trace_observes(struct trace_sink *t, unsigned categories)
{
	t->observes |= categories;
	return 0;
}

int trace_runtime(struct trace_sink *t, const char *runtime)
{
	return copy_text(t, &t->runtime, runtime);
}

int trace_epoch(struct trace_sink *t, int64_t add_ns)
{
	t->epoch_ns = add_ns;
	t->has_epoch = true;
	return 0;
}

int trace_calls_seen(struct trace_sink *t)
{
	t->calls_seen = true;
	return 0;
}

/* A reader says the same in each pass. */
int trace_note(struct trace_sink *t, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (size_t i = 0; i < t->n_notes; i++)
		if (strcmp(t->notes[i], text) == 0)
			return 0;
	const char **notes =
		arena_grow(&t->arena, t->notes, &t->cap_notes, t->n_notes + 1, sizeof *notes);
	if (!notes)
		return -ENOMEM;
	t->notes = notes;
	notes[t->n_notes] = arena_strdup(&t->arena, text);
	return notes[t->n_notes++] ? 0 : -ENOMEM;
}

/* ---- operations
 * ------------------------------------------------------------------------------------------ */

/* With all categories and calls: what nobody observed is made null at the end, when that is known.
 */
static int need_flow(struct trace_sink *t, struct trace_member *m)
{
	if (m->flow)
		return 0;
	const struct flow_options o = { .observes = (1u << CATEGORIES) - 1,
					.keep_busy = true,
					.calls = true };
	int rc = flow_new(&m->flow, &o, NULL);
	return rc ? rc : trace_ranges_into(t, m);
}

/* Room for number in a table of numbers. */
static int map_room(uint32_t **map, size_t *n, uint32_t number)
{
	if (number < *n)
		return 0;
	size_t wide = 64;
	while (wide <= number)
		wide *= 2;
	uint32_t *more = realloc(*map, wide * sizeof *more);
	if (!more)
		return -ENOMEM;
	for (size_t i = *n; i < wide; i++)
		more[i] = UNMAPPED;
	*map = more;
	*n = wide;
	return 0;
}

static int map_device(struct trace_sink *t, struct trace_member *m, uint32_t device)
{
	if (map_room(&m->devices, &m->n_devices, device))
		return -ENOMEM;
	if (m->devices[device] != UNMAPPED)
		return 0;
	int64_t number = flow_device(m->flow, t->device_names[device], t->device_ids[device]);
	m->devices[device] = (uint32_t)number;
	return number < 0 ? -ENOMEM : 0;
}

static int map_name(struct trace_sink *t, struct trace_member *m, uint32_t name)
{
	if (map_room(&m->names, &m->n_names, name))
		return -ENOMEM;
	if (m->names[name] != UNMAPPED)
		return 0;
	struct str text = t->names.items[name];
	int64_t number = name ? flow_name(m->flow, text.p, text.n) : 0;
	m->names[name] = (uint32_t)number;
	return number < 0 ? -ENOMEM : 0;
}

static int feed(struct trace_sink *t, const struct trace_entry *e)
{
	struct trace_member *m = &t->members[e->member];
	if (!m->flow && need_flow(t, m))
		return -ENOMEM;
	if (e->kind >= TRACE_CALL) {
		flow_call(m->flow, e->begin, e->end, e->kind == TRACE_SYNC);
		return 0;
	}
	if ((e->device >= m->n_devices || m->devices[e->device] == UNMAPPED) &&
	    map_device(t, m, e->device))
		return -ENOMEM;
	if ((e->name >= m->n_names || m->names[e->name] == UNMAPPED) && map_name(t, m, e->name))
		return -ENOMEM;
	flow_op(m->flow, &(struct flow_op){ .begin_ns = e->begin,
					    .end_ns = e->end,
					    .bytes = e->bytes,
					    .device = m->devices[e->device],
					    .name = m->names[e->name],
					    .category = e->kind });
	return 0;
}

/* Longer ones first: then the order does not depend on that of the file. */
static int by_begin(const void *a, const void *b)
{
	const struct trace_entry *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* The first n of what waits, in order; the rest goes on waiting. */
static int drain(struct trace_sink *t, size_t n)
{
	if (t->unsorted)
		qsort(t->window, t->n_window, sizeof *t->window, by_begin);
	t->unsorted = false;
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		rc = feed(t, &t->window[i]);
	t->n_window -= n;
	memmove(t->window, t->window + n, t->n_window * sizeof *t->window);
	return rc;
}

static int take(struct trace_sink *t, int64_t process, struct trace_entry *e)
{
	size_t member;
	int rc = trace_member_of(t, process, &member);
	if (rc)
		return rc;
	e->member = (uint32_t)member;
	t->first_ns = e->begin < t->first_ns && e->begin > 0 ? e->begin : t->first_ns;
	if (!t->window)
		return feed(t, e);
	if (t->n_window == t->cap_window) {
		rc = drain(t, t->n_window / 2);
		if (rc)
			return rc;
	}
	t->unsorted |= t->n_window && e->begin < t->window[t->n_window - 1].begin;
	t->window[t->n_window++] = *e;
	return 0;
}

int trace_op(struct trace_sink *t, int64_t process, uint32_t device, enum category category,
	     uint32_t name, int64_t begin_ns, int64_t end_ns, double bytes)
{
	struct trace_entry e = { .begin = begin_ns,
				 .end = end_ns,
				 .bytes = bytes,
				 .name = name,
				 .device = (uint16_t)device,
				 .kind = (uint16_t)category };
	return take(t, process, &e);
}

int trace_call(struct trace_sink *t, int64_t process, int64_t begin_ns, int64_t end_ns, bool sync)
{
	struct trace_entry e = { .begin = begin_ns,
				 .end = end_ns,
				 .kind = sync ? TRACE_SYNC : TRACE_CALL };
	t->calls_seen = true;
	return take(t, process, &e);
}

static int flow_for(struct trace_sink *t, int64_t process, struct flow **ret)
{
	size_t i;
	int rc = trace_member_of(t, process, &i);
	if (!rc)
		rc = need_flow(t, &t->members[i]);
	if (!rc)
		*ret = t->members[i].flow;
	return rc;
}

int trace_untimed(struct trace_sink *t, int64_t process, uint64_t n)
{
	struct flow *f;
	int rc = flow_for(t, process, &f);
	if (!rc)
		flow_untimed(f, n);
	return rc;
}

int trace_dropped(struct trace_sink *t, int64_t process, uint64_t n)
{
	struct flow *f;
	int rc = flow_for(t, process, &f);
	if (!rc)
		flow_dropped(f, n);
	return rc;
}

int trace_graph(struct trace_sink *t, int64_t process, uint64_t n)
{
	struct flow *f;
	int rc = flow_for(t, process, &f);
	if (!rc)
		flow_graph(f, n);
	return rc;
}

int trace_again(struct trace_sink *t, size_t order)
{
	for (size_t i = 0; i < t->n_members; i++)
		forget_sums(&t->members[i]);
	free(t->window);
	t->window = order ? malloc(order * sizeof *t->window) : NULL;
	t->cap_window = order;
	t->n_window = 0;
	t->unsorted = false;
	return order && !t->window ? -ENOMEM : 0;
}

int trace_flush(struct trace_sink *t)
{
	int rc = t->window ? drain(t, t->n_window) : 0;
	/* A process with a region counts also if it did nothing; and what no process did is 0, not
	 * null. */
	for (size_t i = 0; i < t->n_members && !rc; i++)
		if (t->members[i].n_kept)
			rc = need_flow(t, &t->members[i]);
	bool any = false;
	for (size_t i = 0; i < t->n_members; i++)
		any |= t->members[i].flow != NULL;
	struct flow *f;
	if (!rc && !any)
		rc = flow_for(t, t->n_members ? t->members[0].number : 0, &f);
	for (size_t i = 0, first = 1; i < t->n_members && !rc; i++) {
		if (!t->members[i].flow || !first)
			continue;
		for (uint32_t k = 0; k < t->n_devices && !rc; k++)
			rc = map_device(t, &t->members[i], k);
		first = 0;
	}
	return rc;
}
