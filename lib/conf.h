/* Configuration files: INI, checked against one table a program. The table feeds the checks, the
 * defaults, the help and what --print-config shows, which parses back to itself.
 *
 * Sections may have a name of their own ([launcher mpirun]): such a table line stands for each of
 * them. A word list that is given again in the same section goes on; anything else given twice is
 * refused. A later file may give everything again. */
#ifndef LIB_CONF_H
#define LIB_CONF_H

#include <stddef.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

enum conf_type {
	CONF_TEXT,   /* const char *; NULL when empty */
	CONF_COUNT,  /* double, a whole number within min..max; NAN when empty */
	CONF_NUMBER, /* double within min..max; NAN when empty */
	CONF_FLAG,   /* bool: yes, no, true, false, on, off, 1, 0 */
	CONF_CHOICE, /* const char *, one of choices */
	CONF_WORDS,  /* struct conf_words, separated by blanks or commas */
	CONF_ARGV,   /* struct conf_words, separated by blanks: a command */
};

struct conf_words {
	const char **items;
	size_t n;
};

struct conf_key {
	const char *section, *key;
	enum conf_type type;
	size_t offset;        /* in the program's struct, or in the item of a named section */
	const char *fallback; /* as it would stand in a file; NULL: empty */
	double min, max;      /* of numbers */
	const char *choices;  /* "a|b" */
	const char *help;     /* one line */
};

/* Sections of this kind with names: [KIND NAME]. The list is in the program's struct; the first
 * member of an item is const char *name. */
struct conf_list {
	void *items;
	size_t n, cap;
};

struct conf_group {
	const char *kind;
	size_t offset, item_bytes;
};

struct conf_table {
	const struct conf_key *keys;
	size_t n_keys;
	const struct conf_group *groups;
	size_t n_groups;
};

/* Set every field to its default. into is the program's struct, all-zero before. -ENOMEM. */
int conf_defaults(const struct conf_table *t, void *into, struct arena *a);

/* Read a file over it. -ENOENT: no such file. -EINVAL with "file:line: what; what to do". */
int conf_load(const struct conf_table *t, void *into, struct arena *a, const char *path,
	      struct err *err);
int conf_parse(const struct conf_table *t, void *into, struct arena *a, const char *name,
	       const char *text, size_t n, struct err *err);

/* The item of this name, or NULL. */
void *conf_find(const struct conf_group *g, const void *into, const char *name);

/* Everything as a file, with the help as comments. */
void conf_print(const struct conf_table *t, const void *into, struct buf *b);

#endif
