/* Lists of RFC 9110: items after commas, parameters after semicolons, q from 0 to 1. */
#include "daemon/negotiate.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	enum media media;
	const char *name, *full;
} medias[] = {
	{ MEDIA_JSON, "application/json", "application/json" },
	{ MEDIA_CSV, "text/csv", "text/csv; charset=utf-8; header=present" },
	{ MEDIA_TEXT, "text/plain", "text/plain; version=0.0.4; charset=utf-8" },
	{ MEDIA_HTML, "text/html", "text/html; charset=utf-8" },
	{ MEDIA_SCRIPT, "text/javascript", "text/javascript; charset=utf-8" },
	{ MEDIA_STYLE, "text/css", "text/css; charset=utf-8" },
	{ MEDIA_EVENTS, "text/event-stream", "text/event-stream" },
	{ MEDIA_PROBLEM, "application/problem+json", "application/problem+json" },
};

#define N_MEDIAS (sizeof medias / sizeof *medias)

const char *media_type(enum media m)
{
	for (size_t i = 0; i < N_MEDIAS; i++)
		if (medias[i].media == m)
			return medias[i].full;
	return "application/octet-stream";
}

struct item {
	const char *text;
	size_t n; /* of the name, without parameters and blanks */
	double q;
};

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* The next item of the list; false at its end. */
static bool next_item(const char **at, struct item *ret)
{
	*at += strspn(*at, " \t,");
	if (!**at)
		return false;
	*ret = (struct item){ .text = *at, .n = strcspn(*at, " \t,;"), .q = 1 };
	const char *end = *at + strcspn(*at, ","), *p = *at + ret->n;
	while ((p = memchr(p, ';', (size_t)(end - p)))) {
		p = skip_blanks(p + 1);
		if ((p[0] == 'q' || p[0] == 'Q') && p[1] == '=') {
			double q = strtod(p + 2, NULL);
			ret->q = q > 0 && q <= 1 ? q : q > 1 ? 1 : 0; /* NAN counts as 0 */
		}
	}
	*at = end;
	return true;
}

/* How exactly the item names this: 3 the type itself, 2 its family, 1 anything, 0 not. */
static int exactness(const struct item *i, const char *name)
{
	size_t family = strcspn(name, "/") + 1;
	if (i->n == strlen(name) && strncasecmp(i->text, name, i->n) == 0)
		return 3;
	if (i->n == family + 1 && i->text[family] == '*' && strncasecmp(i->text, name, family) == 0)
		return 2;
	return i->n == 3 && memcmp(i->text, "*/*", 3) == 0;
}

enum media negotiate_media(const char *accept, unsigned offers)
{
	enum media best = MEDIA_NONE;
	double best_q = 0;
	for (size_t m = 0; m < N_MEDIAS; m++) {
		if (!(offers & medias[m].media))
			continue;
		double q = accept ? 0 : 1;
		int exact = 0;
		struct item i;
		for (const char *at = accept ? accept : ""; next_item(&at, &i);) {
			int e = exactness(&i, medias[m].name);
			if (e > exact) {
				exact = e;
				q = i.q;
			}
		}
		if (q > best_q) {
			best_q = q;
			best = medias[m].media;
		}
	}
	return best;
}

bool negotiate_coding(const char *accept_encoding, const char *coding)
{
	double q = 0;
	bool named = false;
	struct item i;
	for (const char *at = accept_encoding ? accept_encoding : ""; next_item(&at, &i);) {
		bool same = i.n == strlen(coding) && strncasecmp(i.text, coding, i.n) == 0;
		if (same || (!named && i.n == 1 && i.text[0] == '*'))
			q = i.q;
		named |= same;
	}
	return q > 0;
}

bool negotiate_match(const char *if_none_match, const char *etag)
{
	size_t n = strlen(etag);
	const char *at = if_none_match ? skip_blanks(if_none_match) : "";
	if (at[0] == '*')
		return true;
	while ((at = strchr(at, '"'))) {
		const char *end = strchr(++at, '"');
		if (!end)
			return false;
		size_t one = (size_t)(end - at);
		if (one > 5 && memcmp(end - 5, "-gzip", 5) == 0)
			one -= 5;
		else if (one > 3 && memcmp(end - 3, "-br", 3) == 0)
			one -= 3;
		if (one == n && memcmp(at, etag, n) == 0)
			return true;
		at = end + 1;
	}
	return false;
}
