/* Executions as lines and bytes, and back. */
#define _GNU_SOURCE
#include "run/journal_text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/num.h"
#include "schema/codec.h"

#define JOURNAL_VERSION 1
#define PACK_LEVEL 1
#define BLOB_MAX ((size_t)256 << 20) /* unpacked: what a damaged number may ask for */
#define BLOB_ROW 'R'

/* ---- out ---- */

static void put_line(struct buf *b, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	if (text) {
		buf_puts(b, text);
		buf_puts(b, "\n");
	} else {
		b->failed = true;
	}
	free(text);
	json_decref(line);
}

void journal_put_head(struct buf *b, const struct journal_case *cases, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:s,s:s,s:s,s:b,s:b,s:b}", "app", cases[i].app, "case",
				  cases[i].name, "fingerprint", cases[i].fingerprint, "run_id",
				  cases[i].run_id, "stored", cases[i].stored, "interrupted",
				  cases[i].interrupted, "resumed", cases[i].resumed));
	put_line(b, json_pack("{s:i,s:o}", "journal", JOURNAL_VERSION, "cases", list));
}

/* NAN is null. */
static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *text(const char *s)
{
	return s ? json_stringn_nocheck(s, strlen(s)) : json_null();
}

/* The row goes the way of all records: as a record that has only this. */
static int row_bytes(struct buf *b, const struct execution *row)
{
	struct record rec;
	struct execution copy = *row;
	record_init(&rec);
	rec.body.executions.items = &copy;
	rec.body.executions.n = 1;
	int rc = block_clean(&rec.arena, &execution_block, &copy);
	if (!rc)
		record_put(b, &rec);
	record_done(&rec);
	return rc || b->failed ? -ENOMEM : 0;
}

static int pack(json_t *list, struct buf *bytes, char kind, const char *name, const void *data,
		size_t n)
{
	size_t room = ZSTD_compressBound(n);
	char *packed = malloc(room ? room : 1), letter[2] = { kind, 0 };
	if (!packed)
		return -ENOMEM;
	size_t size = ZSTD_compress(packed, room, data, n, PACK_LEVEL);
	int rc = ZSTD_isError(size) ? -ENOMEM : 0;
	if (!rc) {
		buf_put(bytes, packed, size);
		(void)json_array_append_new(list, json_pack("[s,o,I,I]", letter, text(name),
							    (json_int_t)n, (json_int_t)size));
	}
	free(packed);
	return rc;
}

static json_t *seen_list(const struct capture *c)
{
	json_t *list = json_array();
	for (size_t i = 0; i < c->n_seen; i++) {
		const struct watched *p = &c->seen[i];
		(void)json_array_append_new(list, json_pack("[i,o,o,o,o,b,I]", (int)p->pid,
							    text(p->name), text(p->cpus),
							    text(p->mems), number(p->threads),
							    p->leaf, (json_int_t)p->looked_real));
	}
	return list;
}

static json_t *execution_line(const struct capture *c, size_t i)
{
	json_t *notes = json_array();
	for (size_t k = 0; k < c->notes.n; k++)
		(void)json_array_append_new(notes, text(c->notes.items[k]));
	json_t *line = json_object();
	(void)json_object_set_new(line, "execution", json_integer((json_int_t)i));
	(void)json_object_set_new(line, "end", json_integer(c->end));
	(void)json_object_set_new(line, "start", json_integer(c->start_real_ns));
	(void)json_object_set_new(line, "finish", json_integer(c->end_real_ns));
	(void)json_object_set_new(line, "steal", number(c->state.steal_frac));
	(void)json_object_set_new(line, "temperature", number(c->state.temperature_c));
	(void)json_object_set_new(line, "runner_cpu", number(c->state.runner_cpu_s));
	(void)json_object_set_new(line, "wakeups", number(c->state.wakeups));
	(void)json_object_set_new(line, "oversubscribed", json_integer(c->state.oversubscribed));
	(void)json_object_set_new(line, "sampler_cpu", number(c->state.sampler_cpu_s));
	(void)json_object_set_new(line, "energy_denied", json_boolean(c->state.energy_denied));
	(void)json_object_set_new(line, "others", number(c->others_running));
	(void)json_object_set_new(line, "log_bytes", number(c->log_bytes));
	(void)json_object_set_new(line, "outlived", number(c->outlived));
	(void)json_object_set_new(line, "immortal", number(c->immortal));
	(void)json_object_set_new(line, "cut", json_boolean(c->output_cut));
	(void)json_object_set_new(line, "grouped", json_boolean(c->grouped));
	(void)json_object_set_new(line, "notes", notes);
	(void)json_object_set_new(line, "seen", seen_list(c));
	return line;
}

