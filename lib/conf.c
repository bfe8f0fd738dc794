/* One table behind inih. */
#define _GNU_SOURCE
#include "lib/conf.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"

#define FILE_MAX (1 << 20)
#define LINE_MAX_                                                                                  \
	190            /* inih's own limit is 200 with its ends; a longer line it would cut in two \
			*/
#define WORD_MAX 150   /* so that "key = word" is no longer than a line */
#define SECTION_MAX 48 /* the same, for [section] */
#define ITEMS_MAX 256

struct parse {
	const struct conf_table *table;
	void *into;
	struct arena *arena;
	struct {
		const char *section, *key;
	} * given; /* in this file */
	size_t n_given, given_cap;
	struct err why;
	int rc, line, bad_line; /* bad_line: where rc comes from */
	const char *at, *end;   /* text that is still to be read */
};

/* ---- values ---- */

static bool take_flag(const char *value, bool *ret)
{
	static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no",
										       "false",
										       "off", "0" };
	for (size_t i = 0; i < 4; i++) {
		if (strcasecmp(value, yes[i]) == 0)
			return *ret = true;
		if (strcasecmp(value, no[i]) == 0) {
			*ret = false;
			return true;
		}
	}
	return false;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t n = strlen(value);
	for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (n && strncmp(at, value, n) == 0 && (at[n] == '|' || !at[n]))
			return true;
	return false;
}

static bool is_list(enum conf_type type)
{
	return type == CONF_WORDS || type == CONF_ARGV;
}

static int take_words(struct arena *a, struct conf_words *words, const struct conf_key *k,
		      const char *value, struct err *err)
{
	const char *key = k->key, *between = k->type == CONF_ARGV ? " \t" : " \t,";
	size_t cap = words->n;
	char *copy = arena_strdup(a, value), *save = NULL;
	if (!copy)
		return -ENOMEM;
	for (char *w = strtok_r(copy, between, &save); w; w = strtok_r(NULL, between, &save)) {
		if (w[0] == ';') /* "=;x" and ",;x", which would come back as a comment */
			return err_set(err, -EINVAL,
				       "%s: a word can't begin with ;, which begins a comment",
				       key);
		if (strlen(w) > WORD_MAX)
			return err_set(err, -EINVAL, "%s: a word has at most %d bytes", key,
				       WORD_MAX);
		const char **items = arena_grow(a, words->items, &cap, words->n + 1, sizeof *items);
		if (!items)
			return -ENOMEM;
		words->items = items;
		words->items[words->n++] = w;
	}
	return 0;
}

static int take_number(const struct conf_key *k, const char *value, double *ret, struct err *err)
{
	char *end = NULL;
	double x = strtod(value, &end);
	bool whole = k->type == CONF_COUNT;
	if (end == value || *end || !isfinite(x) || x < k->min || x > k->max ||
	    (whole && x != floor(x)))
		return err_set(err, -EINVAL, "%s = %s: expected a %snumber from %.15g to %.15g",
			       k->key, value, whole ? "whole " : "", k->min, k->max);
	*ret = x;
	return 0;
}

/* An empty value is none. */
static int take_value(const struct conf_key *k, struct arena *a, void *base, const char *value,
		      struct err *err)
{
	void *at = (char *)base + k->offset;
	int rc = 0;
	switch (k->type) {
	case CONF_TEXT:
		if (value[0] == ';')
			return err_set(err, -EINVAL,
				       "%s: a text can't begin with ;, which begins a comment",
				       k->key);
		*(const char **)at = *value ? arena_strdup(a, value) : NULL;
		return *value && !*(const char **)at ? -ENOMEM : 0;
	case CONF_CHOICE:
		if (!is_choice(k->choices, value))
			return err_set(err, -EINVAL, "%s = %s: expected one of %s", k->key, value,
				       k->choices);
		*(const char **)at = arena_strdup(a, value);
		return *(const char **)at ? 0 : -ENOMEM;
	case CONF_COUNT:
	case CONF_NUMBER:
		if (!*value)
			*(double *)at = NAN;
		else
			rc = take_number(k, value, at, err);
		return rc;
	case CONF_FLAG:
		if (!take_flag(value, at))
			return err_set(err, -EINVAL, "%s = %s: expected yes or no", k->key, value);
		return 0;
	case CONF_WORDS:
	case CONF_ARGV:
		return take_words(a, at, k, value, err);
	}
	return -EINVAL;
}

