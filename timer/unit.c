/* Folding of SI prefixes: done on the pattern's text, so that PCRE2 stays the only matcher. */
#include "timer/unit.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* ---- the one group of a pattern ----------------------------------------------------------------
 */

/* Behind a character class that begins at p. A "]" that comes first is a member. */
static const char *skip_class(const char *p)
{
	p++;
	p += *p == '^';
	if (*p == ']')
		p++;
	while (*p && *p != ']') {
		if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
			const char *end = strchr(p + 2, ']');
			if (!end)
				return p + strlen(p);
			p = end + 1;
			continue;
		}
		if (*p == '\\' && p[1])
			p++;
		p++;
	}
	return *p ? p + 1 : p;
}

static bool captures(const char *p)
{
	if (p[1] == '*')
		return false;
	if (p[1] != '?')
		return true;
	if (p[2] == 'P')
		return p[3] == '<';
	return p[2] == '\'' || (p[2] == '<' && p[3] != '=' && p[3] != '!');
}

/* Behind one element of a pattern that is no parenthesis. */
static const char *skip_one(const char *p)
{
	if (*p == '[')
		return skip_class(p);
	if (*p == '\\' && p[1] == 'Q') {
		const char *end = strstr(p, "\\E");
		return end ? end + 2 : p + strlen(p);
	}
	return p + (*p == '\\' && p[1] ? 2 : 1);
}

const char *unit_group_end(const char *pattern, const char **ret_begin)
{
	const char *begin = NULL;
	int depth = 0, at_depth = 0;
	const char *p = pattern;
	while (*p) {
		if (*p == '(' && p[1] == '?' && p[2] == '#') {
			const char *end = strchr(p, ')');
			p = end ? end + 1 : p + strlen(p);
		} else if (*p == '(') {
			depth++;
			if (!begin && captures(p)) {
				begin = p;
				at_depth = depth;
			}
			p++;
		} else if (*p == ')') {
			if (begin && depth == at_depth) {
				*ret_begin = begin;
				return p + 1;
			}
			depth--;
			p++;
		} else {
			p = skip_one(p);
		}
	}
	return NULL;
}

/* ---- prefixes -------------------------------------------------------------------------------- */

#define MICRO "\xc2\xb5"

int unit_prefix_exponent(const char *prefix, size_t n)
{
	static const struct {
		const char *name;
		int exponent;
	} prefixes[] = { { "k", 3 },  { "K", 3 },    { "M", 6 },  { "G", 9 },
			 { "T", 12 }, { "P", 15 },   { "E", 18 }, { "m", -3 },
			 { "u", -6 }, { MICRO, -6 }, { "n", -9 } };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strlen(prefixes[i].name) == n && strncmp(prefixes[i].name, prefix, n) == 0)
			return prefixes[i].exponent;
	return 0;
}

/* Units that are written with small prefixes, too: only before these is "m" a thousandth, so that
 * "min", "mol", "nodes" and "updates" keep their first letter. */
static bool si_symbol(const char *text)
{
	static const char *const symbols[] = { "s", "B", "b", "W",  "J",    "Hz",
					       "g", "V", "A", "eV", "Byte", "bit" };
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		size_t n = strlen(symbols[i]);
		if (strncmp(text, symbols[i], n) == 0 && !isalpha((unsigned char)text[n]))
			return true;
	}
	return false;
}

/* Units that nobody writes a prefix before. */
static bool takes_prefixes(const char *unit)
{
	static const char *const never[] = { "min", "h",    "hour",    "hours",   "d",
					     "day", "days", "minutes", "seconds", "sec",
					     "x",   "%",    "1" };
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strcmp(unit, never[i]) == 0)
			return false;
	return isalpha((unsigned char)*unit);
}

/* What separates a number from its unit in a pattern: blanks, brackets and their quantifiers. */
static const char *skip_separators(const char *p)
{
	for (;;) {
		const char *start = p;
		if (*p == ' ' || *p == '\t')
			p++;
		else if (*p == '\\' && p[1] && strchr("st[( ", p[1]))
			p += 2;
		else
			return p;
		if (p > start && *p && strchr("*+?", *p))
			p++;
		if (p > start + 1 && *p && strchr("+?", *p))
			p++;
	}
}

/* Does the pattern go on with this text, each character plain or escaped? Behind it, or NULL. */
static const char *literal(const char *p, const char *text)
{
	for (; *text; text++) {
		bool escaped = *p == '\\' && p[1] && !isalnum((unsigned char)p[1]);
		p += escaped;
		if (*p != *text || (!escaped && strchr(".^$*+?()[]{}|\\", *p)))
			return NULL;
		p++;
	}
	return *p && strchr("*+?{", *p) ? NULL : p;
}

/* The rate that stands in the pattern itself, "Matom-step/s". Ends with "/s", or is none: other
 * words behind a number are no units. */
static const char *rate_in(struct arena *a, const char *at, int *ret_rc)
{
	size_t n = 0;
	char *copy = arena_alloc(a, strlen(at) + 1);
	*ret_rc = copy ? 0 : -ENOMEM;
	if (!copy)
		return NULL;
	for (; *at; at++) {
		at += *at == '\\' && (at[1] == '/' || at[1] == '-');
		if (!isalnum((unsigned char)*at) && !strchr("-_/", *at))
			break;
		copy[n++] = *at;
	}
	copy[n] = 0;
	return n > 2 && strcmp(copy + n - 2, "/s") == 0 ? copy : NULL;
}

int unit_folding(struct arena *a, const char *pattern, const char *unit, const char **ret_text,
		 int *ret_exponent, int *ret_binary)
{
	*ret_text = NULL;
	const char *begin = NULL, *end = unit_group_end(pattern, &begin);
	if (!end || (unit && !takes_prefixes(unit)))
		return 0;
	const char *at = skip_separators(end), *rest = unit ? literal(at, unit) : NULL;
	if (!rest) { /* declared in other words, or not at all */
		int rc;
		unit = rate_in(a, at, &rc);
		rest = unit && takes_prefixes(unit) ? literal(at, unit) : NULL;
		if (!rest)
			return rc;
	}
	int own = unit_prefix_exponent(unit, 1);
	bool symbol = si_symbol(unit), small = own && si_symbol(unit + 1);
	if (symbol || (own < 0 && !small))
		own = 0;
	bool binary = own > 0 && unit[1] == 'i' && (unit[2] == 'B' || unit[2] == 'b');
	const char *base = own ? unit + 1 + binary : unit;
	/* "Photons/s" may be a P before "hotons" or no prefix at all: both are tried. */
	bool whole = own > 0 && !small && !binary;
	const char *set = symbol || small ? "[kKMGTPEmun]|" MICRO : "[kKMGTPE]";
	*ret_exponent = own;
	*ret_binary = binary;
	if (!*base)
		return 0;
	/* As declared, first; another prefix only where the unit ends there: "2 steps" is no time.
	 */
	const char *ends = isalnum((unsigned char)*rest) ? "" : "(?![A-Za-z0-9_])";
	*ret_text = arena_printf(a, "%.*s(?:%.*s|(?<prefix>(?:%s)%s|)(?:\\Q%s\\E)%s%s%s%s%s)%s",
				 (int)(at - pattern), pattern, (int)(rest - at), at, set,
				 binary ? "i" : "", base, ends,
				 whole ? "|(?<more>[kKMGTPE])(?:\\Q" : "", whole ? unit : "",
				 whole ? "\\E)" : "", whole ? ends : "", rest);
	return *ret_text ? 0 : -ENOMEM;
}
