/* From libyaml's events to a tree of nodes with places. */
#include "suite/doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct builder {
	struct arena *arena;
	const char *file;
	struct err *err;
	const char *bytes; /* of the file, to find the line of a byte */
	size_t n;
	yaml_parser_t parser;
	size_t nodes;
};

int doc_error(struct err *err, const char *file, const struct doc_node *at, const char *format, ...)
{
	char sentence[ERR_TEXT_BYTES];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	return err_set(err, -EINVAL, "%s:%u:%u: %s", file, at->line, at->column, sentence);
}

const char *doc_kind_name(enum doc_kind kind)
{
	return kind == DOC_TEXT ? "a text" : kind == DOC_LIST ? "a list" : "a mapping";
}

struct doc_node *doc_get(const struct doc_node *map, const char *key)
{
	for (size_t i = 0; map && map->kind == DOC_MAP && i < map->n; i++)
		if (strcmp(map->keys[i]->text, key) == 0)
			return map->items[i];
	return NULL;
}

static struct doc_node place(yaml_mark_t mark)
{
	return (struct doc_node){ .line = (unsigned)mark.line + 1,
				  .column = (unsigned)mark.column + 1 };
}

static int refuse(struct builder *b, yaml_mark_t mark, const char *sentence)
{
	struct doc_node at = place(mark);
	return doc_error(b->err, b->file, &at, "%s", sentence);
}

/* Bytes that are no text have no line of libyaml's. */
static int bad_byte(struct builder *b, size_t at, const char *what)
{
	struct doc_node node = { .line = 1, .column = 1 };
	for (size_t i = 0; i < at && i < b->n; i++) {
		node.column = b->bytes[i] == '\n' ? 1 : node.column + 1;
		node.line += b->bytes[i] == '\n';
	}
	return doc_error(b->err, b->file, &node, "%s; a file must be UTF-8", what);
}

/* A line, counted from 0, that is indented with a tab: the fault people meet first. */
static bool is_tabbed(const struct builder *b, size_t line)
{
	size_t i = 0;
	for (; line && i < b->n; i++)
		line -= b->bytes[i] == '\n';
	while (i < b->n && b->bytes[i] == ' ')
		i++;
	return i < b->n && b->bytes[i] == '\t';
}

/* The next event, or the parser's complaint with its place. */
static int next(struct builder *b, yaml_event_t *ret)
{
	if (yaml_parser_parse(&b->parser, ret))
		return 0;
	const yaml_parser_t *p = &b->parser;
	if (p->error == YAML_MEMORY_ERROR)
		return err_set(b->err, -ENOMEM, "out of memory");
	const char *what = p->problem ? p->problem : "not YAML";
	if (p->error == YAML_READER_ERROR)
		return bad_byte(b, p->problem_offset, what);
	struct doc_node at = place(p->problem_mark);
	if (p->error == YAML_SCANNER_ERROR && is_tabbed(b, p->problem_mark.line))
		return doc_error(b->err, b->file, &at, "a tab; YAML is indented with blanks");
	return doc_error(b->err, b->file, &at, "%s%s%s", what, p->context ? ", " : "",
			 p->context ? p->context : "");
}

static struct doc_node *node_new(struct builder *b, enum doc_kind kind, yaml_mark_t mark,
				 int *ret_rc)
{
	if (++b->nodes > DOC_MAX_NODES) {
		*ret_rc = refuse(b, mark, "too many values in one file; split it");
		return NULL;
	}
	struct doc_node *node = arena_alloc(b->arena, sizeof *node);
	if (!node) {
		*ret_rc = err_set(b->err, -ENOMEM, "out of memory");
		return NULL;
	}
	*node = place(mark);
	node->kind = kind;
	return node;
}

static int build(struct builder *b, yaml_event_t *event, unsigned depth, struct doc_node **ret);

static int scalar(struct builder *b, const yaml_event_t *event, struct doc_node **ret)
{
	if (event->data.scalar.anchor || event->data.scalar.tag)
		return refuse(b, event->start_mark,
			      "anchors (&) and tags (!) are not used here; write the value itself, "
			      "in quotes if it begins with such a character");
	int rc = 0;
	struct doc_node *node = node_new(b, DOC_TEXT, event->start_mark, &rc);
	if (!node)
		return rc;
	const char *text = (const char *)event->data.scalar.value;
	if (memchr(text, 0, event->data.scalar.length))
		return refuse(b, event->start_mark, "a text may not contain a NUL character");
	node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	node->text = arena_strndup(b->arena, text, event->data.scalar.length);
	if (!node->text)
		return err_set(b->err, -ENOMEM, "out of memory");
	*ret = node;
	return 0;
}

