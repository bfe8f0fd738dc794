/* The first thing that is wrong stays; what comes after it is not looked at any more. */
#define _GNU_SOURCE
#include "import/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"

void object_fault(struct object *o, const char *key, const char *what)
{
	if (o->r->rc)
		return;
	o->r->rc = err_set(o->r->err, -EINVAL, "%s: %s%s%s: %s", o->r->file, o->path,
			   o->path[0] ? "." : "", key, what);
}

void object_nomem(struct object *o)
{
	if (!o->r->rc)
		o->r->rc = err_set(o->r->err, -ENOMEM, "out of memory");
}

static char *copy(struct object *o, const char *text)
{
	return record_text(o->r->rec, text, strlen(text));
}

const json_t *object_value(struct object *o, const char *key)
{
	const json_t *v = json_object_get(o->json, key);
	return json_is_null(v) ? NULL : v;
}

struct object object_in(struct object *o, const char *key)
{
	struct object in = { .r = o->r, .json = object_value(o, key) };
	(void)snprintf(in.path, sizeof in.path, "%.60s%s%.30s", o->path, o->path[0] ? "." : "", key);
	if (in.json && !json_is_object(in.json)) {
		object_fault(o, key, "expected an object");
		in.json = NULL;
	}
	return in;
}

struct object object_maybe(struct object *o, const char *key)
{
	struct object none = { .r = o->r };
	return json_is_object(object_value(o, key)) ? object_in(o, key) : none;
}

double object_number(struct object *o, const char *key)
{
	const json_t *v = object_value(o, key);
	if (!v)
		return NAN;
	/* Their tables hand some counts on as text ("gpus": "2"). */
	const char *text = json_string_value(v);
	if (text && *text && strspn(text, "0123456789") == strlen(text))
		return num15(strtod(text, NULL));
	if (!json_is_number(v)) {
		object_fault(o, key, "expected a number");
		return NAN;
	}
	return num15(json_number_value(v));
}

double object_amount(struct object *o, const char *key)
{
	double x = object_number(o, key);
	if (known(x) && x < 0) {
		object_fault(o, key, "is below 0");
		return NAN;
	}
	return x;
}

const char *object_text(struct object *o, const char *key)
{
	const json_t *v = object_value(o, key);
	if (!v)
		return NULL;
	if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v)) {
		object_fault(o, key, "expected a text");
		return NULL;
	}
	char *its = copy(o, json_string_value(v));
	if (!its)
		object_nomem(o);
	return its;
}

const char *object_remark(struct object *o, const char *key)
{
	const json_t *v = object_value(o, key);
	if (!v || json_is_string(v))
		return object_text(o, key);
	char *shown = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
	char *its = shown ? copy(o, shown) : NULL;
	free(shown);
	if (!its)
		object_nomem(o);
	return its;
}

signed char object_yes_no(struct object *o, const char *key)
{
	const json_t *v = object_value(o, key);
	if (!v)
		return UNKNOWN;
	if (!json_is_boolean(v)) {
		object_fault(o, key, "expected true or false");
		return UNKNOWN;
	}
	return json_is_true(v) ? YES : NO;
}

struct nums object_numbers(struct object *o, const char *key)
{
	struct nums list = { 0 };
	const json_t *v = object_value(o, key);
	if (!v)
		return list;
	if (!json_is_array(v)) {
		object_fault(o, key, "expected a list of numbers");
		return list;
	}
	list.items = arena_array(&o->r->rec->arena, json_array_size(v) + 1, sizeof *list.items);
	for (size_t i = 0; list.items && i < json_array_size(v); i++) {
		const json_t *item = json_array_get(v, i);
		if (!json_is_number(item) || json_number_value(item) < 0) {
			char at[64];
			(void)snprintf(at, sizeof at, "%.40s[%zu]", key, i);
			object_fault(o, at, "expected a number, 0 or more");
			return (struct nums){ 0 };
		}
		list.items[list.n++] = num15(json_number_value(item));
	}
	if (!list.items)
		object_nomem(o);
	return list;
}

struct txts object_texts(struct object *o, const char *key)
{
	struct txts list = { 0 };
	const json_t *v = object_value(o, key);
	if (!v)
		return list;
	size_t n = json_is_array(v) ? json_array_size(v) : 1;
	list.items = arena_array(&o->r->rec->arena, n + 1, sizeof *list.items);
	for (size_t i = 0; list.items && i < n; i++) {
		const json_t *item = json_is_array(v) ? json_array_get(v, i) : v;
		if (!json_is_string(item)) {
			object_fault(o, key, "expected a list of texts");
			return (struct txts){ 0 };
		}
		list.items[list.n] = copy(o, json_string_value(item));
		if (!list.items[list.n++])
			object_nomem(o);
	}
	if (!list.items)
		object_nomem(o);
	return list;
}

struct txts object_pairs(struct object *o, const char *key)
{
	struct txts list = { 0 };
	if (json_is_array(object_value(o, key)))
		return object_texts(o, key);
	struct object in = object_in(o, key);
	if (!in.json)
		return list;
	struct arena *a = &o->r->rec->arena;
	list.items = arena_array(a, json_object_size(in.json) + 1, sizeof *list.items);
	const char *name;
	json_t *v;
	if (!list.items) {
		object_nomem(o);
		return list;
	}
	/* jansson keeps the file's order. The cast takes off a const that iterating does not need. */
	json_object_foreach((json_t *)in.json, name, v) {
		char *shown = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
		const char *its = json_is_string(v) ? json_string_value(v) : shown;
		list.items[list.n] = its ? arena_printf(a, "%s=%s", name, its) : NULL;
		if (!list.items[list.n++])
			object_nomem(o);
		free(shown);
	}
	return list;
}
