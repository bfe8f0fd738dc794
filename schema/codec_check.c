/* May this record be stored? What the tables of fields cannot say. */
#include "schema/codec.h"

#include <errno.h>
#include <math.h>

#include "lib/num.h"
#include "schema/runid.h"
#include "schema/utf8.h"
#include "schema/walk.h"

const char *const record_statuses[] = {
	"ok",
	"clean_failed",
	"clean_timeout",
	"roi_missing",
	"timer_missing",
	"profiled_failed",
	"roi_missing_in_profile",
	"interrupted",
	NULL,
};
const char *const record_kinds[] = { "measured", "imported", "ambient", "simulated", NULL };
const char *const record_null_whys[] = {
	"not_supported", "no_permission", "not_measured", "lost", "not_comparable", "too_few", NULL,
};

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(text, *words))
			return true;
	return false;
}

/* ---- every field --------------------------------------------------------------------------- */

struct check {
	struct err *err;
	const char *place[8]; /* names of the blocks that we are in; no record is deeper */
	size_t index[8], depth;
};

static int bad(const struct check *c, const struct field *f, const char *what)
{
	char label[FIELD_LABEL_BYTES];
	struct buf b = { .max = 512 };
	for (size_t i = 0; i < c->depth; i++)
		if (c->index[i] == SIZE_MAX)
			buf_printf(&b, "%s.", c->place[i]);
		else
			buf_printf(&b, "%s[%zu].", c->place[i], c->index[i]);
	int rc = err_set(c->err, -EINVAL, "%s%s: %s", b.len ? b.data : "", field_label(f, label),
			 what);
	buf_done(&b);
	return rc;
}

/* Counts and sizes are never below zero. A fraction of a difference may be. */
static bool may_be_negative(const struct field *f)
{
	bool count = !strcmp(f->unit, "1") || !strcmp(f->unit, "B");
	return !count || strstr(f->name, "frac");
}

static int check_num(const struct check *c, const struct field *f, double x)
{
	if (isinf(x))
		return bad(c, f, "the number is infinite; what is not known is null");
	if (x < 0 && !may_be_negative(f))
		return bad(c, f, "a count or a size below zero");
	return 0;
}

static int check_txt(const struct check *c, const struct field *f, const char *text)
{
	return utf8_valid(text, strlen(text)) ? 0 : bad(c, f, "the text is not UTF-8");
}

static int check_block(struct check *c, const struct block *block, const void *at);

static int check_below(struct check *c, const struct field *f, const void *at, size_t index)
{
	if (c->depth == sizeof c->place / sizeof c->place[0])
		return bad(c, f, "nested too deep");
	c->place[c->depth] = f->name;
	c->index[c->depth++] = index;
	int rc = check_block(c, f->block, at);
	c->depth--;
	return rc;
}

static int check_items(struct check *c, const struct field *f, const void *at)
{
	const struct nums *nums = at;
	const struct txts *txts = at;
	struct list l = list_get(at);
	int rc = 0;
	if (!l.items)
		return 0;
	for (size_t i = 0; i < l.n && !rc; i++) {
		if (f->type == FIELD_NUMS)
			rc = check_num(c, f, nums->items[i]);
		else if (f->type == FIELD_LIST)
			rc = check_below(c, f, list_item(l, f->block, i), i);
		else
			rc = txts->items[i] ? check_txt(c, f, txts->items[i])
					    : bad(c, f, "a null in a list of texts");
	}
	return rc;
}

static int check_field(struct check *c, const struct field *f, const void *block)
{
	const void *at = field_at(f, block);
	const char *text;
	switch (f->type) {
	case FIELD_NUM:
		return check_num(c, f, num_at(f, block));
	case FIELD_TXT:
		text = txt_at(f, block);
		return text ? check_txt(c, f, text) : 0;
	case FIELD_TER:
		return ter_at(f, block) >= UNKNOWN && ter_at(f, block) <= YES
			       ? 0
			       : bad(c, f, "neither yes nor no");
	case FIELD_BLOCK:
		return check_below(c, f, at, SIZE_MAX);
	case FIELD_NUMS:
	case FIELD_TXTS:
	case FIELD_LIST:
		return check_items(c, f, at);
	}
	return 0;
}

