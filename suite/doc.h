/* A YAML document as a tree in which every node knows its place. Strict: one document, no
 * anchors, aliases, tags or merge keys, no key twice; limits on size, depth and number of nodes.
 * A scalar is its text: nothing is ever turned into a number or a truth value by itself, so
 * "on", "1e3" and "010" arrive as they were written. */
#ifndef SUITE_DOC_H
#define SUITE_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"

#define DOC_MAX_BYTES ((size_t)1 << 20)
#define DOC_MAX_DEPTH 16
#define DOC_MAX_NODES 200000
#define DOC_MAX_KEYS 4096 /* in one mapping */

enum doc_kind { DOC_TEXT, DOC_LIST, DOC_MAP };

struct doc_node {
	enum doc_kind kind;
	bool quoted;             /* a scalar in quotes or a block scalar */
	const char *text;        /* of a scalar; NUL-terminated, without NUL inside */
	struct doc_node **items; /* of a list or a map's values, in the order of the file */
	struct doc_node **keys;  /* of a map */
	size_t n;
	unsigned line, column; /* from 1 */
};

/* Nodes live in the arena. -EINVAL with file:line:column. */
int doc_parse(struct arena *a, const char *file, const void *bytes, size_t n,
	      struct doc_node **ret_root, struct err *err);

/* The value of a key, or NULL. */
struct doc_node *doc_get(const struct doc_node *map, const char *key);

const char *doc_kind_name(enum doc_kind kind); /* "a text", "a list", "a mapping" */

/* "file:line:column: sentence"; returns -EINVAL. */
int doc_error(struct err *err, const char *file, const struct doc_node *at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
