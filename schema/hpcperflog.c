/* hpcperf-roi-log 2: one line a mark. The two lines of an entry (B and E) are nearly all of a big
 * file, so they have a path of their own that reads eight digits at a time; every other line, and
 * every line that path does not like, goes through line_slow(), which knows all the rules. */
#include "schema/hpcperflog.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "schema/hpcperflog_fast.h"
#include "schema/utf8.h"

#define MAGIC "# hpcperf-roi-log"
#define FORMAT "hpcperf-roi-log 2"
#define KEPT                                                                                       \
	65536 /* entries kept one by one, and the last; memory is bounded whatever the file        \
	       */
#define LATE (INT64_MIN + 1) /* a wall-clock time that stands in reader.late as text */

struct reader {
	struct roi_logs *logs;
	const char *file;
	const char *at, *end;
	size_t line;
	struct err *err;

	struct roi_log *log; /* the process whose lines these are */
	size_t cap;          /* room in log->entries */
	bool open;
	int64_t open_ns;
	struct mark late;           /* the last END, where log->last_end_real is LATE */
	uint64_t early_ns, early_n; /* an x line inside the open entry */
	int64_t last_ns;            /* of the last mark; time never goes back within a process */
	size_t stray_line;          /* an E without a B, 0 for none */
};

bool hpcperflog_is(const void *bytes, size_t n)
{
	return n >= sizeof MAGIC - 1 && memcmp(bytes, MAGIC, sizeof MAGIC - 1) == 0;
}

static int no_memory(struct reader *r)
{
	return err_set(r->err, -ENOMEM, "%s: out of memory at line %zu", r->file, r->line);
}

static int mixed(struct reader *r, const char *what)
{
	return err_set(
		r->err, -EINVAL,
		"%s:%zu: %s: two processes wrote this file at once, and their lines can't be told "
		"apart; give each process a log of its own",
		r->file, r->line, what);
}