static int key_is_new(struct builder *b, const struct doc_node *map, const struct doc_node *key)
{
	if (key->kind != DOC_TEXT)
		return doc_error(b->err, b->file, key, "a key must be a plain word, this is %s",
				 doc_kind_name(key->kind));
	if (!key->quoted && strcmp(key->text, "<<") == 0)
		return doc_error(b->err, b->file, key,
				 "merge keys (<<) are not used here; write the values themselves");
	if (map->n >= DOC_MAX_KEYS)
		return doc_error(b->err, b->file, key, "more than %d keys in one mapping",
				 DOC_MAX_KEYS);
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->keys[i]->text, key->text) == 0)
			return doc_error(
				b->err, b->file, key,
				"\"%s\" is here twice, first at line %u, column %u; remove one",
				key->text, map->keys[i]->line, map->keys[i]->column);
	return 0;
}

/* The items of a list or mapping up to its end event. */
static int children(struct builder *b, struct doc_node *node, unsigned depth)
{
	size_t room = 0, key_room = 0;
	for (;;) {
		yaml_event_t event;
		int rc = next(b, &event);
		if (rc)
			return rc;
		if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return 0;
		}
		struct doc_node *key = NULL, *value = NULL;
		rc = build(b, &event, depth, node->kind == DOC_MAP ? &key : &value);
		yaml_event_delete(&event);
		if (!rc && node->kind == DOC_MAP) {
			rc = key_is_new(b, node, key);
			if (rc || (rc = next(b, &event)))
				return rc;
			rc = build(b, &event, depth, &value);
			yaml_event_delete(&event);
		}
		if (rc)
			return rc;
		node->items =
			arena_grow(b->arena, node->items, &room, node->n + 1, sizeof *node->items);
		if (node->kind == DOC_MAP)
			node->keys = arena_grow(b->arena, node->keys, &key_room, node->n + 1,
						sizeof *node->keys);
		if (!node->items || (node->kind == DOC_MAP && !node->keys))
			return err_set(b->err, -ENOMEM, "out of memory");
		node->items[node->n] = value;
		if (node->kind == DOC_MAP)
			node->keys[node->n] = key;
		node->n++;
	}
}

static int build(struct builder *b, yaml_event_t *event, unsigned depth, struct doc_node **ret)
{
	if (depth > DOC_MAX_DEPTH)
		return refuse(b, event->start_mark, "nested too deeply");
	if (event->type == YAML_ALIAS_EVENT)
		return refuse(
			b, event->start_mark,
			"aliases (*) are not used here; write the value itself, in quotes if it "
			"begins with *");
	if (event->type == YAML_SCALAR_EVENT)
		return scalar(b, event, ret);
	bool map = event->type == YAML_MAPPING_START_EVENT;
	if (map ? event->data.mapping_start.anchor || event->data.mapping_start.tag
		: event->data.sequence_start.anchor || event->data.sequence_start.tag)
		return refuse(b, event->start_mark,
			      "anchors (&) and tags (!) are not used here; write the value itself");
	int rc = 0;
	struct doc_node *node = node_new(b, map ? DOC_MAP : DOC_LIST, event->start_mark, &rc);
	if (!node)
		return rc;
	*ret = node;
	return children(b, node, depth + 1);
}

/* Exactly one document, and its root. */
static int document(struct builder *b, struct doc_node **ret_root)
{
	struct doc_node *root = NULL;
	for (;;) {
		yaml_event_t event;
		int rc = next(b, &event);
		if (rc)
			return rc;
		bool end = event.type == YAML_STREAM_END_EVENT;
		bool value =
			event.type == YAML_SCALAR_EVENT || event.type == YAML_MAPPING_START_EVENT ||
			event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_ALIAS_EVENT;
		if (event.type == YAML_DOCUMENT_START_EVENT && root)
			rc = refuse(b, event.start_mark, "a second document; one file holds one");
		else if (value)
			rc = build(b, &event, 0, &root);
		yaml_event_delete(&event);
		if (rc)
			return rc;
		if (end)
			break;
	}
	if (!root)
		return err_set(b->err, -EINVAL, "%s:1:1: the file is empty", b->file);
	*ret_root = root;
	return 0;
}

int doc_parse(struct arena *a, const char *file, const void *bytes, size_t n,
	      struct doc_node **ret_root, struct err *err)
{
	if (n > DOC_MAX_BYTES)
		return err_set(err, -EINVAL,
			       "%s: larger than %zu bytes, the limit for this kind of file", file,
			       DOC_MAX_BYTES);
	struct builder b = { .arena = a, .file = file, .err = err, .bytes = bytes, .n = n };
	if (!yaml_parser_initialize(&b.parser))
		return err_set(err, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&b.parser, bytes, n);
	int rc = document(&b, ret_root);
	yaml_parser_delete(&b.parser);
	return rc;
}
