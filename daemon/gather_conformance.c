/* Results of conformance tests, as agents bring them. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>

#include "daemon/gather_impl.h"
#include "schema/conformance.h"

#define FORM "%Y-%m-%dT%H:%M:%SZ"
#define NODES_AT_ONCE 60 /* of one platform, that made a result within a second */

struct utc {
	char text[64];
};

static struct utc utc_of(time_t seconds)
{
	struct utc ret = { .text = "" };
	struct tm tm;
	if (gmtime_r(&seconds, &tm))
		(void)strftime(ret.text, sizeof ret.text, FORM, &tm);
	return ret;
}

static time_t seconds_of(const char *utc)
{
	struct tm tm = { .tm_sec = 0 };
	return strptime(utc, FORM, &tm) ? timegm(&tm) : -1;
}

/* The same again is stored once. Another result of that second, as of another node of the platform,
 * is one of the next second that is free, so that each of them is there. */
static int add(struct gather *g, struct conformance *c, const char **ret_why, struct err *err)
{
	struct err why = { .text = "" };
	struct utc at;
	time_t begin = seconds_of(c->utc);
	int rc = store_add_conformance(g->s, c, NULL, &why);
	for (int i = 1; rc == -EEXIST && i <= NODES_AT_ONCE; i++) {
		at = utc_of(begin + i);
		c->utc = at.text;
		rc = store_add_conformance(g->s, c, NULL, &why);
	}
	if (rc == -EEXIST || rc == -EINVAL) {
		*ret_why = rc == -EEXIST ? "too_many" : "impossible";
		return 0;
	}
	return rc ? err_set(err, rc, "%s", why.text) : 0;
}

int gather_conformance(struct gather *g, const struct frame_conformance *f, const char **ret_why,
		       struct err *err)
{
	struct conformance c;
	struct arena a = { 0 };
	int rc = conformance_get(&c, &a, f->result.p ? f->result.p : "", f->result.n, NULL);
	/* The newest counts: a clock that is ahead of ours must not stand against all that follows.
	 */
	const struct utc now = utc_of((time_t)(g->now.real_ns / GATHER_SECOND));
	if (!rc && strcmp(c.utc, now.text) > 0)
		c.utc = now.text;
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	else if (rc)
		*ret_why = "impossible";
	else
		rc = add(g, &c, ret_why, err);
	arena_free(&a);
	return *ret_why ? 0 : rc;
}
