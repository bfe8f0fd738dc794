/* Timer definitions from YAML. */
#define _GNU_SOURCE
#include "timer/def.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "suite/near.h"
#include "timer/number.h"

struct def_reader {
	struct timer_def *def;
	const char *file;
	struct err *err;
};

static int fault(struct def_reader *r, const struct doc_node *at, const char *key, const char *why)
{
	return doc_error(r->err, r->file, at, "%s: %s", key, why);
}

/* ---- small things
 * -------------------------------------------------------------------------------- */

static int check_keys(struct def_reader *r, const char *what, const struct doc_node *map,
		      const char *const *known, size_t n)
{
	if (map->kind != DOC_MAP)
		return doc_error(r->err, r->file, map, "%s must be a mapping of keys, this is %s",
				 what, doc_kind_name(map->kind));
	for (size_t i = 0; i < map->n; i++) {
		const char *key = map->keys[i]->text;
		bool ok = false;
		for (size_t k = 0; k < n && !ok; k++)
			ok = strcmp(known[k], key) == 0;
		if (ok)
			continue;
		const char *near = near_word(key, known, n);
		return doc_error(
			r->err, r->file, map->keys[i], "unknown key \"%s\" in %s%s%s%s", key, what,
			near ? "; did you mean \"" : "; docs/timers.md lists the known ones",
			near ? near : "", near ? "\"?" : "");
	}
	return 0;
}
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A text of a mapping; NULL where the key is not there. */
static int get_text(struct def_reader *r, const struct doc_node *map, const char *key,
		    const char **ret)
{
	const struct doc_node *node = doc_get(map, key);
	*ret = NULL;
	if (!node)
		return 0;
	if (node->kind != DOC_TEXT)
		return doc_error(r->err, r->file, node, "%s: must be a text, this is %s", key,
				 doc_kind_name(node->kind));
	if (!*node->text)
		return fault(r, node, key, "is empty");
	*ret = node->text;
	return 0;
}

static int get_flag(struct def_reader *r, const struct doc_node *map, const char *key, bool *ret)
{
	const char *text;
	int rc = get_text(r, map, key, &text);
	if (rc || !text)
		return rc;
	*ret = strcmp(text, "true") == 0;
	return *ret || strcmp(text, "false") == 0
		       ? 0
		       : fault(r, doc_get(map, key), key, "must be true or false");
}

/* Which of the words; -1 leaves *ret as it is. */
static int get_word(struct def_reader *r, const struct doc_node *map, const char *key,
		    const char *const *words, size_t n, const char *all, int *ret)
{
	const char *text;
	int rc = get_text(r, map, key, &text);
	if (rc || !text)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], text) == 0) {
			*ret = (int)i;
			return 0;
		}
	return doc_error(r->err, r->file, doc_get(map, key), "%s: \"%s\" must be %s", key, text,
			 all);
}

static int add_pattern(struct def_reader *r, const struct doc_node *at, const char *text,
		       struct pattern **ret)
{
	struct timer_def *d = r->def;
	struct err why = { 0 };
	d->patterns = arena_grow(&d->arena, d->patterns, &d->patterns_room, d->n_patterns + 1,
				 sizeof *d->patterns);
	if (!d->patterns)
		return err_set(r->err, -ENOMEM, "out of memory");
	int rc = pattern_new(ret, text, &why);
	if (rc)
		return doc_error(r->err, r->file, at, "%s", why.text);
	d->patterns[d->n_patterns++] = *ret;
	return 0;
}

static int get_pattern(struct def_reader *r, const struct doc_node *map, const char *key,
		       struct pattern **ret)
{
	const char *text;
	int rc = get_text(r, map, key, &text);
	return rc || !text ? rc : add_pattern(r, doc_get(map, key), text, ret);
}

static int add_file(struct def_reader *r, const char *glob)
{
	struct timer_def *d = r->def;
	for (size_t i = 0; i < d->files.n; i++)
		if (strcmp(d->files.items[i], glob) == 0)
			return 0;
	d->files.items = arena_grow(&d->arena, d->files.items, &d->files_room, d->files.n + 1,
				    sizeof *d->files.items);
	if (!d->files.items)
		return err_set(r->err, -ENOMEM, "out of memory");
	d->files.items[d->files.n++] = glob;
	return 0;
}

/* ---- terms
 * --------------------------------------------------------------------------------------- */

static const char *const take_words[] = { "last", "first", "only", "sum", "count", "each" };