int journal_put_execution(struct buf *b, size_t i, const struct capture *c)
{
	struct buf row = { 0 }, bytes = { 0 };
	json_t *blobs = json_array();
	int rc = row_bytes(&row, &c->row);
	if (!rc)
		rc = pack(blobs, &bytes, BLOB_ROW, "row", row.data, row.len);
	for (size_t k = 0; !rc && k < c->n_blobs; k++)
		rc = pack(blobs, &bytes, (char)c->blobs[k].kind, c->blobs[k].name, c->blobs[k].data,
			  c->blobs[k].n);
	json_t *line = execution_line(c, i);
	(void)json_object_set_new(line, "blobs", blobs);
	put_line(b, line);
	if (bytes.len)
		buf_put(b, bytes.data, bytes.len);
	buf_puts(b, "\n");
	buf_done(&row);
	buf_done(&bytes);
	return rc || b->failed ? -ENOMEM : 0;
}

/* ---- in ---- */

struct cursor {
	const char *bytes;
	size_t n, at;
};

/* The next line that is whole; NULL at the end, or where the writer was killed. */
static json_t *next_line(struct cursor *c)
{
	while (c->at < c->n && c->bytes[c->at] == '\n')
		c->at++;
	const char *end = c->at < c->n ? memchr(c->bytes + c->at, '\n', c->n - c->at) : NULL;
	if (!end)
		return NULL;
	size_t n = (size_t)(end - (c->bytes + c->at));
	json_t *line = json_loadb(c->bytes + c->at, n, JSON_REJECT_DUPLICATES, NULL);
	if (line && !json_is_object(line)) {
		json_decref(line);
		line = NULL;
	}
	c->at += n + 1;
	return line;
}

