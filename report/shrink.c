/* Smaller JSON. */
#include "report/shrink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "schema/codec.h"

static bool is_empty_object(const json_t *value)
{
	return json_is_object(value) && json_object_size(value) == 0;
}

static json_t *object_without_nulls(const json_t *object)
{
	json_t *out = json_object(), *value;
	const char *key;
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		if (json_is_null(value))
			continue;
		json_t *small = shrink_nulls(value);
		if (is_empty_object(small)) {
			json_decref(small);
			continue;
		}
		if (json_object_set_new(out, key, small)) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

json_t *shrink_nulls(const json_t *value)
{
	if (json_is_object(value))
		return object_without_nulls(value);
	if (!json_is_array(value))
		return json_incref((json_t *)(uintptr_t)value);
	json_t *out = json_array();
	for (size_t i = 0; i < json_array_size(value); i++)
		if (json_array_append_new(out, shrink_nulls(json_array_get(value, i)))) {
			json_decref(out);
			return NULL;
		}
	return out;
}

/* Has every row this value under this key? */
static bool is_same(const json_t *rows, const char *key, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (!json_equal(json_object_get(json_array_get(rows, i), key), value))
			return false;
	return json_array_size(rows) > 1;
}

/* A table in the making. seen is the set of names met so far. */
struct table {
	json_t *columns, *same, *seen, *lines;
};

/* The names of one row: those with one value in all rows go to same, the others to columns. */
static int add_columns(struct table *t, const json_t *rows, json_t *row)
{
	const char *key;
	json_t *value;
	json_object_foreach(row, key, value)
	{
		if (json_object_get(t->seen, key))
			continue;
		int rc = is_same(rows, key, value)
				 ? json_object_set(t->same, key, value)
				 : json_array_append_new(t->columns, json_string(key));
		if (rc || json_object_set_new(t->seen, key, json_true()))
			return -ENOMEM;
	}
	return 0;
}

static int add_line(struct table *t, const json_t *row)
{
	json_t *cells = json_array();
	int rc = json_array_append(t->lines, cells);
	for (size_t i = 0; !rc && i < json_array_size(t->columns); i++) {
		const char *name = json_string_value(json_array_get(t->columns, i));
		json_t *value = json_object_get(row, name);
		rc = json_array_append_new(cells, value ? json_incref(value) : json_null());
	}
	json_decref(cells);
	return rc ? -ENOMEM : 0;
}

json_t *shrink_table(const json_t *rows)
{
	struct table t = { json_array(), json_object(), json_object(), json_array() };
	json_t *out = json_object();
	size_t n = json_array_size(rows);
	int rc = t.columns && t.same && t.seen && t.lines && out ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = add_columns(&t, rows, json_array_get(rows, i));
	for (size_t i = 0; !rc && i < n; i++)
		rc = add_line(&t, json_array_get(rows, i));
	if (!rc && json_object_size(t.same))
		rc = json_object_set(out, "same", t.same);
	if (!rc)
		rc = json_object_set(out, "columns", t.columns) ||
		     json_object_set(out, "rows", t.lines);
	json_decref(t.columns);
	json_decref(t.same);
	json_decref(t.seen);
	json_decref(t.lines);
	if (!rc)
		return out;
	json_decref(out);
	return NULL;
}

static json_t *child(json_t *object, const char *name, json_t *(*make)(void))
{
	json_t *value = json_object_get(object, name);
	if (value)
		return value;
	value = make();
	return json_object_set_new(object, name, value) ? NULL : value;
}

int shrink_intern_take(struct shrink_dict *d, const char *name, json_t *value)
{
	int rc = -ENOMEM;
	struct buf text = { 0 };
	if (!d->values)
		d->values = json_object();
	if (!d->places)
		d->places = json_object();
	json_t *list = child(d->values, name, json_array);
	json_t *places = child(d->places, name, json_object);
	if (!list || !places || !value || json_text(&text, value))
		goto out;
	const json_t *place = json_object_get(places, text.data);
	if (place) {
		rc = (int)json_integer_value(place);
		goto out;
	}
	rc = (int)json_array_size(list);
	if (json_object_set_new(places, text.data, json_integer(rc)) ||
	    json_array_append(list, value))
		rc = -ENOMEM;
out:
	buf_done(&text);
	json_decref(value);
	return rc;
}

void shrink_dict_done(struct shrink_dict *d)
{
	json_decref(d->values);
	json_decref(d->places);
	*d = (struct shrink_dict){ 0 };
}
