/* Keeping a conformance result. */
#define _GNU_SOURCE
#include "cli/conformance_keep.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "cli/db.h"

int conformance_keep_open(struct conformance_keep *k, const char *db, const char *server,
			  long wait_s, const struct config *c, struct arena *a, struct err *err)
{
	const struct run_server_told told = { server, db != NULL, wait_s };
	*k = (struct conformance_keep){ .db = db ? db : c->db, .arena = a };
	if (server && db)
		return err_set(err, -EINVAL,
			       "--server and --db: the result goes to one place; leave one of "
			       "them out");
	int rc = run_server_choose(&k->server, &told, c, a, err);
	return rc ? rc : run_server_open(&k->server, err);
}

static const char *utc_now(struct arena *a)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;
	if (!gmtime_r(&now, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return NULL;
	return arena_strdup(a, text);
}

static int store(struct conformance_keep *k, struct conformance *c, struct err *err)
{
	struct store *db = NULL;
	int rc = cli_open_store(&db, k->db, STORE_WRITE, err);
	if (!rc)
		rc = store_add_conformance(db, c, NULL, err);
	for (int i = 0; rc == -EEXIST && i < 3; i++) { /* two within a second: this one is later */
		(void)sleep(1);
		c->utc = utc_now(k->arena);
		rc = c->utc ? store_add_conformance(db, c, NULL, err)
			    : err_set(err, -ENOMEM, "out of memory");
	}
	store_close(db);
	return rc;
}

int conformance_keep(struct conformance_keep *k, struct conformance *c, struct err *err)
{
	if (k->server.announce)
		return announce_conformance(k->server.announce, c, err);
	return store(k, c, err);
}

void conformance_keep_tell(struct conformance_keep *k, FILE *out)
{
	run_server_tell(&k->server, out);
}

void conformance_keep_close(struct conformance_keep *k)
{
	run_server_close(&k->server);
}
