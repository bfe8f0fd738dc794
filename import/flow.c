/* Bandwidths of other tools, as volumes. What a file calls total_bytes is not looked at: it is
 * rounded, and of the whole, where the pieces may be a part. */
#define _GNU_SOURCE
#include "import/flow.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/file.h"

#define FILE_BYTES ((size_t)1 << 30)
#define MIB 1048576.0
#define TIME_LIMIT 1e15

/* what: where in the file this is, for a sentence. A bandwidth may be below nothing by a rounding
 * of sums that came to nothing again; half a byte a second is none. */
static int add(struct flow *f, enum flow_direction d, double begin_s, double end_s,
	       double bytes_per_s, const char *path, const char *what, size_t i, struct err *err)
{
	if (bytes_per_s < 0 && bytes_per_s > -0.5)
		bytes_per_s = 0;
	if (!(fabs(begin_s) < TIME_LIMIT) || !(fabs(end_s) < TIME_LIMIT) || !(bytes_per_s >= 0) ||
	    !isfinite(bytes_per_s) || end_s < begin_s)
		return err_set(err, -EINVAL, "%s: %s %zu: from %g s to %g s at %g B/s is no flow",
			       path, what, i + 1, begin_s, end_s, bytes_per_s);
	int rc = flow_add(f, d,
			  (struct period_piece){ begin_s, end_s, bytes_per_s * (end_s - begin_s) });
	return rc ? err_set(err, rc, "out of memory") : 0;
}

/* ---- three lists --------------------------------------------------------------------------------
 */

struct lists {
	const json_t *speed, *begin, *end;
	double speed_unit, time_unit;
};

static int add_lists(struct flow *f, enum flow_direction d, const struct lists *l, const char *path,
		     const char *what, struct err *err)
{
	size_t n = json_array_size(l->speed);
	if (!json_is_array(l->speed) || !json_is_array(l->begin) || !json_is_array(l->end) ||
	    json_array_size(l->begin) != n || json_array_size(l->end) != n)
		return err_set(err, -EINVAL,
			       "%s: %s: bandwidths, begins and ends must be lists of one length",
			       path, what);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(l->speed, i), *b = json_array_get(l->begin, i),
			     *e = json_array_get(l->end, i);
		if (!json_is_number(v) || !json_is_number(b) || !json_is_number(e))
			return err_set(err, -EINVAL, "%s: %s %zu is no number", path, what, i + 1);
		int rc = add(f, d, json_number_value(b) * l->time_unit,
			     json_number_value(e) * l->time_unit,
			     json_number_value(v) * l->speed_unit, path, what, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* What TMIO calls _b is the bandwidth that would have been needed; _t is what was. */
static int take_tmio(struct flow *f, const json_t *top, const char *path, size_t *known,
		     struct err *err)
{
	static const struct {
		const char *mode;
		enum flow_direction d;
	} modes[] = {
		{ "read_sync", FLOW_READ },
		{ "read_async_t", FLOW_READ },
		{ "write_sync", FLOW_WRITE },
		{ "write_async_t", FLOW_WRITE },
	};
	int rc = 0;
	for (size_t i = 0; i < sizeof modes / sizeof *modes && !rc; i++) {
		const json_t *at =
			json_object_get(json_object_get(top, modes[i].mode), "bandwidth");
		if (!at)
			continue;
		const struct lists l = { .speed = json_object_get(at, "b_rank_avr"),
					 .begin = json_object_get(at, "t_rank_s"),
					 .end = json_object_get(at, "t_rank_e"),
					 .speed_unit = 1,
					 .time_unit = 1 };
		rc = add_lists(f, modes[i].d, &l, path, modes[i].mode, err);
		(*known)++;
	}
	return rc;
}

static int take_named_lists(struct flow *f, const json_t *top, const char *path, size_t *known,
			    struct err *err)
{
	const struct lists l = { .speed = json_object_get(top, "avg_thruput_mib"),
				 .begin = json_object_get(top, "start_t_micro"),
				 .end = json_object_get(top, "end_t_micro"),
				 .speed_unit = MIB,
				 .time_unit = 1e-6 };
	if (!l.speed && !l.begin && !l.end)
		return 0;
	(*known)++;
	return add_lists(f, FLOW_EITHER, &l, path, "avg_thruput_mib", err);
}

static int take_json(struct flow *f, const struct buf *b, const char *path, struct err *err)
{
	size_t at = 0, known = 0;
	unsigned line = 0;
	int rc = 0;
	for (;;) {
		while (at < b->len && memchr(" \t\r\n", b->data[at], 4))
			line += b->data[at++] == '\n';
		if (at == b->len || rc)
			break;
		json_error_t e;
		json_t *json = json_loadb(b->data + at, b->len - at,
					  JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &e);
		if (!json)
			return err_set(err, -EINVAL, "%s:%u:%d: not JSON: %s", path,
				       line + (unsigned)e.line, e.column, e.text);
		size_t next = at + (size_t)e.position;
		for (; at < next; at++)
			line += b->data[at] == '\n';
		rc = take_tmio(f, json, path, &known, err);
		if (!rc)
			rc = take_named_lists(f, json, path, &known, err);
		json_decref(json);
	}
	if (!rc && !known)
		rc = err_set(err, -EINVAL,
			     "%s has neither modes of TMIO (write_sync, ...) nor the lists "
			     "avg_thruput_mib, "
			     "start_t_micro, end_t_micro",
			     path);
	return rc;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

/* "name: [1,0500,2.5]": numbers may begin with zeros, which JSON's may not. */
static json_t *list_of_line(const char *p, const char *end)
{
	json_t *list = json_array();
	while (list && p < end && *p != ']') {
		char *after;
		double x = strtod(p, &after);
		if (after == p || after > end || !isfinite(x) ||
		    json_array_append_new(list, json_real(x))) {
			json_decref(list);
			return NULL;
		}
		p = after;
		while (p < end && (*p == ' ' || *p == ','))
			p++;
	}
	return list;
}

static int take_text_line(json_t *top, const char *p, const char *end, const char *path,
			  unsigned line, struct err *err)
{
	static const char *const names[] = { "avg_thruput_mib", "start_t_micro", "end_t_micro" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);
		if ((size_t)(end - p) <= n || memcmp(p, names[i], n) != 0 || p[n] != ':')
			continue;
		const char *open = memchr(p, '[', (size_t)(end - p));
		json_t *list = open && memchr(open, ']', (size_t)(end - open))
				       ? list_of_line(open + 1, end)
				       : NULL;
		if (!list || json_object_set_new(top, names[i], list))
			return err_set(err, -EINVAL,
				       "%s:%u: %s: [NUMBER,...] on one line is expected", path,
				       line, names[i]);
	}
	return 0;
}

static int take_text(struct flow *f, const struct buf *b, const char *path, struct err *err)
{
	json_t *top = json_object();
	int rc = top ? 0 : err_set(err, -ENOMEM, "out of memory");
	unsigned line = 0;
	size_t known = 0;
	for (const char *p = b->data, *end = p + b->len, *next; p < end && !rc; p = next) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		next = newline ? newline + 1 : end;
		rc = take_text_line(top, p, newline ? newline : end, path, ++line, err);
	}
	if (!rc)
		rc = take_named_lists(f, top, path, &known, err);
	json_decref(top);
	if (!rc && !known)
		rc = err_set(err, -EINVAL,
			     "%s is no flow: JSON of TMIO, lists by name, or CSV of time and "
			     "bandwidth is "
			     "expected; see docs/period.md",
			     path);
	return rc;
}

/* ---- CSV ----------------------------------------------------------------------------------------
 */

/* 1: two numbers; 0: a comment, a title, nothing; negative: neither. */
static int csv_line(const char *p, const char *end, bool first, double *ret_time, double *ret_speed)
{
	char *after, *last;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == end || *p == '#' || *p == '\r')
		return 0;
	*ret_time = strtod(p, &after);
	if (after == p)
		return first ? 0 : -EINVAL;
	if (after >= end || *after != ',')
		return -EINVAL;
	*ret_speed = strtod(after + 1, &last);
	if (last == after + 1 || last > end)
		return -EINVAL;
	while (last < end && (*last == ' ' || *last == '\r'))
		last++;
	return last == end ? 1 : -EINVAL;
}

