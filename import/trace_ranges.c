/* Annotated ranges: which of them are the region, and of which processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_impl.h"

#define RANGES_MAX ((size_t)1 << 12) /* names that can be told */
#define MEANS "*?[\\"                /* in a glob, something else than itself */

/* ---- what is asked for ---------------------------------------------------------------------- */

/* Names with brackets and stars in them are found as they are, too. */
static bool is_called(const char *glob, struct str name)
{
	size_t plain = strcspn(glob, MEANS);
	if (name.n < plain || memcmp(glob, name.p, plain) != 0)
		return false; /* nearly all, and cheaply */
	if (strlen(glob) == name.n && memcmp(glob, name.p, name.n) == 0)
		return true;
	if (!glob[plain] || name.n >= 4096)
		return false;
	char text[4096];
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return fnmatch(glob, text, 0) == 0;
}

static bool is_region(const struct trace_sink *t, struct str name)
{
	return is_called(t->options->range ? t->options->range : "roimeter:roi", name);
}

static bool is_exclude(const struct trace_sink *t, struct str name)
{
	return is_called(t->options->exclude ? t->options->exclude : "roimeter:exclude", name);
}

bool trace_asked(const struct trace_sink *t, struct str name)
{
	return is_region(t, name) || is_exclude(t, name);
}

/* All of them as long as nothing matches, so that the sentence can tell what there is. */
bool trace_wants(const struct trace_sink *t, struct str name)
{
	return (t->options->range && !t->matched[TRACE_ANNOTATION]) || trace_asked(t, name);
}

static enum trace_level first_level(const uint64_t counts[TRACE_LEVELS])
{
	enum trace_level level = TRACE_ANNOTATION;
	while (level + 1 < TRACE_LEVELS && !counts[level])
		level++;
	return level;
}

uint64_t trace_matched(const struct trace_sink *t)
{
	return t->matched[first_level(t->matched)];
}

/* ---- as they come --------------------------------------------------------------------------- */

static int see(struct trace_sink *t, struct str name, int64_t begin_ns, int64_t end_ns)
{
	uint32_t number;
	int rc = trace_text_number(t, &t->ranges, name, RANGES_MAX, &number);
	if (rc)
		return rc;
	if (number == RANGES_MAX) {
		t->too_many++;
		return 0;
	}
	size_t before = t->cap_seen;
	t->seen = arena_grow(&t->arena, t->seen, &t->cap_seen, number + 1, sizeof *t->seen);
	if (!t->seen)
		return -ENOMEM;
	if (t->cap_seen > before)
		memset(t->seen + before, 0, (t->cap_seen - before) * sizeof *t->seen);
	t->seen[number].count++;
	t->seen[number].total_ns += (double)end_ns - (double)begin_ns;
	return 0;
}

static int keep(struct trace_sink *t, int64_t process, struct trace_kept range)
{
	size_t i;
	int rc = trace_member_of(t, process, &i);
	if (rc)
		return rc;
	struct trace_member *m = &t->members[i];
	if (m->n_kept == m->cap_kept) {
		size_t cap = m->cap_kept ? 2 * m->cap_kept : 64;
		struct trace_kept *more = realloc(m->kept, cap * sizeof *more);
		if (!more)
			return -ENOMEM;
		m->kept = more;
		m->cap_kept = cap;
	}
	m->kept[m->n_kept++] = range;
	return 0;
}

int trace_range_level(struct trace_sink *t, int64_t process, enum trace_level level,
		      struct str name, int64_t begin_ns, int64_t end_ns)
{
	bool region = is_region(t, name), exclude = is_exclude(t, name);
	struct trace_kept range = { .begin_ns = begin_ns, .end_ns = end_ns, .level = (uint8_t)level };
	int rc = 0;
	t->matched[level] += region;
	t->excluded[level] += exclude;
	if (region)
		rc = keep(t, process, range);
	range.exclude = true;
	if (!rc && exclude)
		rc = keep(t, process, range);
	return rc;
}

int trace_range(struct trace_sink *t, int64_t process, struct str name, int64_t begin_ns,
		int64_t end_ns)
{
	t->first_ns = begin_ns < t->first_ns ? begin_ns : t->first_ns;
	int rc = 0;
	if (t->options->range && !t->matched[TRACE_ANNOTATION] && !is_region(t, name))
		rc = see(t, name, begin_ns, end_ns);
	return rc ? rc : trace_range_level(t, process, TRACE_ANNOTATION, name, begin_ns, end_ns);
}

/* ---- whose region --------------------------------------------------------------------------- */

static bool counts(const struct trace_sink *t, const struct trace_kept *k)
{
	return k->level == first_level(k->exclude ? t->excluded : t->matched);
}

static bool has_region(const struct trace_sink *t, const struct trace_member *m)
{
	for (size_t i = 0; i < m->n_kept; i++)
		if (!m->kept[i].exclude && counts(t, &m->kept[i]))
			return true;
	return false;
}

/* The region of --range is a stretch of the trace's time line, and all that its processes did then is
 * in it: mostly one of them annotates, or each by itself. The marks roimeter:roi are each process's
 * own, and hold for the others only where they have none. */
int trace_ranges_into(struct trace_sink *t, struct trace_member *m)
{
	bool own = !t->options->range && has_region(t, m);
	int rc = 0;
	for (size_t i = 0; i < t->n_members && !rc; i++) {
		const struct trace_member *of = &t->members[i];
		if (own && of != m)
			continue;
		for (size_t k = 0; k < of->n_kept && !rc; k++)
			if (counts(t, &of->kept[k]))
				rc = flow_range(m->flow, of->kept[k].exclude,
						of->kept[k].begin_ns, of->kept[k].end_ns);
	}
	return rc;
}
