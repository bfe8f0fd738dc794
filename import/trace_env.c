/* Names only. Where one cannot be told from a piece of a value, it is not shown. */
#include "import/trace_env.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "suite/env.h"

/* A name as programs use them. Anything else may be a piece of a value that had a ';' in it. */
static bool plain_name(struct str name)
{
	if (name.n == 0 || name.n > 64 || isdigit((unsigned char)name.p[0]))
		return false;
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		if (!isupper(c) && !isdigit(c) && c != '_')
			return false;
	}
	return true;
}

static bool listed(const struct trace_env *e, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = e->list; (at = strstr(at, name)) != NULL; at += n)
		if ((at == e->list || at[-1] == ' ') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

void trace_env_name(struct trace_env *e, struct str s)
{
	char name[80], word[84];
	if (!plain_name(s))
		return;
	memcpy(name, s.p, s.n);
	name[s.n] = '\0';
	if (!env_denied(name) || listed(e, name))
		return; /* the same of another process, most likely */
	(void)snprintf(word, sizeof word, "%s%s", e->n ? ", " : "", name);
	e->n++;
	if (e->len + strlen(word) >= sizeof e->list) {
		e->more++;
		return;
	}
	memcpy(e->list + e->len, word, strlen(word) + 1);
	e->len += strlen(word);
}

void trace_env_pair(struct trace_env *e, struct str pair)
{
	const char *equal = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
	if (equal)
		trace_env_name(e, (struct str){ pair.p, (size_t)(equal - pair.p) });
}

void trace_env_pairs(struct trace_env *e, struct str pairs)
{
	while (pairs.n) {
		const char *end = memchr(pairs.p, ';', pairs.n);
		size_t n = end ? (size_t)(end - pairs.p) : pairs.n;
		trace_env_pair(e, (struct str){ pairs.p, n });
		pairs.p += n + (end != NULL);
		pairs.n -= n + (end != NULL);
	}
}

void trace_env_json(struct trace_env *e, struct str text)
{
	json_t *json = text.n && text.n < 1 << 24 ? json_loadb(text.p, text.n, 0, NULL) : NULL;
	for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at))
		trace_env_name(e, str_of(json_object_iter_key(at)));
	for (size_t i = 0; i < json_array_size(json); i++) {
		const char *pair = json_string_value(json_array_get(json, i));
		if (pair)
			trace_env_pair(e, str_of(pair));
	}
	json_decref(json);
}

int trace_env_tell(const struct trace_env *e, struct trace_sink *t)
{
	if (!e->n)
		return 0;
	return trace_note(
		t,
		"the trace holds the program's environment, and variables whose names look "
		"like credentials: %s%s; their values were not read, but they are in the file",
		e->list, e->more ? ", and more" : "");
}