static int take_csv(struct flow *f, const struct buf *b, const char *path, struct err *err)
{
	double time = 0, speed = 0, t, v;
	unsigned line = 0;
	size_t n = 0;
	for (const char *p = b->data, *end = p + b->len, *next; p < end; p = next) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		next = newline ? newline + 1 : end;
		int is = csv_line(p, newline ? newline : end, line++ == 0, &t, &v);
		if (is < 0)
			return err_set(err, -EINVAL,
				       "%s:%u: time,bandwidth is expected: two numbers", path,
				       line);
		if (is == 0)
			continue;
		if (n && t < time)
			return err_set(err, -EINVAL, "%s:%u: %g s is before the line above", path,
				       line, t);
		int rc = n ? add(f, FLOW_EITHER, time, t, speed, path, "line", line - 2, err) : 0;
		if (rc)
			return rc;
		time = t;
		speed = v;
		n++;
	}
	if (n < 2)
		return err_set(err, -EINVAL, "%s has fewer than two lines of time,bandwidth", path);
	return 0;
}

/* The first line that is no comment: two values with a comma between them, and no list. */
static bool is_csv(const struct buf *b)
{
	const char *p = b->data, *end = p + b->len;
	while (p < end && (*p == '#' || *p == '\n' || *p == '\r')) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return false;
		p++;
	}
	const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);
	return memchr(p, ',', n) && !memchr(p, '[', n) && !memchr(p, '{', n);
}

int flow_read_file(struct flow *f, const char *path, struct err *err)
{
	struct buf b = { .max = FILE_BYTES };
	int rc = file_read(&b, path, err);
	size_t at = 0;
	while (!rc && at < b.len && memchr(" \t\r\n", b.data[at], 4))
		at++;
	if (!rc && at == b.len)
		rc = err_set(err, -EINVAL, "%s is empty", path);
	else if (!rc && memchr(b.data, 0, b.len))
		rc = err_set(err, -EINVAL,
			     "%s is no text: a flow is JSON, lists by name or CSV; see "
			     "docs/period.md",
			     path);
	else if (!rc && (b.data[at] == '{' || b.data[at] == '['))
		rc = take_json(f, &b, path, err);
	else if (!rc && is_csv(&b))
		rc = take_csv(f, &b, path, err);
	else if (!rc)
		rc = take_text(f, &b, path, err);
	buf_done(&b);
	return rc;
}