static double get_number(const json_t *line, const char *key)
{
	const json_t *v = json_object_get(line, key);
	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *get_text(struct arena *a, const json_t *v)
{
	return json_is_string(v) ? arena_strdup(a, json_string_value(v)) : NULL;
}

static void *unpack(struct arena *a, const void *packed, size_t packed_n, size_t n)
{
	char *data = n <= BLOB_MAX ? arena_alloc(a, n + 1) : NULL;
	if (!data)
		return NULL;
	size_t got = ZSTD_decompress(data, n, packed, packed_n);
	return ZSTD_isError(got) || got != n ? NULL : data;
}

static int get_row(struct capture *c, const void *bytes, size_t n)
{
	struct record rec;
	int rc = record_get(&rec, bytes, n, NULL, 0, NULL);
	if (!rc && rec.body.executions.n != 1)
		rc = -EBADMSG;
	if (!rc)
		c->row = rec.body.executions.items[0];
	if (!rc) /* what it points to lives in the record's arena */
		rc = block_copy(&c->arena, &execution_block, &c->row);
	record_done(&rec);
	return rc ? rc : c->row.name ? 0 : -EBADMSG;
}

static int get_blob(struct capture *c, struct cursor *at, const json_t *spec)
{
	const char *letter = json_string_value(json_array_get(spec, 0));
	json_int_t n = json_integer_value(json_array_get(spec, 2));
	json_int_t packed = json_integer_value(json_array_get(spec, 3));
	const char *name = get_text(&c->arena, json_array_get(spec, 1));
	if (!letter || !name || n < 0 || packed < 0 || (size_t)packed > at->n - at->at)
		return -EBADMSG;
	char *data = unpack(&c->arena, at->bytes + at->at, (size_t)packed, (size_t)n);
	at->at += (size_t)packed;
	if (!data)
		return -EBADMSG;
	if (letter[0] == BLOB_ROW)
		return get_row(c, data, (size_t)n);
	if (!letter[0] || !strchr("LOFP", letter[0]))
		return -EBADMSG;
	size_t cap = c->n_blobs;
	struct blob *blobs = arena_grow(&c->arena, c->blobs, &cap, c->n_blobs + 1, sizeof *blobs);
	if (!blobs)
		return -ENOMEM;
	c->blobs = blobs;
	c->blobs[c->n_blobs++] = (struct blob){ (enum blob_kind)letter[0], name, data, (size_t)n };
	return 0;
}

static int get_seen(struct capture *c, const json_t *list)
{
	c->n_seen = json_array_size(list);
	c->seen = arena_array(&c->arena, c->n_seen + 1, sizeof *c->seen);
	for (size_t i = 0; c->seen && i < c->n_seen; i++) {
		const json_t *p = json_array_get(list, i);
		const json_t *threads = json_array_get(p, 4);
		c->seen[i] = (struct watched){
			.pid = (pid_t)json_integer_value(json_array_get(p, 0)),
			.name = get_text(&c->arena, json_array_get(p, 1)),
			.cpus = get_text(&c->arena, json_array_get(p, 2)),
			.mems = get_text(&c->arena, json_array_get(p, 3)),
			.threads =
				json_is_number(threads) ? json_number_value(threads) : (double)NAN,
			.leaf = json_is_true(json_array_get(p, 5)),
			.looked_real = json_integer_value(json_array_get(p, 6)),
		};
	}
	return c->seen ? 0 : -ENOMEM;
}

static int get_execution(struct capture *c, struct cursor *at, const json_t *line)
{
	json_int_t end = json_integer_value(json_object_get(line, "end"));
	json_int_t over = json_integer_value(json_object_get(line, "oversubscribed"));
	capture_init(c);
	if (end < END_EXITED || end > END_NOT_STARTED || over < UNKNOWN || over > YES)
		return -EBADMSG;
	c->end = (enum end)end;
	c->start_real_ns = json_integer_value(json_object_get(line, "start"));
	c->end_real_ns = json_integer_value(json_object_get(line, "finish"));
	c->state.steal_frac = get_number(line, "steal");
	c->state.temperature_c = get_number(line, "temperature");
	c->state.runner_cpu_s = get_number(line, "runner_cpu");
	c->state.wakeups = get_number(line, "wakeups");
	c->state.oversubscribed = (signed char)over;
	c->state.sampler_cpu_s = get_number(line, "sampler_cpu");
	c->state.energy_denied = json_is_true(json_object_get(line, "energy_denied"));
	c->others_running = get_number(line, "others");
	c->log_bytes = get_number(line, "log_bytes");
	c->outlived = get_number(line, "outlived");
	c->immortal = get_number(line, "immortal");
	c->output_cut = json_is_true(json_object_get(line, "cut"));
	c->grouped = json_is_true(json_object_get(line, "grouped"));
	int rc = get_seen(c, json_object_get(line, "seen"));
	const json_t *notes = json_object_get(line, "notes"),
		     *blobs = json_object_get(line, "blobs");
	for (size_t i = 0; !rc && i < json_array_size(notes); i++)
		if (json_is_string(json_array_get(notes, i)))
			rc = capture_note(c, json_string_value(json_array_get(notes, i)));
	for (size_t i = 0; !rc && i < json_array_size(blobs); i++)
		rc = get_blob(c, at, json_array_get(blobs, i));
	return rc ? rc : c->row.name ? 0 : -EBADMSG;
}

/* ---- which case is which ---- */

#define NO_CASE SIZE_MAX

struct map {
	size_t *to, n; /* from a number in the file to one of ours */
};

static int get_head(struct map *m, const json_t *list, struct journal_case *cases, size_t n)
{
	free(m->to);
	m->n = json_array_size(list);
	m->to = calloc(m->n + 1, sizeof *m->to);
	if (!m->to)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		const json_t *j = json_array_get(list, i);
		const char *app = json_string_value(json_object_get(j, "app"));
		const char *name = json_string_value(json_object_get(j, "case"));
		const char *print = json_string_value(json_object_get(j, "fingerprint"));
		const char *id = json_string_value(json_object_get(j, "run_id"));
		m->to[i] = NO_CASE;
		for (size_t k = 0; app && name && print && id && k < n; k++) {
			struct journal_case *c = &cases[k];
			if (strcmp(c->app, app) != 0 || strcmp(c->name, name) != 0 ||
			    strcmp(c->fingerprint, print) != 0 || strlen(id) >= sizeof c->run_id)
				continue;
			m->to[i] = k;
			memcpy(c->run_id, id, strlen(id) + 1);
			c->stored = json_is_true(json_object_get(j, "stored"));
			c->interrupted = json_is_true(json_object_get(j, "interrupted"));
			c->resumed = json_is_true(json_object_get(j, "resumed"));
		}
	}
	return 0;
}

