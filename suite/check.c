/* What a suite may say: every key and value is looked at here, before anything is made of it. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/name.h"
#include "suite/env.h"
#include "suite/keys.h"
#include "suite/near.h"
#include "suite/pattern.h"
#include "suite/reader.h"

#define MAX_COUNT 10000000L
#define MAX_TIMEOUT_S (30.0 * 86400)
#define MIN_REASON 10

static int fault(struct suite_reader *r, const struct doc_node *at, const char *key,
		 const char *why)
{
	return doc_error(r->err, r->suite->file, at, "%s: %s", key, why);
}

/* ---- values ---------------------------------------------------------------------------------- */

const char *suite_name_fault(const char *name)
{
	return name_fault(str_of(name));
}

double suite_duration(const char *text)
{
	const char *p = text;
	while (isdigit((unsigned char)*p) || *p == '.')
		p++;
	if (p == text || !isdigit((unsigned char)*text) || (*p && p[1]))
		return NAN;
	char *end;
	double value = strtod(text, &end);
	if (end != p)
		return NAN;
	double unit = !*p || *p == 's' ? 1 : *p == 'm' ? 60 : *p == 'h' ? 3600 : NAN;
	return value * unit;
}

static bool count_ok(const char *text, long least)
{
	if (!*text || strlen(text) > 9)
		return false;
	for (const char *p = text; *p; p++)
		if (!isdigit((unsigned char)*p))
			return false;
	long value = strtol(text, NULL, 10);
	return value >= least && value <= MAX_COUNT;
}

static bool one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static bool region_ok(const char *text)
{
	if (strcmp(text, "markers") == 0)
		return true;
	if (strncmp(text, "timer:", 6) == 0)
		return !suite_name_fault(text + 6);
	return strncmp(text, "range:", 6) == 0 && text[6];
}

static bool profile_ok(const char *text)
{
	if (strcmp(text, "yes") == 0 || strcmp(text, "true") == 0)
		return true;
	size_t n = strlen(text);
	return strncmp(text, "no (", 4) == 0 && text[n - 1] == ')' && n >= 5 + MIN_REASON;
}

/* A word as it can stand in {NAME}. */
static bool identifier(const char *text)
{
	if (!isalpha((unsigned char)*text) && *text != '_')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_')
			return false;
	return true;
}

static const char *const better_words[] = { "higher", "lower", NULL };
static const char *const time_units[] = { "s", "ms", "us", "ns", NULL };
static const char *const verify_words[] = { "outside", "inside", "skipped", "none", NULL };
static const char *const yes_words[] = { "true", "false", NULL };

/* What is wrong with a text of this type, or NULL. */
static const char *text_fault(enum suite_type type, const char *text)
{
	switch (type) {
	case KEY_YES:
		return one_of(text, yes_words) ? NULL : "must be true or false";
	case KEY_COUNT:
		return count_ok(text, 1) ? NULL : "must be a whole number from 1 on";
	case KEY_COUNT0:
		return count_ok(text, 0) ? NULL : "must be a whole number from 0 on";
	case KEY_DURATION:
		return suite_duration(text) > 0 && suite_duration(text) <= MAX_TIMEOUT_S
			       ? NULL
			       : "must be a time above 0 and up to 30 days: 90, 90s, 10m or 1h";
	case KEY_TIME_UNIT:
		return one_of(text, time_units) ? NULL : "must be s, ms, us or ns";
	case KEY_BETTER:
		return one_of(text, better_words) ? NULL : "must be higher or lower";
	case KEY_REGION:
		return region_ok(text) ? NULL : "must be markers, timer:NAME or range:ANNOTATION";
	case KEY_PROFILE:
		return profile_ok(text) ? NULL
					: "must be yes, or no (REASON) with a reason of at least "
					  "10 characters";
	case KEY_VERIFY:
		return one_of(text, verify_words) ? NULL
						  : "must be outside, inside, skipped or none";
	default:
		return *text ? NULL : "is empty";
	}
}

/* A text, with something in it: "key:" alone is YAML for nothing at all. */
static int want_text(struct suite_reader *r, const char *key, const struct doc_node *node)
{
	if (node->kind != DOC_TEXT)
		return doc_error(r->err, r->suite->file, node, "%s: must be a text, this is %s",
				 key, doc_kind_name(node->kind));
	if (!node->quoted && !*node->text)
		return fault(r, node, key, "has no value; write \"\" if it is meant to be empty");
	return 0;
}

