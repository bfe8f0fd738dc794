/* What a definition finds in the files of one execution. Whatever is not exactly as the definition
 * has it makes the timer missing, with the place: a time that is nearly right is worse than none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "timer/def.h"
#include "timer/number.h"
#include "timer/text.h"

#define MAX_PARTS 200

enum found { FOUND, ABSENT, BROKEN }; /* ABSENT and BROKEN come with a sentence in why */

struct reading {
	const struct timer_def *def;
	struct arena *arena;
	const struct timer_file *files;
	size_t n_files;
	struct timer_result *ret;
	size_t parts_room;
	char why[512];
};

static enum found say(struct reading *r, enum found answer, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static enum found say(struct reading *r, enum found answer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vsnprintf(r->why, sizeof r->why, format, args);
	va_end(args);
	return answer;
}

/* ---- files
 * ----------------------------------------------------------------------------------------- */

bool timer_file_matches(const char *glob, const char *path)
{
	/* run.log is the output itself: no other file is it, and no glob means it. */
	if (strcmp(glob, "run.log") == 0 || strcmp(path, "run.log") == 0)
		return strcmp(path, glob) == 0;
	const char *tail = path + strlen(path);
	for (int slashes = 0; tail > path; tail--) {
		if (tail[-1] != '/')
			continue;
		int wanted = 0;
		for (const char *p = glob; *p; p++)
			wanted += *p == '/';
		if (slashes++ == wanted)
			break;
	}
	return fnmatch(glob, tail, FNM_PATHNAME) == 0;
}

static enum found find_file(struct reading *r, const char *glob, const struct timer_file **ret)
{
	size_t hits = 0;
	const struct timer_file *first = NULL;
	for (size_t i = 0; i < r->n_files; i++) {
		if (!timer_file_matches(glob, r->files[i].name))
			continue;
		if (hits++ == 0)
			*ret = first = &r->files[i];
		else
			(void)say(r, ABSENT, "%zu files match %s (%s, %s), and one is wanted", hits,
				  glob, first->name, r->files[i].name);
	}
	if (hits == 0)
		return say(r, ABSENT, "there is no file %s", glob);
	return hits == 1 ? FOUND : BROKEN;
}

/* ---- the part of the text that counts ----------------------------------------------------------
 */

struct range {
	const struct timer_file *file;
	size_t begin, end;
	long indent; /* of lines that count; -1: any */
};

static size_t line_of(const struct timer_file *f, size_t at)
{
	size_t line = 1;
	for (const char *p = f->text; (p = memchr(p, '\n', (size_t)(f->text + at - p))); p++)
		line++;
	return line;
}

static size_t line_begin(const char *text, size_t at)
{
	while (at && text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_after(const char *text, size_t end, size_t at)
{
	const char *p = at < end ? memchr(text + at, '\n', end - at) : NULL;
	return p ? (size_t)(p - text) + 1 : end;
}

static long indentation(const char *text, size_t end, size_t at)
{
	size_t n = at;
	while (n < end && text[n] == ' ')
		n++;
	return (long)(n - at);
}

static bool blank(const char *text, size_t end, size_t at)
{
	while (at < end && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
		at++;
	return at >= end || text[at] == '\n';
}

static enum found too_costly(struct reading *r, const struct timer_file *f)
{
	return say(r, BROKEN, "%s: a limit of the pattern search was reached", f->name);
}

/* From behind the line that matches. */
static enum found narrow_from(struct reading *r, const struct timer_term *t, struct range *g)
{
	struct pattern_hit hit;
	size_t at = g->begin, found = PATTERN_UNSET;
	int rc;
	while ((rc = pattern_search(t->scope.from, g->file->text, g->end, at, &hit)) == 1) {
		found = hit.end[0];
		if (t->scope.from_first)
			break;
		at = pattern_after(&hit);
	}
	if (rc < 0)
		return too_costly(r, g->file);
	if (found == PATTERN_UNSET)
		return say(r, ABSENT, "%s does not have the block where the time stands",
			   g->file->name);
	g->begin = line_after(g->file->text, g->end, found);
	return FOUND;
}

/* The lines under the one that matches, as long as they are indented more than it. */
static enum found narrow_below(struct reading *r, const struct timer_term *t, struct range *g)
{
	struct pattern_hit hit;
	size_t at = g->begin, found = 0, hits = 0;
	int rc;
	while ((rc = pattern_search(t->scope.below, g->file->text, g->end, at, &hit)) == 1) {
		found = hit.begin[0];
		hits++;
		at = pattern_after(&hit);
	}
	if (rc < 0)
		return too_costly(r, g->file);
	if (hits != 1)
		return say(
			r, ABSENT,
			"%s has %zu lines for the block where the time stands, and one is wanted",
			g->file->name, hits);
	const char *text = g->file->text;
	size_t begin = line_begin(text, found), end;
	long own = indentation(text, g->end, begin);
	begin = end = line_after(text, g->end, found);
	if (t->scope.children)
		g->indent = indentation(text, g->end, begin);
	while (end < g->end && !blank(text, g->end, end) && indentation(text, g->end, end) > own)
		end = line_after(text, g->end, end);
	g->begin = begin;
	g->end = end;
	return FOUND;
}

static enum found range_of(struct reading *r, const struct timer_term *t, struct range *g)
{
	*g = (struct range){ .indent = -1 };
	enum found f = find_file(r, t->file, &g->file);
	if (f != FOUND)
		return f;
	g->end = g->file->text ? g->file->n : 0;
	if (t->scope.from)
		f = narrow_from(r, t, g);
	struct pattern_hit hit;
	if (f == FOUND && t->scope.until && g->begin <= g->end) {
		int rc = pattern_search(t->scope.until, g->file->text, g->end, g->begin, &hit);
		if (rc < 0)
			return too_costly(r, g->file);
		if (rc == 1)
			g->end = hit.begin[0];
	}
	return f == FOUND && t->scope.below ? narrow_below(r, t, g) : f;
}

/* ---- terms
 * ----------------------------------------------------------------------------------------- */

static enum found value_of(struct reading *r, const struct timer_term *t, const struct range *g,
			   const struct pattern_hit *hit, double *ret)
{
	unsigned v = t->value_group;
	const char *text = hit->begin[v] == PATTERN_UNSET ? "" : g->file->text + hit->begin[v];
	size_t n = hit->begin[v] == PATTERN_UNSET ? 0 : hit->end[v] - hit->begin[v];
	enum metric_status s =
		t->clock ? number_parse_clock(text, n, ret) : number_parse(text, n, ret);
	if (s == METRIC_OK && *ret >= 0) {
		*ret = number_scale(*ret, t->exponent);
		return FOUND;
	}
	const char *what = s == METRIC_OK           ? "is negative"
			   : s == METRIC_OVERFLOWED ? "did not fit into its field"
						    : "is not a number";
	return say(r, BROKEN, "%s:%zu: \"%.*s\" %s", g->file->name, line_of(g->file, hit->begin[0]),
		   (int)(n < 40 ? n : 40), text, what);
}

struct tally {
	size_t hits;
	double sum, first, last;
	struct pattern_hit first_hit, last_hit;
};

static bool counts(const struct range *g, const struct pattern_hit *hit)
{
	const char *text = g->file->text;
	return g->indent < 0 ||
	       indentation(text, g->end, line_begin(text, hit->begin[0])) == g->indent;
}

/* All matches, in one pass. A sum looks at each value, since one that is skipped would be missed.
 */
static enum found gather(struct reading *r, const struct timer_term *t, const struct range *g,
			 struct tally *ret)
{
	struct pattern_hit hit;
	size_t at = g->begin, skip = t->skip;
	long double sum = 0;
	int rc;
	while ((rc = pattern_search(t->pattern, g->file->text, g->end, at, &hit)) == 1) {
		at = pattern_after(&hit);
		if (!counts(g, &hit))
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (ret->hits++ == 0)
			ret->first_hit = hit;
		ret->last_hit = hit;
		if (t->take != TAKE_SUM)
			continue;
		double value;
		if (value_of(r, t, g, &hit, &value) != FOUND)
			return BROKEN;
		sum += (long double)value;
	}
	ret->sum = num15((double)sum);
	return rc < 0 ? too_costly(r, g->file) : FOUND;
}

static enum found term_value(struct reading *r, const struct timer_term *t, double *ret)
{
	*ret = t->constant;
	if (known(t->constant))
		return FOUND;
	struct range g;
	struct tally all = { 0 };
	enum found f = range_of(r, t, &g);
	if (f == FOUND)
		f = gather(r, t, &g, &all);
	if (f == FOUND && t->take == TAKE_COUNT) {
		*ret = (double)all.hits;
		return FOUND;
	}
	if (f == FOUND && !all.hits)
		f = say(r, ABSENT, "%s has no line that matches '%s'%s%s", g.file->name, t->text,
			t->missing ? "; " : "", t->missing ? t->missing : "");
	if (f == ABSENT && known(t->if_absent)) {
		*ret = t->if_absent;
		return FOUND;
	}
	if (f != FOUND)
		return f;
	if (t->take == TAKE_ONLY && all.hits != 1)
		return say(r, BROKEN, "%s has %zu lines that match '%s', and one is wanted",
			   g.file->name, all.hits, t->text);
	if (t->take == TAKE_SUM) {
		*ret = all.sum;
		return FOUND;
	}
	return value_of(r, t, &g, t->take == TAKE_FIRST ? &all.first_hit : &all.last_hit, ret);
}

/* Terms that add up, those with subtract: true taken away. */
static enum found terms_sum(struct reading *r, const struct timer_terms *terms, double *ret)
{
	long double sum = 0;
	for (size_t i = 0; i < terms->n; i++) {
		double value;
		enum found f = term_value(r, &terms->items[i], &value);
		if (f != FOUND)
			return f;
		sum += terms->items[i].subtract ? -(long double)value : (long double)value;
	}
	*ret = num15((double)sum);
	return FOUND;
}

/* ---- parts
 * ----------------------------------------------------------------------------------------- */

static void add_part(struct reading *r, const char *name, size_t n, double seconds)
{
	struct timer_result *ret = r->ret;
	if (ret->n_parts >= MAX_PARTS)
		return;
	char *copy = text_clean(r->arena, name, n);
	for (size_t i = 0; copy && i < ret->n_parts; i++)
		if (strcmp(ret->parts[i].name, copy) == 0)
			return;
	struct timer_part *parts =
		arena_grow(r->arena, ret->parts, &r->parts_room, ret->n_parts + 1, sizeof *parts);
	if (!copy || !parts)
		return;
	ret->parts = parts;
	ret->parts[ret->n_parts++] = (struct timer_part){ .name = copy, .seconds = seconds };
}

static void each_part(struct reading *r, const struct timer_term *t)
{
	struct range g;
	struct pattern_hit hit;
	if (range_of(r, t, &g) != FOUND)
		return;
	size_t at = g.begin;
	while (pattern_search(t->pattern, g.file->text, g.end, at, &hit) == 1) {
		double value;
		at = pattern_after(&hit);
		size_t begin = hit.begin[t->name_group];
		if (counts(&g, &hit) && begin != PATTERN_UNSET &&
		    value_of(r, t, &g, &hit, &value) == FOUND)
			add_part(r, g.file->text + begin, hit.end[t->name_group] - begin, value);
	}
}

/* Parts are context: one that can't be read is left out. */
static void read_parts(struct reading *r)
{
	for (size_t i = 0; i < r->def->parts.n; i++) {
		const struct timer_term *t = &r->def->parts.items[i];
		double value;
		if (t->take == TAKE_EACH)
			each_part(r, t);
		else if (term_value(r, t, &value) == FOUND)
			add_part(r, t->name, strlen(t->name), value);
	}
}

/* ---- completeness
 * ---------------------------------------------------------------------------------- */

static enum found consecutive(struct reading *r, const struct timer_term *t)
{
	struct range g;
	struct pattern_hit hit;
	enum found f = range_of(r, t, &g);
	if (f != FOUND)
		return f;
	double before = NAN;
	size_t at = g.begin;
	int rc;
	while ((rc = pattern_search(t->pattern, g.file->text, g.end, at, &hit)) == 1) {
		double value;
		if (value_of(r, t, &g, &hit, &value) != FOUND)
			return BROKEN;
		if (known(before) && value != before + 1)
			return say(r, BROKEN, "%s:%zu: %.15g comes after %.15g", g.file->name,
				   line_of(g.file, hit.begin[0]), value, before);
		before = value;
		at = pattern_after(&hit);
	}
	return rc < 0 ? too_costly(r, g.file) : FOUND;
}

static enum found two_values(struct reading *r, const struct timer_condition *c)
{
	double a, b;
	enum found f = term_value(r, &c->a, &a);
	if (f == FOUND)
		f = term_value(r, &c->b, &b);
	if (f != FOUND)
		return BROKEN;
	if (c->check == CHECK_EQUAL ? a == b : a >= b)
		return FOUND;
	return say(r, BROKEN, "%.15g %s %.15g", a,
		   c->check == CHECK_EQUAL ? "is not" : "is less than", b);
}

static enum found holds(struct reading *r, const struct timer_condition *c)
{
	double count;
	if (c->has_when && (term_value(r, &c->when, &count) != FOUND || count == 0))
		return FOUND;
	if (c->check == CHECK_EQUAL || c->check == CHECK_NO_LESS)
		return two_values(r, c);
	if (c->check == CHECK_CONSECUTIVE)
		return consecutive(r, &c->a);
	enum found f = term_value(r, &c->a, &count);
	if (f != FOUND)
		return BROKEN;
	if ((count > 0) == (c->check == CHECK_PRESENT))
		return FOUND;
	return say(r, BROKEN, "'%s' is %s", c->a.text, count > 0 ? "there" : "not there");
}

/* ---- all of it
 * ------------------------------------------------------------------------------------- */

static void missing(struct reading *r, const char *verdict, const char *reason)
{
	struct timer_result *ret = r->ret;
	*ret = (struct timer_result){
		.rc = -ENOENT, .wall_s = NAN, .steps = NAN, .excluded_s = NAN, .setup_s = NAN
	};
	char *why =
		arena_printf(r->arena, "%s: %s: %s%s%s%s", r->def->title, verdict,
			     reason ? reason : "", reason ? " (" : "", r->why, reason ? ")" : "");
	if (why)
		why = text_clean(r->arena, why, strlen(why)); /* it may cite the output */
	ret->why = why ? why : "the timer is missing, and memory is, too";
}

static void read_context(struct reading *r)
{
	struct timer_result *ret = r->ret;
	const struct timer_def *d = r->def;
	/* The first that is there. A count of 0 lines in a run with a region only says that this
	 * output does not tell its steps; a 0 that the program prints is one. */
	for (size_t i = 0; i < d->steps.n && !known(ret->steps); i++) {
		const struct timer_term *t = &d->steps.items[i];
		if (term_value(r, t, &ret->steps) != FOUND ||
		    (t->take == TAKE_COUNT && ret->steps == 0))
			ret->steps = NAN;
	}
	if (d->excluded.n && terms_sum(r, &d->excluded, &ret->excluded_s) != FOUND)
		ret->excluded_s = NAN;
	if (d->setup.n && terms_sum(r, &d->setup, &ret->setup_s) != FOUND)
		ret->setup_s = NAN;
	read_parts(r);
}

void timer_read(const struct timer_def *def, struct arena *a, const struct timer_file *files,
		size_t n, struct timer_result *ret)
{
	struct reading r = { .def = def, .arena = a, .files = files, .n_files = n, .ret = ret };
	*ret = (struct timer_result){
		.wall_s = NAN, .steps = NAN, .excluded_s = NAN, .setup_s = NAN
	};
	for (size_t i = 0; i < def->n_patterns; i++)
		pattern_restart(def->patterns[i]);
	double wall;
	if (terms_sum(&r, &def->region, &wall) != FOUND) {
		missing(&r, "the timer is missing", NULL);
		return;
	}
	for (size_t i = 0; i < def->n_conditions; i++)
		if (holds(&r, &def->conditions[i]) != FOUND) {
			missing(&r, "the run is incomplete", def->conditions[i].why);
			return;
		}
	if (wall < 0) {
		(void)say(&r, BROKEN, "what is left out is longer than the whole");
		missing(&r, "the timer is missing", NULL);
		return;
	}
	ret->wall_s = wall;
	read_context(&r);
}