static int take_default(const struct conf_key *k, struct arena *a, void *base)
{
	bool may_be_empty = k->type != CONF_FLAG && k->type != CONF_CHOICE;
	if (!k->fallback && !may_be_empty)
		return 0;
	return take_value(k, a, base, k->fallback ? k->fallback : "", NULL);
}

static const struct conf_group *group_of(const struct conf_table *t, const char *kind, size_t n)
{
	for (size_t i = 0; i < t->n_groups; i++)
		if (strlen(t->groups[i].kind) == n && strncmp(t->groups[i].kind, kind, n) == 0)
			return &t->groups[i];
	return NULL;
}

int conf_defaults(const struct conf_table *t, void *into, struct arena *a)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < t->n_keys; i++) {
		const struct conf_key *k = &t->keys[i];
		if (!group_of(t, k->section, strlen(k->section)))
			rc = take_default(k, a, into);
	}
	return rc;
}

/* ---- named sections ---- */

void *conf_find(const struct conf_group *g, const void *into, const char *name)
{
	const struct conf_list *list =
		(const struct conf_list *)(const void *)((const char *)into + g->offset);
	for (size_t i = 0; i < list->n; i++) {
		char *item = (char *)list->items + i * g->item_bytes;
		if (strcmp(*(const char *const *)(void *)item, name) == 0)
			return item;
	}
	return NULL;
}

static void *item_of(struct parse *p, const struct conf_group *g, const char *name)
{
	void *item = conf_find(g, p->into, name);
	if (item)
		return item;
	struct conf_list *list = (struct conf_list *)(void *)((char *)p->into + g->offset);
	if (list->n >= ITEMS_MAX)
		return NULL;
	void *items = arena_grow(p->arena, list->items, &list->cap, list->n + 1, g->item_bytes);
	if (!items)
		return NULL;
	list->items = items;
	item = (char *)items + list->n * g->item_bytes;
	memset(item, 0, g->item_bytes);
	*(const char **)item = arena_strdup(p->arena, name);
	if (!*(const char **)item)
		return NULL;
	for (size_t i = 0; i < p->table->n_keys; i++)
		if (strcmp(p->table->keys[i].section, g->kind) == 0 &&
		    take_default(&p->table->keys[i], p->arena, item))
			return NULL;
	list->n++;
	return item;
}

/* ---- a file ---- */

static const struct conf_key *key_of(const struct conf_table *t, const char *section, size_t n,
				     const char *key)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct conf_key *k = &t->keys[i];
		if (strlen(k->section) == n && strncmp(k->section, section, n) == 0 &&
		    strcmp(k->key, key) == 0)
			return k;
	}
	return NULL;
}

static bool section_known(const struct conf_table *t, const char *section, size_t n)
{
	for (size_t i = 0; i < t->n_keys; i++)
		if (strlen(t->keys[i].section) == n && strncmp(t->keys[i].section, section, n) == 0)
			return true;
	return false;
}

static void name_keys(const struct conf_table *t, const char *section, size_t n, struct buf *b)
{
	for (size_t i = 0; i < t->n_keys; i++)
		if (strlen(t->keys[i].section) == n && strncmp(t->keys[i].section, section, n) == 0)
			buf_printf(b, "%s%s", b->len ? ", " : "", t->keys[i].key);
}

static void name_sections(const struct conf_table *t, struct buf *b)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const char *s = t->keys[i].section;
		if (i && strcmp(t->keys[i - 1].section, s) == 0)
			continue;
		buf_printf(b, "%s[%s%s]", b->len ? ", " : "", s,
			   group_of(t, s, strlen(s)) ? " NAME" : "");
	}
}

