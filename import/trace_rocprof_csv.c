/* rocprofv3's CSV: a file for kernels, one for copies, one for markers, one for calls, of each
 * process. What a file is, its first line tells; whose it is, its name: PREFIX_kernel_trace.csv and
 * PREFIX_memory_copy_trace.csv are of one process. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_cursor.h"
#include "import/trace_rocprof_impl.h"
#include "lib/buf.h"

#define FIELDS 64
#define LINE_MAX_BYTES (1 << 20)

/* ---- CSV ------------------------------------------------------------------------------------ */

struct csv {
	const struct roc_bytes *in;
	struct err *err;
	const char *p, *end;
	uint64_t line;     /* where the current record begins, from 1 */
	uint64_t lines;    /* seen so far */
	struct buf text;   /* the fields of one record, each with a NUL after it */
	size_t at[FIELDS]; /* where in text */
	size_t n;
	bool no_end; /* the file ended before the record's line did */
};

static int bad(const struct csv *c, const char *what)
{
	return err_set(c->err, -EINVAL, "%s:%llu: %s", c->in->path, (unsigned long long)c->line,
		       what);
}

/* The next byte, -1 at the end, below it a failure. */
static int take(struct csv *c, int *rc)
{
	if (c->p == c->end) {
		size_t n;
		*rc = c->in->next(c->in->arg, &c->p, &n, c->err);
		c->end = c->p + n;
		if (*rc || !n) {
			c->p = c->end = NULL;
			return *rc ? -2 : -1;
		}
	}
	return (unsigned char)*c->p++;
}

static int start_field(struct csv *c)
{
	if (c->n == FIELDS)
		return bad(c, "over 64 fields: no table of rocprofv3");
	c->at[c->n++] = c->text.len;
	return 0;
}

/* After an opening quote, to the closing one. What follows it is in *ret. */
static int quoted(struct csv *c, int *ret)
{
	int rc = 0;
	for (;;) {
		int b = take(c, &rc);
		if (b == '"') {
			b = take(c, &rc);
			if (b != '"') {
				*ret = b;
				return rc;
			}
		}
		if (b < 0)
			return rc ? rc : bad(c, "the file ends inside a quoted text: it is cut");
		c->lines += b == '\n';
		char one = (char)b;
		buf_put(&c->text, &one, 1);
		if (c->text.len > LINE_MAX_BYTES)
			return bad(c, "a record over 1 MiB");
	}
}

/* One record: 1, or 0 at the end. */
static int record(struct csv *c)
{
	int rc = 0, b;
	c->text.len = 0;
	c->n = 0;
	do { /* empty lines are none */
		c->line = c->lines + 1;
		b = take(c, &rc);
		c->lines += b == '\n';
	} while (b == '\n' || b == '\r');
	if (b < 0)
		return rc;
	rc = start_field(c);
	bool fresh = true; /* nothing of this field yet */
	while (!rc) {
		if (b == '"' && fresh) {
			rc = quoted(c, &b);
			fresh = false;
			continue;
		}
		if (b < -1)
			return rc;
		if (b == ',' || b == '\n' || b == -1) {
			buf_put(&c->text, "", 1);
			fresh = true;
			if (b != ',') {
				c->lines++;
				c->no_end = b == -1;
				return c->text.failed ? err_set(c->err, -ENOMEM, "out of memory")
						      : 1;
			}
			rc = start_field(c);
		} else if (b != '\r') {
			char one = (char)b;
			buf_put(&c->text, &one, 1);
			fresh = false;
			if (c->text.len > LINE_MAX_BYTES)
				return bad(c, "a record over 1 MiB");
		}
		if (!rc)
			b = take(c, &rc);
	}
	return rc;
}

static const char *field(const struct csv *c, int i)
{
	return i >= 0 && (size_t)i < c->n ? c->text.data + c->at[i] : "";
}

/* ---- columns -------------------------------------------------------------------------------- */

enum column { START, END, AGENT, KERNEL, DIRECTION, FROM, TO, BYTES, DOMAIN, FUNCTION, COLUMNS };

static const char *const column_names[COLUMNS] = {
	[START] = "Start_Timestamp",   [END] = "End_Timestamp",   [AGENT] = "Agent_Id",
	[KERNEL] = "Kernel_Name",      [DIRECTION] = "Direction", [FROM] = "Source_Agent_Id",
	[TO] = "Destination_Agent_Id", [BYTES] = "Bytes",         [DOMAIN] = "Domain",
	[FUNCTION] = "Function",
};

enum table { KERNELS, COPIES, REGIONS };

struct roc_csv {
	struct csv csv;
	struct trace_sink *t;
	enum trace_pass pass;
	int columns[COLUMNS]; /* -1: not there */
	size_t width;
	enum table table;
	int64_t process;
	bool calls;
	struct trace_map agents; /* number of an agent: of its device + 1 */
};