static int want_texts(struct suite_reader *r, const char *key, const struct doc_node *node)
{
	if (node->kind != DOC_LIST)
		return doc_error(r->err, r->suite->file, node,
				 "%s: must be a list of texts, this is %s", key,
				 doc_kind_name(node->kind));
	for (size_t i = 0; i < node->n; i++) {
		int rc = want_text(r, key, node->items[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static int check_env_name(struct suite_reader *r, const char *key, const struct doc_node *name)
{
	enum env_verdict v = env_may_declare(name->text);
	switch (v) {
	case ENV_BAD_NAME:
		return doc_error(r->err, r->suite->file, name,
				 "%s: bad name \"%s\"; environment variables are written in "
				 "capitals, digits and _",
				 key, name->text);
	case ENV_CREDENTIAL:
		return doc_error(
			r->err, r->suite->file, name,
			"%s: credential name %s; what looks like one is never passed to a program",
			key, name->text);
	case ENV_RESERVED:
		return doc_error(r->err, r->suite->file, name,
				 "%s: reserved name %s; it is set by the tool itself", key,
				 name->text);
	default:
		return 0;
	}
}

static int check_env_names(struct suite_reader *r, const char *key, const struct doc_node *list)
{
	int rc = want_texts(r, key, list);
	if (!rc && list->n > DOC_MAX_KEYS)
		rc = fault(r, list, key, "too many names");
	for (size_t i = 0; !rc && i < list->n; i++) {
		rc = check_env_name(r, key, list->items[i]);
		for (size_t k = 0; !rc && k < i; k++)
			if (strcmp(list->items[k]->text, list->items[i]->text) == 0)
				rc = doc_error(r->err, r->suite->file, list->items[i],
					       "%s: %s is here twice, first at line %u, column %u; "
					       "remove one",
					       key, list->items[i]->text, list->items[k]->line,
					       list->items[k]->column);
	}
	return rc;
}

/* A mapping from names to a text, or (with sweeps) to a list of texts. */
static int check_pairs(struct suite_reader *r, const struct suite_key *key,
		       const struct doc_node *map, unsigned where)
{
	if (map->kind != DOC_MAP)
		return doc_error(r->err, r->suite->file, map,
				 "%s: must be a mapping of names, this is %s", key->name,
				 doc_kind_name(map->kind));
	int rc = 0;
	for (size_t i = 0; !rc && i < map->n; i++) {
		const struct doc_node *name = map->keys[i], *value = map->items[i];
		if (key->type == KEY_ENV)
			rc = check_env_name(r, key->name, name);
		else if (!identifier(name->text))
			rc = doc_error(
				r->err, r->suite->file, name,
				"%s: bad name \"%s\"; a letter or _, then letters, digits, _",
				key->name, name->text);
		if (rc)
			break;
		bool sweep = value->kind == DOC_LIST && where == IN_CASE && key->type != KEY_VARS;
		if (value->kind == DOC_LIST && key->type == KEY_ENV && where != IN_CASE)
			rc = fault(r, value, name->text,
				   "a list of values is a sweep, which belongs to a case");
		else if (sweep && value->n == 0)
			rc = fault(r, value, name->text, "a sweep without values");
		else if (!sweep && key->type == KEY_SWEEP)
			rc = doc_error(r->err, r->suite->file, value,
				       "%s: must be a list of values, this is %s", name->text,
				       doc_kind_name(value->kind));
		else
			rc = sweep ? want_texts(r, name->text, value)
				   : want_text(r, name->text, value);
	}
	return rc;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static int check_map(struct suite_reader *r, const char *what, const struct doc_node *map,
		     unsigned where);

static int check_list(struct suite_reader *r, const struct suite_key *key,
		      const struct doc_node *list, const char *what, unsigned where)
{
	if (list->kind != DOC_LIST)
		return doc_error(r->err, r->suite->file, list, "%s: must be a list, this is %s",
				 key->name, doc_kind_name(list->kind));
	if (!list->n)
		return fault(r, list, key->name, "is empty; it needs at least one");
	int rc = 0;
	for (size_t i = 0; !rc && i < list->n; i++)
		rc = check_map(r, what, list->items[i], where);
	return rc;
}

static int check_regex(struct suite_reader *r, const struct doc_node *node)
{
	struct err why = { 0 };
	int rc = pattern_check(node->text, &why);
	return rc ? doc_error(r->err, r->suite->file, node, "%s", why.text) : 0;
}

/* The name of a case may hold {NAME}; what comes of it is checked when it is there. */
static int check_name(struct suite_reader *r, const char *key, const struct doc_node *node,
		      unsigned where)
{
	if (where == IN_CASE && strchr(node->text, '{'))
		return 0;
	const char *why = suite_name_fault(node->text);
	if (!why && where == IN_APP && strcmp(node->text, "all") == 0)
		why = "stands for every application where cases are chosen";
	return why ? doc_error(r->err, r->suite->file, node, "%s: \"%s\" %s", key, node->text, why)
		   : 0;
}

static int check_value(struct suite_reader *r, const struct suite_key *key,
		       const struct doc_node *node, unsigned where)
{
	switch (key->type) {
	case KEY_APPS:
		return check_list(r, key, node, "an application", IN_APP);
	case KEY_CASES:
		return check_list(r, key, node, "a case", IN_CASE);
	case KEY_FOM:
		return check_map(r, "fom", node, IN_FOM);
	case KEY_OWN_TIMER:
		return check_map(r, "own_timer", node, IN_OWN_TIMER);
	case KEY_ENV:
	case KEY_SWEEP:
	case KEY_VARS:
		return check_pairs(r, key, node, where);
	case KEY_ENV_NAMES:
		return check_env_names(r, key->name, node);
	case KEY_TEXTS:
		return want_texts(r, key->name, node);
	case KEY_COMMAND:
		if (node->kind == DOC_LIST)
			return node->n ? want_texts(r, key->name, node)
				       : fault(r, node, key->name, "is empty");
		break;
	default:
		break;
	}
	int rc = want_text(r, key->name, node);
	if (rc)
		return rc;
	const char *why = text_fault(key->type, node->text);
	if (why)
		return doc_error(r->err, r->suite->file, node, "%s: %s%s%s%s", key->name,
				 *node->text ? "\"" : "", node->text, *node->text ? "\" " : "",
				 why);
	if (key->type == KEY_REGEX)
		return check_regex(r, node);
	return key->type == KEY_NAME ? check_name(r, key->name, node, where) : 0;
}

/* Other words for the same, from other tools and from habit. */
static const char *synonym(const char *word)
{
	static const char *const words[][2] = {
		{ "pattern", "regex" },      { "regexp", "regex" },
		{ "applications", "apps" },  { "arguments", "args" },
		{ "environment", "env" },    { "variables", "env" },
		{ "processes", "ranks" },    { "nprocs", "ranks" },
		{ "np", "ranks" },           { "directory", "cwd" },
		{ "folder", "cwd" },         { "exe", "command" },
		{ "executable", "command" }, { "time_limit", "timeout" },
		{ "repeat", "clean" },       { "runs", "clean" },
		{ "inputs_files", "files" }, { "metric", "fom" },
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], word) == 0)
			return words[i][1];
	return NULL;
}

static int unknown_key(struct suite_reader *r, const struct doc_node *key, const char *what,
		       unsigned where)
{
	const char *known[64];
	size_t n = 0;
	for (size_t i = 0; i < n_suite_keys && n < 64; i++)
		if (suite_keys[i].where & where)
			known[n++] = suite_keys[i].name;
	const char *near = synonym(key->text);
	if (!near || !suite_key_find(near, where))
		near = near_word(key->text, known, n);
	if (near)
		return doc_error(r->err, r->suite->file, key,
				 "unknown key \"%s\" in %s; did you mean \"%s\"?", key->text, what,
				 near);
	return doc_error(r->err, r->suite->file, key,
			 "unknown key \"%s\" in %s; docs/suites.md lists the known ones", key->text,
			 what);
}

static int check_required(struct suite_reader *r, const char *what, const struct doc_node *map,
			  unsigned where)
{
	static const struct {
		unsigned where;
		const char *keys[5];
	} required[] = {
		{ IN_SUITE, { "suite", "apps" } },
		{ IN_APP, { "name", "cases" } },
		{ IN_CASE, { "name" } },
		{ IN_FOM, { "regex", "unit", "better" } },
		{ IN_OWN_TIMER, { "regex", "unit" } },
	};
	for (size_t i = 0; i < sizeof required / sizeof *required; i++)
		for (size_t k = 0; required[i].where == where && required[i].keys[k]; k++)
			if (!doc_get(map, required[i].keys[k]))
				return doc_error(r->err, r->suite->file, map,
						 "%s has no \"%s\"; add it", what,
						 required[i].keys[k]);
	return 0;
}

static int check_map(struct suite_reader *r, const char *what, const struct doc_node *map,
		     unsigned where)
{
	if (map->kind != DOC_MAP)
		return doc_error(r->err, r->suite->file, map,
				 "%s must be a mapping of keys, this is %s", what,
				 doc_kind_name(map->kind));
	for (size_t i = 0; i < map->n; i++) {
		const struct suite_key *key = suite_key_find(map->keys[i]->text, where);
		int rc = key ? check_value(r, key, map->items[i], where)
			     : unknown_key(r, map->keys[i], what, where);
		if (rc)
			return rc;
	}
	return check_required(r, what, map, where);
}

int suite_check(struct suite_reader *r, const struct doc_node *root)
{
	return check_map(r, "the suite", root, IN_SUITE);
}