static int get_line(struct cursor *at, const json_t *line, struct map *m,
		    struct journal_case *cases, size_t n_cases,
		    int (*each)(void *arg, size_t i, struct capture *c), void *arg)
{
	const json_t *execution = json_object_get(line, "execution"),
		     *stored = json_object_get(line, "stored");
	const json_t *begin = json_object_get(line, "begin");
	if (json_object_get(line, "journal")) {
		if (json_integer_value(json_object_get(line, "journal")) != JOURNAL_VERSION)
			return -EPROTO;
		return get_head(m, json_object_get(line, "cases"), cases, n_cases);
	}
	json_int_t i = json_integer_value(execution ? execution : begin ? begin : stored);
	if (i < 0 || (size_t)i >= m->n)
		return -EBADMSG;
	size_t to = m->to[i];
	if (begin) {
		const char *id = json_string_value(json_object_get(line, "run_id"));
		if (!id || strlen(id) >= sizeof cases->run_id)
			return -EBADMSG;
		if (to != NO_CASE) {
			memcpy(cases[to].run_id, id, strlen(id) + 1);
			cases[to].resumed = json_is_true(json_object_get(line, "resumed"));
		}
		return 0;
	}
	if (!execution) {
		if (to != NO_CASE) {
			cases[to].stored = true;
			cases[to].interrupted = json_is_true(json_object_get(line, "interrupted"));
		}
		return 0;
	}
	struct capture c;
	int rc = get_execution(&c, at, line);
	/* What was interrupted is made again. */
	if (rc || to == NO_CASE || c.end == END_INTERRUPTED) {
		capture_done(&c);
		return rc;
	}
	return each(arg, to, &c);
}

int journal_get(const char *bytes, size_t n, struct journal_case *cases, size_t n_cases,
		int (*each)(void *arg, size_t i, struct capture *c), void *arg, size_t *ret_good,
		struct err *err)
{
	struct cursor at = { .bytes = bytes, .n = n };
	struct map m = { 0 };
	json_t *line;
	int rc = 0;
	*ret_good = 0;
	while (!rc && (line = next_line(&at))) {
		rc = get_line(&at, line, &m, cases, n_cases, each, arg);
		json_decref(line);
		if (!rc)
			*ret_good = at.at;
	}
	free(m.to);
	if (rc == -EPROTO)
		return err_set(err, rc,
			       "the journal was written by another version of roimeter; run "
			       "without --resume");
	return rc == -EBADMSG ? 0 : rc; /* damaged from here on: what came before is good */
}

size_t journal_count(const char *bytes, size_t n)
{
	struct cursor at = { .bytes = bytes, .n = n };
	size_t count = 0;
	json_t *line;
	while ((line = next_line(&at))) {
		const json_t *blobs = json_object_get(line, "blobs");
		count += json_object_get(line, "execution") != NULL;
		for (size_t i = 0; i < json_array_size(blobs); i++) {
			json_int_t packed =
				json_integer_value(json_array_get(json_array_get(blobs, i), 3));
			if (packed < 0 || (size_t)packed > at.n - at.at)
				packed = (json_int_t)(at.n - at.at);
			at.at += (size_t)packed;
		}
		json_decref(line);
	}
	return count;
}