static int put_scope(struct def_reader *r, const struct doc_node *map, struct timer_scope *ret)
{
	static const char *const keys[] = { "from", "which", "until", "below", "children" };
	static const char *const which_words[] = { "last", "first" };
	int which = 0, rc = check_keys(r, "scope", map, keys, COUNT(keys));
	if (!rc)
		rc = get_pattern(r, map, "from", &ret->from);
	if (!rc)
		rc = get_pattern(r, map, "until", &ret->until);
	if (!rc)
		rc = get_pattern(r, map, "below", &ret->below);
	if (!rc)
		rc = get_flag(r, map, "children", &ret->children);
	if (!rc)
		rc = get_word(r, map, "which", which_words, 2, "last or first", &which);
	ret->from_first = which == 1;
	return rc;
}

static int put_unit(struct def_reader *r, const struct doc_node *map, struct timer_term *ret)
{
	const char *unit;
	int rc = get_text(r, map, "unit", &unit);
	if (rc || !unit)
		return rc;
	ret->clock = strcmp(unit, "clock") == 0;
	ret->exponent = ret->clock ? 0 : number_unit_exponent(unit);
	return ret->exponent > 0
		       ? fault(r, doc_get(map, "unit"), "unit", "must be s, ms, us, ns or clock")
		       : 0;
}

static int put_number(struct def_reader *r, const struct doc_node *map, const char *key,
		      double *ret)
{
	const char *text;
	int rc = get_text(r, map, key, &text);
	if (rc || !text)
		return rc;
	if (number_parse(text, strlen(text), ret) != METRIC_OK || *ret < 0)
		return fault(r, doc_get(map, key), key, "must be a number from 0 on");
	return 0;
}

/* The group with the value: the one named so, or the only one. */
static int put_groups(struct def_reader *r, const struct doc_node *at, struct timer_term *t)
{
	if (t->take == TAKE_COUNT)
		return 0;
	t->value_group = pattern_group(t->pattern, "value");
	t->name_group = pattern_group(t->pattern, "name");
	if (!t->value_group && pattern_groups(t->pattern) == 1)
		t->value_group = 1;
	if (!t->value_group)
		return doc_error(r->err, r->file, at,
				 "pattern '%s': needs one group around the number, or one named "
				 "(?<value>...)",
				 t->text);
	if (t->take == TAKE_EACH && !t->name_group)
		return doc_error(r->err, r->file, at,
				 "pattern '%s': take: each needs a group (?<name>...)", t->text);
	return 0;
}

static void term_init(struct def_reader *r, struct timer_term *t)
{
	*t = (struct timer_term){ .file = r->def->file, .if_absent = NAN, .constant = NAN };
}

/* What a mapping says about a term; ret_at is the node of its pattern. */
static int put_term_keys(struct def_reader *r, const struct doc_node *node, struct timer_term *ret,
			 const struct doc_node **ret_at)
{
	static const char *const keys[] = { "name",   "file", "pattern", "count",
					    "take",   "unit", "scope",   "subtract",
					    "absent", "skip", "missing" };
	int rc = check_keys(r, "a timer's term", node, keys, COUNT(keys));
	if (rc)
		return rc;
	const struct doc_node *count = doc_get(node, "count"), *scope = doc_get(node, "scope");
	int take = count ? TAKE_COUNT : TAKE_LAST;
	double skip = 0;
	*ret_at = count ? count : doc_get(node, "pattern");
	if (!*ret_at || (count && doc_get(node, "pattern")))
		return doc_error(r->err, r->file, node,
				 "a term needs a pattern, or count with one");
	rc = get_text(r, node, count ? "count" : "pattern", &ret->text);
	if (!rc)
		rc = get_text(r, node, "name", &ret->name);
	if (!rc && doc_get(node, "file"))
		rc = get_text(r, node, "file", &ret->file);
	if (!rc)
		rc = get_text(r, node, "missing", &ret->missing);
	if (!rc)
		rc = get_word(r, node, "take", take_words, COUNT(take_words),
			      "last, first, only, sum, count or each", &take);
	if (!rc)
		rc = put_unit(r, node, ret);
	if (!rc)
		rc = get_flag(r, node, "subtract", &ret->subtract);
	if (!rc)
		rc = put_number(r, node, "absent", &ret->if_absent);
	if (!rc)
		rc = put_number(r, node, "skip", &skip);
	if (!rc && scope)
		rc = put_scope(r, scope, &ret->scope);
	ret->take = (enum timer_take)take;
	ret->skip = skip < 1e9 ? (size_t)skip : 0;
	return rc;
}

