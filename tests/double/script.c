/* The script: lines "key value...", from the file DOUBLE_SCRIPT, then from DOUBLE, where ";" ends a
 * line. A key may come several times; for a single value the last one counts. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

enum { LINES = 256, LINE = 256 };

static char lines[LINES][LINE];
static int count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add_text(char *text, const char *ends)
{
	char *save = NULL;

	for (char *line = strtok_r(text, ends, &save); line; line = strtok_r(NULL, ends, &save)) {
		line += strspn(line, " \t");
		if (*line == '#' || !*line)
			continue;
		if (count == LINES || strlen(line) >= LINE) {
			fprintf(stderr, "double: the script is too long: %s\n", line);
			abort();
		}
		snprintf(lines[count++], LINE, "%s", line);
	}
}

static void load(void)
{
	const char *path = getenv("DOUBLE_SCRIPT"), *text = getenv("DOUBLE");
	static char room[1 << 16];

	if (path && *path) {
		FILE *f = fopen(path, "re");
		if (!f) {
			fprintf(stderr, "double: cannot open the script %s\n", path);
			abort();
		}
		room[fread(room, 1, sizeof room - 1, f)] = 0;
		fclose(f);
		add_text(room, "\n");
	}
	if (text) {
		snprintf(room, sizeof room, "%s", text);
		add_text(room, ";\n");
	}
}

/* What follows the key on its line, or NULL. */
static const char *value_of(int i, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(lines[i], key, n) != 0 || (lines[i][n] && !strchr(" \t=", lines[i][n])))
		return NULL;
	return lines[i] + n + strspn(lines[i] + n, " \t=");
}

DOUBLE_EXPORT const char *script_text(const char *key)
{
	pthread_once(&once, load);
	for (int i = count - 1; i >= 0; i--) {
		const char *v = value_of(i, key);
		if (v)
			return v;
	}
	return NULL;
}

DOUBLE_EXPORT int64_t script_number(const char *key, int64_t otherwise)
{
	const char *v = script_text(key);

	return v ? strtoll(v, NULL, 0) : otherwise;
}

DOUBLE_EXPORT bool script_has(const char *key, int64_t value)
{
	pthread_once(&once, load);
	for (int i = 0; i < count; i++) {
		const char *v = value_of(i, key);
		char *end;
		for (; v && *v; v = end) {
			int64_t n = strtoll(v, &end, 0);
			if (end == v)
				break;
			if (n == value)
				return true;
		}
	}
	return false;
}

DOUBLE_EXPORT int64_t script_turn(const char *key, uint64_t n, int64_t otherwise)
{
	const char *v = script_text(key);
	int64_t list[64];
	size_t have = 0;
	char *end;

	for (; v && *v && have < 64; v = end) {
		list[have] = strtoll(v, &end, 0);
		if (end == v)
			break;
		have++;
	}
	return have ? list[n % have] : otherwise;
}

DOUBLE_EXPORT bool script_every(const char *key, uint64_t n)
{
	int64_t every = script_number(key, 0);

	return every > 0 && n % (uint64_t)every == 0;
}

DOUBLE_EXPORT int script_fails(const char *call)
{
	pthread_once(&once, load);
	for (int i = 0; i < count; i++) {
		const char *v = value_of(i, "fail");
		size_t n = strlen(call);
		if (v && strncmp(v, call, n) == 0 && strchr(" \t", v[n]) && v[n])
			return (int)strtol(v + n, NULL, 0);
	}
	return 0;
}