static int read_head(struct roc_csv *r)
{
	int rc = record(&r->csv);
	if (rc <= 0)
		return rc ? rc : bad(&r->csv, "an empty file");
	if (r->csv.no_end)
		return bad(&r->csv, "the first line has no end: the file is cut");
	r->width = r->csv.n;
	for (int k = 0; k < COLUMNS; k++) {
		r->columns[k] = -1;
		for (size_t i = 0; i < r->csv.n; i++)
			if (strcasecmp(field(&r->csv, (int)i), column_names[k]) == 0)
				r->columns[k] = (int)i;
	}
	bool has[COLUMNS];
	for (int k = 0; k < COLUMNS; k++)
		has[k] = r->columns[k] >= 0;
	if (has[START] && has[END] && has[KERNEL] && has[AGENT])
		r->table = KERNELS;
	else if (has[START] && has[END] && has[DIRECTION] && has[TO])
		r->table = COPIES;
	else if (has[START] && has[END] && has[DOMAIN] && has[FUNCTION])
		r->table = REGIONS;
	else
		return bad(
			&r->csv,
			"the columns are not those of rocprofv3's kernel_trace, memory_copy_trace, "
			"marker_api_trace or hip_api_trace");
	return 0;
}

static int number(const struct roc_csv *r, enum column k, int64_t *ret)
{
	const char *s = field(&r->csv, r->columns[k]);
	char *end;
	errno = 0;
	*ret = strtoll(s, &end, 10);
	if (!isdigit((unsigned char)*s) || *end || errno || *ret > TRACE_TIME_MAX) {
		char what[96];
		(void)snprintf(what, sizeof what, "%s is not a whole number, or over 146 years",
			       column_names[k]);
		return bad(&r->csv, what);
	}
	return 0;
}

static bool is_kind_and_number(const char *s)
{
	size_t word = strcspn(s, " "), digits = s[word] ? strspn(s + word + 1, "0123456789") : 0;
	return word && word + digits < 32 && digits && !s[word + 1 + digits];
}