static int unknown(struct parse *p, const char *section, size_t n, const char *key)
{
	struct buf names = { 0 };
	int rc;
	if (section_known(p->table, section, n)) {
		name_keys(p->table, section, n, &names);
		rc = err_set(&p->why, -EINVAL, "unknown key \"%s\" in section [%.*s]; it has %s",
			     key, (int)n, section, names.data ? names.data : "none");
	} else {
		name_sections(p->table, &names);
		rc = err_set(&p->why, -EINVAL, "unknown section [%.*s]; there are %s", (int)n,
			     section, names.data ? names.data : "none");
	}
	buf_done(&names);
	return rc;
}

/* Was it given before in this file? Notes that it is now. */
static int note_given(struct parse *p, const struct conf_key *k, const char *section,
		      bool *ret_before)
{
	*ret_before = false;
	for (size_t i = 0; i < p->n_given; i++)
		if (strcmp(p->given[i].key, k->key) == 0 &&
		    strcmp(p->given[i].section, section) == 0) {
			*ret_before = true;
			return 0;
		}
	void *given =
		arena_grow(p->arena, p->given, &p->given_cap, p->n_given + 1, sizeof *p->given);
	char *copy = arena_strdup(p->arena, section);
	if (!given || !copy)
		return -ENOMEM;
	p->given = given;
	p->given[p->n_given].section = copy;
	p->given[p->n_given++].key = k->key;
	return 0;
}

static int take_line(struct parse *p, const char *section, const char *key, const char *value)
{
	size_t n = strcspn(section, " \t");
	const char *name = section + n + strspn(section + n, " \t");
	const struct conf_group *g = group_of(p->table, section, n);
	const struct conf_key *k = key_of(p->table, section, n, key);
	if (strlen(section) > SECTION_MAX)
		return err_set(&p->why, -EINVAL, "[%s...]: a section's name has at most %d bytes",
			       section, SECTION_MAX);
	if (!k)
		return unknown(p, section, n, key);
	if (!g && *name)
		return err_set(&p->why, -EINVAL,
			       "section [%.*s] has no name of its own; write [%.*s]", (int)n,
			       section, (int)n, section);
	if (g && !*name)
		return err_set(&p->why, -EINVAL, "section [%s] needs a name; write [%s NAME]",
			       section, section);

	void *base = g ? item_of(p, g, name) : p->into;
	bool before;
	if (!base || note_given(p, k, section, &before))
		return err_set(&p->why, -ENOMEM, "out of memory, or more than %d sections",
			       ITEMS_MAX);
	if (before && !is_list(k->type))
		return err_set(&p->why, -EINVAL, "%s is given twice in this section; leave one",
			       key);
	/* The file's words take the place of the default's or of an earlier file's. */
	if (!before && is_list(k->type))
		*(struct conf_words *)(void *)((char *)base + k->offset) = (struct conf_words){ 0 };
	return take_value(k, p->arena, base, value, &p->why);
}

static int on_line(void *user, const char *section, const char *key, const char *value)
{
	struct parse *p = user;
	if (p->rc)
		return 1; /* the first complaint is the one to show */
	p->rc = take_line(p, section, key, value ? value : "");
	p->bad_line = p->line;
	return p->rc == 0;
}

/* Reads a line for inih, as fgets does, and counts: inih tells its handler no line. */
static char *next_line(char *into, int room, void *stream)
{
	struct parse *p = stream;
	if (p->at == p->end || room < 2)
		return NULL;
	const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
	size_t n = newline ? (size_t)(newline + 1 - p->at) : (size_t)(p->end - p->at);
	if (n > (size_t)room - 1)
		n = (size_t)room - 1;
	memcpy(into, p->at, n);
	into[n] = 0;
	p->at += n;
	p->line++;
	return into;
}

/* What inih would quietly read otherwise: lines over its buffer, NULs and other control characters
 * (some of which are blanks to it). 0, or the line. */