/* A text is the pattern alone (or a number); a mapping says more. */
static int put_term(struct def_reader *r, const struct doc_node *node, bool constants,
		    struct timer_term *ret)
{
	term_init(r, ret);
	const struct doc_node *at = node;
	int rc = 0;
	if (node->kind == DOC_TEXT) {
		ret->text = node->text;
		if (constants &&
		    number_parse(node->text, strlen(node->text), &ret->constant) == METRIC_OK)
			return 0;
	} else {
		rc = put_term_keys(r, node, ret, &at);
	}
	if (!rc)
		rc = add_pattern(r, at, ret->text, &ret->pattern);
	if (!rc)
		rc = put_groups(r, at, ret);
	return rc ? rc : add_file(r, ret->file);
}

/* One term, or a list of them. */
static int put_terms(struct def_reader *r, const struct doc_node *map, const char *key,
		     struct timer_terms *ret)
{
	const struct doc_node *node = doc_get(map, key);
	if (!node)
		return 0;
	size_t n = node->kind == DOC_LIST ? node->n : 1;
	if (!n)
		return fault(r, node, key, "is empty");
	ret->items = arena_array(&r->def->arena, n, sizeof *ret->items);
	if (!ret->items)
		return err_set(r->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int rc = put_term(r, node->kind == DOC_LIST ? node->items[i] : node, false,
				  &ret->items[i]);
		if (rc)
			return rc;
	}
	ret->n = n;
	return 0;
}

/* ---- conditions
 * ---------------------------------------------------------------------------------- */

static int put_operands(struct def_reader *r, const char *key, const struct doc_node *node,
			bool two, struct timer_condition *ret)
{
	if (!two)
		return put_term(r, node, false, &ret->a);
	if (node->kind != DOC_LIST || node->n != 2)
		return fault(r, node, key, "must be a list of two");
	int rc = put_term(r, node->items[0], true, &ret->a);
	return rc ? rc : put_term(r, node->items[1], true, &ret->b);
}

/* "present" and "absent" only ask whether: their patterns need no group. */
static int put_presence(struct def_reader *r, const struct doc_node *node, struct timer_term *ret)
{
	const struct doc_node key = {
		.kind = DOC_TEXT, .text = "count", .line = node->line, .column = node->column
	};
	struct doc_node *keys[] = { (struct doc_node *)&key },
			*items[] = { (struct doc_node *)node };
	const struct doc_node counted = { .kind = DOC_MAP,
					  .keys = keys,
					  .items = items,
					  .n = 1,
					  .line = node->line,
					  .column = node->column };
	return put_term(r, node->kind == DOC_TEXT ? &counted : node, false, ret);
}

static int put_condition(struct def_reader *r, const struct doc_node *map,
			 struct timer_condition *ret)
{
	static const char *const keys[] = { "equal",       "no_less", "present", "absent",
					    "consecutive", "when",    "why" };
	int rc = check_keys(r, "a condition", map, keys, COUNT(keys)), found = 0;
	for (int k = 0; !rc && k < 5; k++) {
		const struct doc_node *node = doc_get(map, keys[k]);
		if (!node)
			continue;
		found++;
		ret->check = (enum timer_check)k;
		rc = k == CHECK_PRESENT || k == CHECK_ABSENT
			     ? put_presence(r, node, &ret->a)
			     : put_operands(r, keys[k], node, k < 2, ret);
	}
	if (!rc && found != 1)
		rc = doc_error(
			r->err, r->file, map,
			"a condition is one of equal, no_less, present, absent, consecutive");
	const struct doc_node *when = rc ? NULL : doc_get(map, "when");
	ret->has_when = when;
	if (when)
		rc = put_presence(r, when, &ret->when);
	if (!rc)
		rc = get_text(r, map, "why", &ret->why);
	if (!rc && !ret->why)
		rc = doc_error(r->err, r->file, map,
			       "a condition has no \"why\"; say what a run that breaks it is");
	return rc;
}

static int put_conditions(struct def_reader *r, const struct doc_node *map)
{
	const struct doc_node *list = doc_get(map, "complete");
	if (!list)
		return 0;
	if (list->kind != DOC_LIST)
		return fault(r, list, "complete", "must be a list of conditions");
	struct timer_def *d = r->def;
	d->conditions = arena_array(&d->arena, list->n ? list->n : 1, sizeof *d->conditions);
	if (!d->conditions)
		return err_set(r->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < list->n; i++) {
		int rc = put_condition(r, list->items[i], &d->conditions[i]);
		if (rc)
			return rc;
	}
	d->n_conditions = list->n;
	return 0;
}

