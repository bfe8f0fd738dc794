/* Smaller JSON. */
#include "report/shrink.h"

#include <errno.h>
#include <stdbool.h>

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
	json_object_foreach((json_t *)object, key, value)
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
		return json_incref((json_t *)value);
	json_t *out = json_array();
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)value, i,
			   item) if (json_array_append_new(out, shrink_nulls(item)))
	{
		json_decref(out);
		return NULL;
	}
	return out;
}

/* Has every row this value under this key? */
static bool is_same(const json_t *rows, const char *key, const json_t *value)
{
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i,
			   row) if (!json_equal(json_object_get(row, key), value)) return false;
	return json_array_size(rows) > 1;
}

/* Names in order of their first row: those with one value go to same, the others to columns.
 * seen is the set of them. */
static int collect_columns(json_t *columns, json_t *same, json_t *seen, const json_t *rows)
{
	size_t i;
	json_t *row, *value;
	const char *key;
	json_array_foreach((json_t *)rows, i, row) json_object_foreach(row, key, value)
	{
		if (json_object_get(seen, key))
			continue;
		int rc = is_same(rows, key, value)
				 ? json_object_set(same, key, value)
				 : json_array_append_new(columns, json_string(key));
		if (rc || json_object_set_new(seen, key, json_true()))
			return -ENOMEM;
	}
	return 0;
}

static json_t *cells_of(const json_t *row, const json_t *columns)
{
	json_t *cells = json_array(), *name;
	size_t i;
	json_array_foreach((json_t *)columns, i, name)
	{
		json_t *value = json_object_get(row, json_string_value(name));
		if (json_array_append_new(cells, value ? json_incref(value) : json_null())) {
			json_decref(cells);
			return NULL;
		}
	}
	return cells;
}

json_t *shrink_table(const json_t *rows)
{
	json_t *columns = json_array(), *same = json_object(), *seen = json_object();
	json_t *lines = json_array(), *out = json_object(), *row;
	bool bad = !columns || !same || !seen || !lines || !out ||
		   collect_columns(columns, same, seen, rows);
	size_t i;
	json_array_foreach((json_t *)rows, i,
			   row) if (!bad && json_array_append_new(lines, cells_of(row, columns)))
		bad = true;
	if (!bad && json_object_size(same))
		bad = json_object_set(out, "same", same);
	if (!bad)
		bad = json_object_set(out, "columns", columns) ||
		      json_object_set(out, "rows", lines);
	json_decref(columns);
	json_decref(same);
	json_decref(seen);
	json_decref(lines);
	if (!bad)
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