/* "Agent 4" since ROCm 7, 4 before, and "GPU 0" where the program was asked to number them by type. */
static int device_of(struct roc_csv *r, enum column k, uint32_t *ret)
{
	const char *s = field(&r->csv, r->columns[k]), *digits = s;
	char *end, name[40], id[40];
	if (strncasecmp(s, "Agent ", 6) == 0)
		digits += 6;
	errno = 0;
	int64_t agent = strtoll(digits, &end, 10);
	if (is_kind_and_number(s) && digits == s)
		return trace_device(r->t, s, s, ret);
	if (!isdigit((unsigned char)*digits) || *end || errno)
		return bad(&r->csv, "an agent is neither a number nor a kind with a number");
	uint64_t known = trace_map_get(&r->agents, agent, 0);
	*ret = (uint32_t)(known - 1);
	if (known)
		return 0;
	(void)snprintf(name, sizeof name, "Agent %lld", (long long)agent);
	(void)snprintf(id, sizeof id, "agent%lld", (long long)agent);
	int rc = trace_device(r->t, name, id, ret);
	return rc ? rc : trace_map_put(&r->agents, agent, 0, (uint64_t)*ret + 1);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int kernel(struct roc_csv *r, int64_t begin, int64_t end)
{
	uint32_t device, name;
	struct str text = str_of(field(&r->csv, r->columns[KERNEL]));
	int rc = device_of(r, AGENT, &device);
	if (!rc)
		rc = trace_name(r->t, text.n ? text : str_of("(no name)"), &name);
	return rc ? rc
		  : trace_op(r->t, r->process, device, kernel_category(text), name, begin, end,
			     NAN);
}

static int copy(struct roc_csv *r, int64_t begin, int64_t end)
{
	struct str text = str_of(field(&r->csv, r->columns[DIRECTION]));
	enum category category = roc_copy_named(text);
	uint32_t device, name;
	double bytes = NAN;
	int64_t n;
	bool away = category == COPY_D2H && r->columns[FROM] >= 0;
	/* Between two devices is no copy inside one. */
	if (category == COPY_D2D && r->columns[FROM] >= 0 &&
	    strcmp(field(&r->csv, r->columns[FROM]), field(&r->csv, r->columns[TO])) != 0)
		category = COPY_OTHER;
	int rc = device_of(r, away ? FROM : TO, &device);
	if (!rc && r->columns[BYTES] >= 0) {
		rc = number(r, BYTES, &n);
		bytes = (double)n;
	}
	if (!rc)
		rc = trace_name(r->t, text.n ? text : str_of("(copy)"), &name);
	return rc ? rc : trace_op(r->t, r->process, device, category, name, begin, end, bytes);
}

static int region(struct roc_csv *r, int64_t begin, int64_t end)
{
	const char *domain = field(&r->csv, r->columns[DOMAIN]);
	struct str name = str_of(field(&r->csv, r->columns[FUNCTION]));
	bool hip = strncmp(domain, "HIP_RUNTIME_API", 15) == 0 || strcmp(domain, "HIP_API") == 0;
	if (r->pass == TRACE_RANGES) {
		r->calls |= hip;
		return strncmp(domain, "MARKER", 6) == 0
			       ? trace_range(r->t, r->process, name, begin, end)
			       : 0;
	}
	return hip ? trace_call(r->t, r->process, begin, end, sync_call(CALL_HIP, name)) : 0;
}

/* Some write no end behind the last line. A time that was cut is shorter, and so lies before the begin,
 * if that is no time just after the machine's start. */
static bool may_be_cut(const struct roc_csv *r, int64_t begin, int64_t end)
{
	return r->columns[END] + 1 == (int)r->width && (end < begin || begin < 1000000000);
}

static int rows(struct roc_csv *r)
{
	int rc;
	while ((rc = record(&r->csv)) > 0) {
		int64_t begin, end;
		if (r->csv.n != r->width) {
			char what[96];
			(void)snprintf(what, sizeof what,
				       "%zu fields, but the first line has %zu%s", r->csv.n,
				       r->width,
				       r->csv.n < r->width ? ": the file may be cut" : "");
			return bad(&r->csv, what);
		}
		rc = number(r, START, &begin);
		if (!rc)
			rc = number(r, END, &end);
		if (!rc && r->csv.no_end && may_be_cut(r, begin, end))
			return bad(&r->csv, "the last line has no end: the file is cut");
		if (!rc)
			rc = r->table == KERNELS  ? kernel(r, begin, end)
			     : r->table == COPIES ? copy(r, begin, end)
						  : region(r, begin, end);
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* What stands before the kind of the file, with the folder, is the process. Without a kind: all of it. */
static size_t prefix_of(const char *path, bool *ret_kind)
{
	static const char *const kinds[] = { "kernel_trace", "memory_copy_trace",
					     "marker_api_trace", "hip_api_trace" };
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	*ret_kind = false;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *at = strstr(base, kinds[i]);
		if (at) {
			*ret_kind = true;
			return (size_t)(at - path);
		}
	}
	return strlen(path);
}

bool roc_csv_same(const char *path, const char *other)
{
	bool kind, other_kind;
	size_t n = prefix_of(path, &kind), k = prefix_of(other, &other_kind);
	return kind && other_kind && n == k && memcmp(path, other, n) == 0 && strstr(path + n, ".csv") &&
	       strstr(other + n, ".csv");
}

/* A number there is its pid. */
static int tell_process(struct roc_csv *r, const char *path)
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	bool kind;
	size_t n = prefix_of(path, &kind);
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)path[i]) * 0x100000001b3u;
	r->process = (int64_t)(hash >> 2);
	char pid[24];
	size_t digits = strspn(base, "0123456789");
	bool plain = digits && digits < sizeof pid && base[digits] == '_' &&
		     base + digits + 1 == path + n;
	(void)snprintf(pid, sizeof pid, "%.*s", (int)(plain ? digits : 0), base);
	return trace_process(r->t, r->process, NULL, plain ? pid : NULL, NULL, NULL);
}

static int whole(struct roc_csv *r, const char *path)
{
	int rc = read_head(r);
	if (!rc)
		rc = tell_process(r, path);
	if (rc)
		return rc;
	if (r->pass == TRACE_RANGES) {
		rc = trace_runtime(r->t, "hip");
		if (!rc && r->table != REGIONS)
			return trace_observes(r->t, r->table == KERNELS ? ROC_KERNELS : ROC_COPIES);
	}
	if (!rc)
		rc = rows(r);
	return !rc && r->calls ? trace_calls_seen(r->t) : rc;
}

bool roc_csv_is(const char *head, size_t n)
{
	const char *end = memchr(head, '\n', n);
	size_t line = end ? (size_t)(end - head) : n;
	return memmem(head, line, "Start_Timestamp", 15) && memmem(head, line, "End_Timestamp", 13);
}

int roc_csv_read(const struct roc_bytes *in, enum trace_pass pass, struct trace_sink *t,
		 struct err *err)
{
	if (pass == TRACE_ORDERED)
		return -ENOTSUP;
	struct roc_csv r = { .csv = { .in = in, .err = err }, .t = t, .pass = pass };
	int rc = in->rewind(in->arg, err);
	if (!rc)
		rc = whole(&r, in->path);
	buf_done(&r.csv.text);
	trace_map_done(&r.agents);
	if (rc == -ENOMEM)
		(void)err_set(err, rc, "out of memory");
	return rc;
}