static int check_block(struct check *c, const struct block *block, const void *at)
{
	for (size_t i = 0; i < block->count; i++) {
		int rc = check_field(c, &block->fields[i], at);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- particular fields --------------------------------------------------------------------- */

int record_check_name(const char *field, const char *name, struct err *err)
{
	size_t n = name ? strlen(name) : 0;
	if (!n || n > 128)
		return err_set(err, -EINVAL, "%s: a name of 1 to 128 characters is needed", field);
	if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-") != n)
		return err_set(err, -EINVAL,
			       "%s: \"%s\" has a character outside A-Z a-z 0-9 . _ + -", field,
			       name);
	return 0;
}

/* "2026-09-29T04:52:01Z", maybe with a fraction of the second. */
static bool utc_is_good(const char *utc)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	size_t i = 0;
	for (; shape[i]; i++)
		if (shape[i] == 'd' ? (utc[i] < '0' || utc[i] > '9') : utc[i] != shape[i])
			return false;
	if (utc[i] == '.') {
		size_t digits = strspn(utc + i + 1, "0123456789");
		if (!digits || digits > 9)
			return false;
		i += 1 + digits;
	}
	return !strcmp(utc + i, "Z");
}

static int check_identity(const struct record_body *b, struct err *err)
{
	int64_t key;
	if (!b->schema || strcmp(b->schema, RECORD_SCHEMA) != 0)
		return err_set(err, -EINVAL, "schema: expected \"%s\"", RECORD_SCHEMA);
	if (!b->run_id || !runid_key(b->run_id, &key))
		return err_set(err, -EINVAL,
			       "run_id: \"%s\" is not a time and eight hexadecimal digits, as in "
			       "20260929T045201Z-0123abcd",
			       b->run_id ? b->run_id : "");
	int rc = record_check_name("suite", b->suite, err);
	if (!rc)
		rc = record_check_name("app", b->app, err);
	if (!rc)
		rc = record_check_name("case", b->case_, err);
	if (!rc)
		rc = record_check_name("platform", b->platform, err);
	if (rc)
		return rc;
	if (!b->kind || !is_one_of(b->kind, record_kinds))
		return err_set(err, -EINVAL,
			       "kind: \"%s\" is not measured, imported, ambient or simulated",
			       b->kind ? b->kind : "");
	if (!b->status || !is_one_of(b->status, record_statuses))
		return err_set(err, -EINVAL, "status: \"%s\" is not known",
			       b->status ? b->status : "");
	if (b->utc ? !utc_is_good(b->utc) : !strcmp(b->kind, "measured"))
		return err_set(err, -EINVAL, "utc: \"%s\" is not a time as in 2026-09-29T04:52:01Z",
			       b->utc ? b->utc : "");
	return 0;
}

static int check_result(const struct record_body *b, struct err *err)
{
	for (size_t i = 0; b->roi.runs_s.items && i < b->roi.runs_s.n; i++)
		if (!(b->roi.runs_s.items[i] >= 0))
			return err_set(err, -EINVAL,
				       "roi.runs_s[%zu]: a sample is a time of 0 or more", i);
	if (b->roi.wall_s < 0)
		return err_set(err, -EINVAL, "roi.wall_s: a time below zero");
	if (!strcmp(b->status, "ok") && !known(b->roi.wall_s))
		return err_set(err, -EINVAL,
			       "roi.wall_s: a run that is ok has a time for its region");
	return 0;
}

static bool code_is_good(const char *code)
{
	size_t n = code ? strlen(code) : 0;
	return n && n <= 64 && strspn(code, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == n;
}

static int check_remarks(const struct record_body *b, struct err *err)
{
	for (size_t i = 0; b->caveats.items && i < b->caveats.n; i++) {
		const struct caveat *c = &b->caveats.items[i];
		if (!code_is_good(c->code))
			return err_set(err, -EINVAL,
				       "caveats[%zu].code: \"%s\" is not made of a-z 0-9 _ . -", i,
				       c->code ? c->code : "");
		if (!c->text || !*c->text)
			return err_set(err, -EINVAL, "caveats[%zu].text: a sentence is needed", i);
	}
	for (size_t i = 0; b->nulls.items && i < b->nulls.n; i++) {
		const struct null_reason *r = &b->nulls.items[i];
		if (!r->field || !*r->field)
			return err_set(err, -EINVAL,
				       "nulls[%zu].field: the name of a field is needed", i);
		if (!r->why || !is_one_of(r->why, record_null_whys))
			return err_set(err, -EINVAL,
				       "nulls[%zu].why: \"%s\" is not a reason that is known", i,
				       r->why ? r->why : "");
	}
	return 0;
}

int record_check(const struct record *rec, struct err *err)
{
	struct check c = { .err = err };
	int rc = check_block(&c, &record_block, &rec->body);
	if (!rc)
		rc = check_identity(&rec->body, err);
	if (!rc)
		rc = check_result(&rec->body, err);
	if (!rc)
		rc = check_remarks(&rec->body, err);
	return rc;
}
