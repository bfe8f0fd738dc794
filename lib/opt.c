/* getopt_long behind a table. */
#include "lib/opt.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/version.h"

#define OPTS_MAX 48
#define OPT_CODE 1000       /* past every character */
#define NAME_MAX_LETTERS 32 /* longer ones are not asked for by mistake */

static void print_help(const struct opt_table *t)
{
	const char *synopsis = t->synopsis;
	(void)printf("Usage: ");
	while (*synopsis) {
		size_t line = strcspn(synopsis, "\n");
		(void)printf("%s %.*s\n", t->command, (int)line, synopsis);
		synopsis += line;
		if (*synopsis) {
			(void)printf("       ");
			synopsis++;
		}
	}
	(void)printf("\n%s\n\nOptions:\n", t->about);
	for (size_t i = 0; i < t->n; i++) {
		char left[64];
		(void)snprintf(left, sizeof left, "--%s%s%s", t->opts[i].name,
			       t->opts[i].arg ? " " : "", t->opts[i].arg ? t->opts[i].arg : "");
		(void)printf("  %-22s %s\n", left, t->opts[i].help);
	}
	(void)printf("  %-22s %s\n", "--help", "this page");
	(void)printf("  %-22s %s\n", "--version", "name and version");
	if (t->epilog)
		(void)printf("\n%s\n", t->epilog);
}

static int list_add(struct opt_list *list, const char *text)
{
	const char **items = realloc(list->items, (list->n + 1) * sizeof *items);
	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->n++] = text;
	return 0;
}

/* Cuts the argument at its commas; argv's own bytes are changed, as getopt may. */
/* An empty word is a variable of a script that was not set: it is not taken for "all" or "none". */
static int list_split(const struct opt *o, char *text, struct err *err)
{
	size_t n = strlen(text);
	if (!n || text[0] == ',' || text[n - 1] == ',' || strstr(text, ",,"))
		return err_set(err, -EINVAL, "--%s \"%s\": a word is empty; expected %s: %s",
			       o->name, text, o->arg, o->help);
	int rc = 0;
	while (!rc && text) {
		char *next = strchr(text, ',');
		if (next)
			*next++ = 0;
		rc = list_add(o->into, text);
		text = next;
	}
	return rc;
}

static int take(const struct opt *o, char *arg, struct err *err)
{
	char *end = NULL;
	switch (o->type) {
	case OPT_FLAG:
		*(bool *)o->into = true;
		return 0;
	case OPT_TEXT:
		*(const char **)o->into = arg;
		return 0;
	case OPT_LIST:
		return list_split(o, arg, err);
	case OPT_EACH:
		return list_add(o->into, arg);
	case OPT_COUNT: {
		errno = 0;
		long value = strtol(arg, &end, 10);
		if (errno || end == arg || *end || value < 0)
			return err_set(err, -EINVAL, "--%s %s: expected a whole number, 0 or more",
				       o->name, arg);
		*(long *)o->into = value;
		return 0;
	}
	case OPT_NUMBER: {
		double value = strtod(arg, &end);
		if (end == arg || *end || !isfinite(value) || value <= 0)
			return err_set(err, -EINVAL, "--%s %s: expected a number%s above 0",
				       o->name, arg, strcmp(o->arg, "S") == 0 ? " of seconds" : "");
		*(double *)o->into = value;
		return 0;
	}
	}
	return -EINVAL;
}

/* How many letters have to be put in, left out or changed to make one of the other. */
static size_t apart(const char *a, const char *b, size_t n)
{
	size_t row[NAME_MAX_LETTERS + 1], m = strlen(a);
	for (size_t i = 0; i <= m; i++)
		row[i] = i;
	for (size_t j = 1; j <= n; j++) {
		size_t before = row[0];
		row[0] = j;
		for (size_t i = 1; i <= m; i++) {
			size_t best = before + (a[i - 1] != b[j - 1]);
			best = row[i] + 1 < best ? row[i] + 1 : best;
			best = row[i - 1] + 1 < best ? row[i - 1] + 1 : best;
			before = row[i];
			row[i] = best;
		}
	}
	return row[m];
}

static int no_such(const struct opt_table *t, const char *told, struct err *err)
{
	const char *nearest = NULL;
	size_t n = strncmp(told, "--", 2) == 0 ? strcspn(told + 2, "=") : 0, least = 3;
	for (size_t i = 0; i < t->n && n > 2 && n <= NAME_MAX_LETTERS; i++) {
		const char *name = t->opts[i].name;
		size_t d = strlen(name) <= NAME_MAX_LETTERS ? apart(name, told + 2, n) : least;
		if (d < least) {
			least = d;
			nearest = name;
		}
	}
	if (!nearest)
		return err_set(err, -EINVAL, "there is no option %s; see %s --help", told,
			       t->command);
	return err_set(err, -EINVAL, "there is no option %s, but --%s; see %s --help", told,
		       nearest, t->command);
}

static int no_value(const struct opt_table *t, const char *told, int code, struct err *err)
{
	if (code < OPT_CODE || code >= OPT_CODE + (int)t->n)
		return err_set(err, -EINVAL, "%s needs a value; see %s --help", told, t->command);
	const struct opt *o = &t->opts[code - OPT_CODE];
	return err_set(err, -EINVAL, "%s needs a value, %s: %s; see %s --help", told, o->arg,
		       o->help, t->command);
}

int opt_parse(const struct opt_table *t, int argc, char **argv, int *ret_first, struct err *err)
{
	struct option longs[OPTS_MAX + 3] = { 0 };
	for (size_t i = 0; i < t->n && i < OPTS_MAX; i++)
		longs[i] = (struct option){ t->opts[i].name,
					    t->opts[i].type == OPT_FLAG ? no_argument
									: required_argument,
					    NULL, OPT_CODE + (int)i };
	longs[t->n] = (struct option){ "help", no_argument, NULL, 'h' };
	longs[t->n + 1] = (struct option){ "version", no_argument, NULL, 'v' };

	opterr = 0;
	optind = 0; /* glibc: start anew */
	for (;;) {
		optopt = 0;
		int c = getopt_long(argc, argv, ":h", longs, NULL);
		/* Words before it may have been moved behind it. Of letters together it is one. */
		char letter[] = { '-', (char)optopt, 0 };
		bool word = !optopt || optopt >= OPT_CODE;
		const char *told = word ? argv[optind > 1 ? optind - 1 : 1] : letter;
		if (c == -1)
			break;
		if (c == 'h') {
			print_help(t);
			return 1;
		}
		if (c == 'v') {
			(void)printf("%s " ROIMETER_VERSION_TEXT "\n", t->command);
			return 1;
		}
		if (c == ':')
			return no_value(t, told, optopt, err);
		if (c == '?' || c < OPT_CODE || c >= OPT_CODE + (int)t->n)
			return no_such(t, told, err);
		int rc = take(&t->opts[c - OPT_CODE], optarg, err);
		if (rc)
			return rc;
	}
	*ret_first = optind;
	return 0;
}

void opt_done(const struct opt_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->opts[i].type != OPT_LIST && t->opts[i].type != OPT_EACH)
			continue;
		struct opt_list *list = t->opts[i].into;
		free(list->items);
		*list = (struct opt_list){ 0 };
	}
}

int opt_fail(const char *command, int rc, const struct err *err)
{
	(void)fprintf(stderr, "%s: %s\n", command, err->text[0] ? err->text : strerror(-rc));
	if (rc == -ECONNREFUSED || rc == -EHOSTUNREACH || rc == -ETIMEDOUT)
		return EXIT_UNREACHABLE;
	return EXIT_WRONG;
}
