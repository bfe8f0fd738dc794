/* Replacing {NAME}. */
#include "suite/subst.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "lib/buf.h"

#define MAX_TEXT ((size_t)1 << 20)

const char *scope_get(const struct scope *s, const char *name, size_t n)
{
	for (size_t l = 0; l < sizeof s->lists / sizeof *s->lists; l++)
		for (size_t i = 0; i < s->n[l]; i++)
			if (strncmp(s->lists[l][i].name, name, n) == 0 && !s->lists[l][i].name[n])
				return s->lists[l][i].value;
	return NULL;
}

/* The length of the name in "{NAME}" at p, or 0. */
static size_t name_in_braces(const char *p)
{
	if (*p != '{' || !(isalpha((unsigned char)p[1]) || p[1] == '_'))
		return 0;
	size_t n = 1;
	while (isalnum((unsigned char)p[1 + n]) || p[1 + n] == '_')
		n++;
	return p[1 + n] == '}' ? n : 0;
}

static int unknown_name(struct err *err, const char *file, const struct doc_node *node,
			const char *name, size_t n)
{
	return doc_error(err, file, node,
			 "{%.*s} stands for nothing here; declare it in vars, env or sweep, or "
			 "write {{%.*s}} for "
			 "the braces themselves",
			 (int)n, name, (int)n, name);
}

const char *subst(struct arena *a, const char *file, const struct doc_node *node,
		  const struct scope *s, struct err *err)
{
	if (!strchr(node->text, '{'))
		return node->text;
	struct buf out = { .max = MAX_TEXT };
	const char *p = node->text;
	while (*p) {
		size_t doubled = p[0] == '{' ? name_in_braces(p + 1) : 0;
		size_t n = name_in_braces(p);
		if (doubled && p[doubled + 3] == '}') {
			buf_put(&out, p + 1, doubled + 2);
			p += doubled + 4;
		} else if (n && !(p > node->text && p[-1] == '$')) {
			const char *value = scope_get(s, p + 1, n);
			if (!value) {
				(void)unknown_name(err, file, node, p + 1, n);
				buf_done(&out);
				return NULL;
			}
			buf_puts(&out, value);
			p += n + 2;
		} else {
			buf_put(&out, p++, 1);
		}
	}
	const char *text = out.failed ? NULL : arena_strndup(a, out.data ? out.data : "", out.len);
	if (!text)
		(void)doc_error(err, file, node, "too long, or out of memory");
	buf_done(&out);
	return text;
}

bool subst_uses(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = text; (p = strchr(p, '{')); p++)
		if (name_in_braces(p) == n && strncmp(p + 1, name, n) == 0)
			return true;
	return false;
}