/* ---- the definition
 * ------------------------------------------------------------------------------ */

static int put_head(struct def_reader *r, const struct doc_node *root)
{
	static const char *const ranks[] = { "slowest", "average", "rank0", "max" };
	static const char *const sync[] = { "no", "yes", "unknown" };
	static const char *const must[] = { "name",  "title",       "source", "covers",
					    "ranks", "device_sync", "region" };
	struct timer_def *d = r->def;
	for (size_t i = 0; i < COUNT(must); i++)
		if (!doc_get(root, must[i]))
			return doc_error(r->err, r->file, root,
					 "the definition has no \"%s\"; add it", must[i]);
	int which_ranks = 0, which_sync = 2, rc = get_text(r, root, "name", &d->name);
	if (!rc)
		rc = get_text(r, root, "title", &d->title);
	if (!rc)
		rc = get_text(r, root, "source", &d->source);
	if (!rc)
		rc = get_text(r, root, "covers", &d->covers);
	if (!rc)
		rc = get_text(r, root, "caveat", &d->caveat);
	if (!rc)
		rc = get_text(r, root, "file", &d->file);
	if (!rc)
		rc = get_word(r, root, "ranks", ranks, COUNT(ranks),
			      "slowest, average, rank0 or max", &which_ranks);
	if (!rc)
		rc = get_word(r, root, "device_sync", sync, COUNT(sync), "yes, no or unknown",
			      &which_sync);
	d->ranks = ranks[which_ranks];
	d->device_sync = (signed char)(which_sync == 2 ? UNKNOWN : which_sync);
	if (!d->file)
		d->file = "run.log";
	return rc;
}

/* Terms that add up are times: no counts, no lists of parts. */
static int put_times(struct def_reader *r, const struct doc_node *root, const char *key,
		     struct timer_terms *ret)
{
	int rc = put_terms(r, root, key, ret);
	for (size_t i = 0; !rc && i < ret->n; i++)
		if (ret->items[i].take == TAKE_COUNT || ret->items[i].take == TAKE_EACH)
			rc = fault(r, doc_get(root, key), key,
				   "a time is no count and no list; take last, first, only or sum");
	return rc;
}

static int put_definition(struct def_reader *r, const struct doc_node *root)
{
	static const char *const keys[] = { "name",        "title",  "source", "covers",  "ranks",
					    "device_sync", "caveat", "file",   "region",  "steps",
					    "excluded",    "setup",  "parts",  "complete" };
	struct timer_def *d = r->def;
	int rc = check_keys(r, "the definition", root, keys, COUNT(keys));
	if (!rc)
		rc = put_head(r, root);
	if (!rc)
		rc = put_times(r, root, "region", &d->region);
	if (!rc)
		rc = put_terms(r, root, "steps", &d->steps);
	if (!rc)
		rc = put_times(r, root, "excluded", &d->excluded);
	if (!rc)
		rc = put_times(r, root, "setup", &d->setup);
	if (!rc)
		rc = put_terms(r, root, "parts", &d->parts);
	for (size_t i = 0; !rc && i < d->parts.n; i++)
		if (!d->parts.items[i].name && d->parts.items[i].take != TAKE_EACH)
			rc = fault(r, doc_get(root, "parts"), "parts",
				   "a part needs a name, or take: each with a group \"name\"");
	return rc ? rc : put_conditions(r, root);
}

int timer_def_parse(struct timer_def **ret, const char *file, const void *bytes, size_t n,
		    struct err *err)
{
	struct timer_def *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->arena.max_bytes = (size_t)64 << 20;
	struct def_reader r = { .def = d, .file = file, .err = err };
	struct doc_node *root = NULL;
	int rc = doc_parse(&d->arena, file, bytes, n, &root, err);
	if (!rc)
		rc = put_definition(&r, root);
	if (rc) {
		timer_def_free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void timer_def_free(struct timer_def *def)
{
	if (!def)
		return;
	for (size_t i = 0; i < def->n_patterns; i++)
		pattern_free(def->patterns[i]);
	arena_free(&def->arena);
	free(def);
}

const char *timer_def_covers(const struct timer_def *def)
{
	return def->covers;
}

const char *timer_def_ranks(const struct timer_def *def)
{
	return def->ranks;
}

const char *timer_def_source(const struct timer_def *def)
{
	return def->source;
}

int timer_def_device_sync(const struct timer_def *def)
{
	return def->device_sync;
}

const char *timer_def_caveat(const struct timer_def *def)
{
	return def->caveat;
}

struct txts timer_def_files(const struct timer_def *def)
{
	return def->files;
}
