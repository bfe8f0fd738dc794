/* One list of columns for both forms. */
#include "store/row.h"

#include <stdbool.h>
#include <stddef.h>

#include "lib/num.h"

static const struct {
	const char *name;
	size_t offset;
	bool number;
} row_fields[] = {
#define TEXT(name, member) { name, offsetof(struct run_row, member), false },
#define NUMBER(name) { #name, offsetof(struct run_row, name), true },
	TEXT("run_id", run_id) TEXT("suite", suite) TEXT("app", app) TEXT("case", case_)
		TEXT("platform", platform) TEXT("kind", kind) TEXT("utc", utc)
			TEXT("status", status) NUMBER(wall_s) NUMBER(cv) NUMBER(min_s) NUMBER(max_s)
				NUMBER(samples) NUMBER(process_wall_s) NUMBER(busy_frac) NUMBER(fom)
					NUMBER(caveats) TEXT("input_hash", input_hash)
#undef TEXT
#undef NUMBER
};

#define N_FIELDS (sizeof row_fields / sizeof *row_fields)

static double number_of(const struct run_row *r, size_t i)
{
	const void *at = (const char *)r + row_fields[i].offset;
	return *(const double *)at;
}

static const char *text_of(const struct run_row *r, size_t i)
{
	const void *at = (const char *)r + row_fields[i].offset;
	return *(const char *const *)at;
}

static json_t *number_json(double x)
{
	if (!known(x))
		return json_null();
	if (x == floor(x) && fabs(x) < 1e15)
		return json_integer((json_int_t)x);
	return json_real(x);
}

json_t *run_row_json(const struct run_row *r)
{
	json_t *o = json_object();
	for (size_t i = 0; o && i < N_FIELDS; i++) {
		json_t *v = row_fields[i].number ? number_json(number_of(r, i))
			    : text_of(r, i)      ? json_string(text_of(r, i))
						 : json_null();
		if (json_object_set_new(o, row_fields[i].name, v)) {
			json_decref(o);
			o = NULL;
		}
	}
	return o;
}

void run_row_csv_head(struct buf *b)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		buf_printf(b, "%s%s", i ? "," : "", row_fields[i].name);
	buf_puts(b, "\r\n");
}

/* Names and times have no character that CSV would quote; see record_check. */
void run_row_csv(struct buf *b, const struct run_row *r)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		buf_puts(b, i ? "," : "");
		if (!row_fields[i].number)
			buf_puts(b, text_of(r, i) ? text_of(r, i) : "");
		else if (known(number_of(r, i)))
			buf_printf(b, "%.15g", number_of(r, i));
	}
	buf_puts(b, "\r\n");
}