/* The first damage is what a person needs to see; the rest follows from it more often than not. */
static int damage(struct reader *r, const char *what)
{
	if (r->log->damage)
		return 0;
	r->log->damage = arena_printf(&r->logs->arena, "line %zu: %s", r->line, what);
	return r->log->damage ? 0 : no_memory(r);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void fold(struct roi_log *log, const struct roi_entry *e)
{
	uint64_t gross = (uint64_t)(e->end_ns - e->begin_ns), net = gross - e->excluded_ns;
	if (!log->folded++ || net < log->folded_min_ns)
		log->folded_min_ns = net;
	if (net > log->folded_max_ns)
		log->folded_max_ns = net;
	log->folded_gross_ns += gross;
	log->folded_excluded_ns += e->excluded_ns;
	log->folded_excludes += e->excludes;
	log->folded_largest_thread_ns += net;
	log->folded_threads = 1;
	log->folded_bins[roi_bin(net)]++;
}

/* The place of the next entry. The last one is folded only when another comes, since its excluded
 * time may still follow. NULL when out of memory. */
static struct roi_entry *next_entry(struct reader *r)
{
	struct roi_log *log = r->log;
	if (log->n_entries > KEPT) {
		fold(log, &log->entries[KEPT]);
		return &log->entries[KEPT];
	}
	if (log->n_entries == r->cap) {
		void *items = arena_grow(&r->logs->arena, log->entries, &r->cap, log->n_entries + 1,
					 sizeof *log->entries);
		if (!items)
			return NULL;
		log->entries = items;
	}
	return &log->entries[log->n_entries++];
}

static int begin(struct reader *r, int64_t ns, int64_t real)
{
	struct roi_log *log = r->log;
	if (ns < r->last_ns)
		return mixed(r, "time goes back");
	if (r->open)
		log->lost_ends++; /* this BEGIN takes the place of the one whose END was lost */
	else
		log->begun++;
	if (log->first_begin_real == ROI_UNKNOWN) {
		log->first_begin_real = real;
		log->first_begin_ns = ns;
	}
	r->open = true;
	r->open_ns = r->last_ns = ns;
	r->early_ns = r->early_n = 0;
	log->marks++;
	return 0;
}

static int end(struct reader *r, int64_t ns, int64_t real)
{
	struct roi_log *log = r->log;
	if (!r->open) {
		if (!r->stray_line)
			r->stray_line = r->line;
		return damage(r, "an END without its BEGIN; it is left out");
	}
	if (ns < r->open_ns)
		return err_set(r->err, -EINVAL,
			       "%s:%zu: the END at %" PRId64 " lies before its BEGIN at %" PRId64,
			       r->file, r->line, ns, r->open_ns);
	if (r->early_ns > (uint64_t)(ns - r->open_ns))
		return err_set(r->err, -EINVAL,
			       "%s:%zu: more time is excluded than the entry lasts", r->file,
			       r->line);
	struct roi_entry *e = next_entry(r);
	if (!e)
		return no_memory(r);
	*e = (struct roi_entry){
		.begin_ns = r->open_ns,
		.end_ns = ns,
		.excluded_ns = r->early_ns,
		.excludes = r->early_n,
	};
	log->last_end_ns = r->last_ns = ns;
	log->last_end_real = real;
	r->open = false;
	log->marks++;
	return 0;
}

/* Counters of a log stay numbers that JSON can hold, whatever a broken file says. */
static uint64_t add_up(uint64_t sum, int64_t more)
{
	return sum > (uint64_t)INT64_MAX - (uint64_t)more ? (uint64_t)INT64_MAX
							  : sum + (uint64_t)more;
}

/* "x total count" follows the E that it belongs to. */
static int exclude(struct reader *r, int64_t total, int64_t count)
{
	struct roi_log *log = r->log;
	log->marks = add_up(add_up(log->marks, count), count);
	if (r->open) {
		r->early_ns = add_up(r->early_ns, total);
		r->early_n = add_up(r->early_n, count);
		return 0;
	}
	if (!log->n_entries)
		return damage(r, "excluded time outside of any entry; it is left out");
	struct roi_entry *e = &log->entries[log->n_entries - 1];
	uint64_t room = (uint64_t)(e->end_ns - e->begin_ns) - e->excluded_ns;
	if ((uint64_t)total > room)
		return err_set(r->err, -EINVAL,
			       "%s:%zu: more time is excluded than the entry lasts", r->file,
			       r->line);
	e->excluded_ns += (uint64_t)total;
	e->excludes = add_up(e->excludes, count);
	return 0;
}

static int unfinished(struct reader *r)
{
	/* A U without an open B comes from a child that inherited the buffer: said all the same. */
	r->log->open++;
	r->open = false;
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int process_end(struct reader *r)
{
	if (!r->log)
		return 0;
	if (r->open)
		(void)unfinished(r);
	if (r->stray_line && r->log->lost_ends) {
		r->line = r->stray_line;
		return mixed(r, "an END without its BEGIN, and elsewhere a BEGIN without its END");
	}
	return 0;
}

static int process_start(struct reader *r, const char *version, size_t n)
{
	int rc = process_end(r);
	if (rc)
		return rc;
	if (n != 1 || *version != '2')
		return err_set(
			r->err, -EINVAL,
			"%s:%zu: hpcperf-roi-log version \"%.*s\" is not known here; version 2 is",
			r->file, r->line, (int)(n < 20 ? n : 20), version);
	r->log = roilogs_add(r->logs, r->file);
	if (!r->log)
		return no_memory(r);
	r->log->format = FORMAT;
	r->log->threads = 1;
	r->cap = 0;
	r->open = false;
	r->last_ns = INT64_MIN;
	r->stray_line = 0;
	return 0;
}

/* ---- the slow path: every rule ----------------------------------------------------------------
 */

struct field_text {
	const char *at;
	size_t n;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cut a line at its blanks; answers how many fields there are, at most max of them kept. */
static size_t split(const char *at, const char *stop, struct field_text *fields, size_t max)
{
	size_t n = 0;
	while (at < stop) {
		if (blank(*at)) {
			at++;
			continue;
		}
		const char *from = at;
		while (at < stop && !blank(*at))
			at++;
		if (n < max)
			fields[n] = (struct field_text){ from, (size_t)(at - from) };
		n++;
	}
	return n;
}

static bool whole_number(const struct field_text *f, int64_t *ret)
{
	uint64_t value = 0;
	if (!f->n || f->n > 19)
		return false;
	for (size_t i = 0; i < f->n; i++) {
		if (f->at[i] < '0' || f->at[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(f->at[i] - '0');
	}
	if (value > INT64_MAX)
		return false;
	*ret = (int64_t)value;
	return true;
}

static int numbers(struct reader *r, const struct field_text *fields, size_t n, size_t wanted,
		   int64_t *ret)
{
	if (n != wanted + 1)
		return err_set(
			r->err, -EINVAL,
			"%s:%zu: a line too %s: \"%.*s\" wants %zu number%s and has %zu field%s",
			r->file, r->line, n < wanted + 1 ? "short" : "long", (int)fields[0].n,
			fields[0].at, wanted, wanted == 1 ? "" : "s", n - 1, n == 2 ? "" : "s");
	for (size_t i = 0; i < wanted; i++)
		if (!whole_number(&fields[i + 1], &ret[i]))
			return err_set(r->err, -EINVAL,
				       "%s:%zu: \"%.*s\" is not a number from 0 to %" PRId64,
				       r->file, r->line,
				       (int)(fields[i + 1].n < 40 ? fields[i + 1].n : 40),
				       fields[i + 1].at, INT64_MAX);
	return 0;
}

/* What a program was called with may be in any encoding; records are UTF-8. */
static const char *clean_text(struct reader *r, const char *text, size_t n)
{
	char *copy = arena_alloc(&r->logs->arena, utf8_clean(NULL, text, n) + 1);
	if (copy)
		(void)utf8_clean(copy, text, n);
	return copy;
}

static int take_argv(struct reader *r, const char *text, size_t n)
{
	const char *clean = clean_text(r, text, n);
	if (!clean)
		return no_memory(r);
	json_t *list = json_loads(clean, 0, NULL);
	size_t count = json_array_size(list);
	const char **items = arena_array(&r->logs->arena, count + 1, sizeof *items);
	bool good = json_is_array(list) && items;
	for (size_t i = 0; good && i < count; i++) {
		items[i] =
			arena_strdup(&r->logs->arena, json_string_value(json_array_get(list, i)));
		good = items[i] != NULL;
	}
	json_decref(list);
	if (good) {
		r->log->argv = (struct txts){ items, count };
		return 0;
	}
	/* The published writer cuts at 64 KiB without a word: not worth losing the measurement. */
	r->log->argv_cut = true;
	return damage(r, "the argument list is cut or not a JSON array of strings; it is left out");
}

static int take_header(struct reader *r, const struct field_text *key, const char *stop,
		       bool *ret_known)
{
	struct roi_log *log = r->log;
	const struct {
		const char *name;
		const char **into;
	} texts[] = { { "pid", &log->pid },
		      { "rank", &log->rank },
		      { "host", &log->host },
		      { "exe", &log->exe },
		      { "cwd", &log->cwd } };
	const char *value = key->at + key->n;
	while (value < stop && blank(*value))
		value++;
	while (stop > value && stop[-1] == '\r')
		stop--;
	size_t n = (size_t)(stop - value);
	*ret_known = true;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (key->n != strlen(texts[i].name) || memcmp(key->at, texts[i].name, key->n))
			continue;
		*texts[i].into = n ? clean_text(r, value, n) : NULL;
		return n && !*texts[i].into ? no_memory(r) : 0;
	}
	if (key->n == 4 && memcmp(key->at, "argv", 4) == 0)
		return take_argv(r, value, n);
	if (key->n == 5 && memcmp(key->at, "clock", 5) == 0) {
		static const char mono[] = "CLOCK_MONOTONIC";
		log->clock = n >= sizeof mono - 1 && !memcmp(value, mono, sizeof mono - 1)
				     ? "monotonic"
				     : NULL;
		return 0;
	}
	*ret_known = false;
	return 0;
}

static int take_mark(struct reader *r, const struct field_text *fields, size_t n)
{
	int64_t v[2];
	int rc = numbers(r, fields, n, 2, v);
	if (rc)
		return rc;
	switch (fields[0].at[0]) {
	case 'B':
		return begin(r, v[0], v[1]);
	case 'E':
		return end(r, v[0], v[1]);
	case 'x':
		return exclude(r, v[0], v[1]);
	default:
		return unfinished(r);
	}
}

static int take_counter(struct reader *r, const struct field_text *fields, size_t n, uint64_t *into)
{
	int64_t v;
	int rc = numbers(r, fields, n, 1, &v);
	if (!rc)
		*into = add_up(*into, v);
	return rc;
}

/* One line without its newline. */
static int line_slow(struct reader *r, const char *at, const char *stop)
{
	if (hpcperflog_is(at, (size_t)(stop - at))) {
		struct field_text version[2];
		size_t n = split(at + sizeof MAGIC - 1, stop, version, 2);
		return process_start(r, n ? version[0].at : "", n == 1 ? version[0].n : 0);
	}
	struct field_text fields[3];
	size_t n = split(at, stop, fields, 3);
	if (!n)
		return 0;
	if (fields[0].n == 1 && memchr("BExU", fields[0].at[0], 4))
		return take_mark(r, fields, n);
	bool header;
	int rc = take_header(r, &fields[0], stop, &header);
	if (rc || header)
		return rc;
	if (fields[0].n == 8 && memcmp(fields[0].at, "overflow", 8) == 0)
		return take_counter(r, fields, n, &r->log->overflow);
	if (fields[0].n == 13 && memcmp(fields[0].at, "unmatched_end", 13) == 0)
		return take_counter(r, fields, n, &r->log->unmatched_end);
	return 0; /* a key of a later writer */
}

/* The last line has no newline: the process was ended while it wrote. It counts when all of it is
 * there. A cut x line takes its entry with it, whose excluded time is not known any more. */
static int line_cut(struct reader *r, const char *at, const char *stop)
{
	struct err *err = r->err;
	struct roi_log *log = r->log;
	r->err = NULL;
	int rc = line_slow(r, at, stop);
	r->err = err;
	/* Of a number that is cut, a tenth is left or less. */
	if (!rc && *at == 'E' && log->last_end_real < log->first_begin_real / 2)
		log->last_end_real = ROI_UNKNOWN;
	if (!rc)
		return 0;
	if (rc == -ENOMEM)
		return no_memory(r);
	if (*at == 'x' && log->n_entries && !r->open) {
		log->n_entries--;
		log->open++;
		return damage(r, "cut while the excluded time of the last entry was written; that "
				 "entry is left out");
	}
	return damage(r, "cut while it was written; it is left out");
}

/* ---- the fast path ----------------------------------------------------------------------- */

static int64_t real_of(const struct mark *m)
{
	int64_t real = ROI_UNKNOWN;
	(void)whole_number(&(struct field_text){ m->real, m->real_n }, &real);
	return real;
}

static inline int fast_take(struct reader *r, char kind, const struct mark *m)
{
	if (kind == 'B')
		return begin(r, m->ns,
			     r->log->first_begin_real == ROI_UNKNOWN ? real_of(m) : ROI_UNKNOWN);
	if (r->open)
		r->late = *m;
	return end(r, m->ns, LATE);
}

static int read_lines(struct reader *r)
{
	struct shape shape = { .end = 0 };
	int rc = 0;
	while (r->at < r->end && !rc) {
		const char *line = r->at;
		struct mark m;
		r->line++;
		const char *next = r->end - line >= FAST_BYTES ? fast_mark(line, &shape, &m) : NULL;
		if (next) {
			r->at = next;
			rc = fast_take(r, *line, &m);
			continue;
		}
		/* The last line of a process always comes by here: it is followed by another
		 * header, or by less than FAST_BYTES. */
		if (r->log && r->log->last_end_real == LATE)
			r->log->last_end_real = real_of(&r->late);
		const char *stop = memchr(line, '\n', (size_t)(r->end - line));
		r->at = stop ? stop + 1 : r->end;
		rc = stop || !r->log ? line_slow(r, line, stop ? stop : r->end)
				     : line_cut(r, line, r->end);
	}
	return rc ? rc : process_end(r);
}

int hpcperflog_parse(struct roi_logs *logs, const char *file, const void *bytes, size_t n,
		     struct err *err)
{
	struct reader r = {
		.logs = logs,
		.file = file,
		.at = bytes,
		.end = (const char *)bytes + n,
		.err = err,
	};
	size_t before = logs->n;
	if (!hpcperflog_is(bytes, n))
		return err_set(err, -EINVAL, "%s:1: not a region log; expected \"" MAGIC " 2\"",
			       file);
	int rc = read_lines(&r);
	if (rc)
		logs->n = before;
	return rc;
}