static int bad_line(const char *text, size_t n)
{
	int line = 1;
	size_t begin = 0;
	for (size_t i = 0; i < n; i++) {
		bool end = text[i] == '\n' || (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n');
		bool control = (unsigned char)text[i] < 32 && text[i] != '\t' && !end;
		if (control || i - begin > LINE_MAX_)
			return line;
		if (text[i] == '\n') {
			line++;
			begin = i + 1;
		}
	}
	return 0;
}

int conf_parse(const struct conf_table *t, void *into, struct arena *a, const char *name,
	       const char *text, size_t n, struct err *err)
{
	int line = bad_line(text, n);
	if (line)
		return err_set(err, -EINVAL,
			       "%s:%d: the line is longer than %d bytes, or holds a control "
			       "character; a list may be given in several lines",
			       name, line, LINE_MAX_);
	struct parse p = { .table = t, .into = into, .arena = a, .at = text, .end = text + n };
	line = ini_parse_stream(next_line, &p, on_line, &p);
	if (line < 0 || p.rc == -ENOMEM)
		return err_set(err, -ENOMEM, "%s: out of memory", name);
	if (p.rc && line >= p.bad_line)
		return err_set(err, p.rc, "%s:%d: %s", name, p.bad_line, p.why.text);
	if (line > 0)
		return err_set(err, -EINVAL, "%s:%d: expected [section] or key = value", name,
			       line);
	return 0;
}

int conf_load(const struct conf_table *t, void *into, struct arena *a, const char *path,
	      struct err *err)
{
	struct buf b = { .max = FILE_MAX };
	int rc = file_read(&b, path, err);
	if (!rc)
		rc = conf_parse(t, into, a, path, b.data ? b.data : "", b.len, err);
	buf_done(&b);
	return rc;
}

/* ---- back to text ---- */

static void print_words(const struct conf_key *k, const struct conf_words *words, struct buf *b)
{
	size_t used = 0;
	for (size_t i = 0; i < words->n; i++) {
		size_t n = strlen(words->items[i]);
		if (i && used + n > 100) {
			buf_printf(b, "\n%s =", k->key);
			used = 0;
		}
		buf_printf(b, " %s", words->items[i]);
		used += n + 1;
	}
}

static void print_value(const struct conf_key *k, const void *base, struct buf *b)
{
	const void *at = (const char *)base + k->offset;
	buf_printf(b, "%s =", k->key);
	switch (k->type) {
	case CONF_TEXT:
	case CONF_CHOICE:
		if (*(const char *const *)at)
			buf_printf(b, " %s", *(const char *const *)at);
		break;
	case CONF_COUNT:
	case CONF_NUMBER:
		if (!isnan(*(const double *)at))
			buf_printf(b, " %.15g", *(const double *)at);
		break;
	case CONF_FLAG:
		buf_puts(b, *(const bool *)at ? " yes" : " no");
		break;
	case CONF_WORDS:
	case CONF_ARGV:
		print_words(k, at, b);
		break;
	}
	buf_puts(b, "\n");
}

static void print_section(const struct conf_table *t, const char *section, const void *base,
			  struct buf *b)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		if (strcmp(t->keys[i].section, section) != 0)
			continue;
		buf_printf(b, "# %s\n", t->keys[i].help);
		print_value(&t->keys[i], base, b);
	}
}

void conf_print(const struct conf_table *t, const void *into, struct buf *b)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const char *s = t->keys[i].section;
		if (i && strcmp(t->keys[i - 1].section, s) == 0)
			continue;
		const struct conf_group *g = group_of(t, s, strlen(s));
		if (!g) {
			buf_printf(b, "%s[%s]\n", b->len ? "\n" : "", s);
			print_section(t, s, into, b);
			continue;
		}
		const struct conf_list *list =
			(const struct conf_list *)(const void *)((const char *)into + g->offset);
		for (size_t k = 0; k < list->n; k++) {
			const char *item = (const char *)list->items + k * g->item_bytes;
			buf_printf(b, "%s[%s %s]\n", b->len ? "\n" : "", s,
				   *(const char *const *)(const void *)item);
			print_section(t, s, item, b);
		}
	}
}
