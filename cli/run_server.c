/* Handing a run to the agent, seen from the command. */
#define _GNU_SOURCE
#include "cli/run_server.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/db.h"
#include "lib/num.h"
#include "run/link.h"

#define PATIENCE_S 2 /* between two executions */
/* A service manager has started an agent anew by then, and one on a busy node has answered. */
#define AT_THE_END_S 10
#define DEFAULT_WAIT_S 5 /* agents send within a second or two */

/* The processes that are started may have another working folder. */
static const char *absolute(struct arena *a, const char *path)
{
	char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	const char *ret = cwd ? arena_printf(a, "%s/%s", cwd, path) : arena_strdup(a, path);
	free(cwd);
	return ret;
}

int run_server_choose(struct run_server *ret, const struct run_server_told *t,
		      const struct config *c, struct arena *a, struct err *err)
{
	/* what the call says beats what a file says */
	const char *url = t->server ? t->server : t->elsewhere ? NULL : c->server;
	*ret = (struct run_server){ .wait_s = t->wait_s < 0 ? DEFAULT_WAIT_S : (double)t->wait_s };
	if (!url)
		return 0;
	if ((strncmp(url, "http://", 7) != 0 || !url[7]) &&
	    (strncmp(url, "https://", 8) != 0 || !url[8]))
		return err_set(err, -EINVAL,
			       "%s %s: expected the address of a daemon, as in "
			       "http://collector:8640",
			       t->server ? "--server" : "[run] server", url);
	ret->url = url;
	ret->socket = absolute(a, link_path(NULL, c->agent_socket));
	return ret->socket ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static void open_history(struct run_server *s)
{
	struct buf path = { 0 };
	if (cli_default_db(&path, NULL) == 0 && access(path.data, R_OK) == 0)
		(void)store_open(&s->history, path.data, STORE_READ, NULL);
	buf_done(&path);
}

int run_server_open(struct run_server *s, struct err *err)
{
	const struct announce_options o = { .socket = s->socket,
					    .server = s->url,
					    .patience_s = PATIENCE_S,
					    .at_the_end_s = AT_THE_END_S };
	if (!s->url)
		return 0;
	open_history(s);
	return announce_open(&s->announce, &o, err);
}

void run_server_close(struct run_server *s)
{
	announce_close(s->announce);
	store_close(s->history);
	s->announce = NULL;
	s->history = NULL;
}

/* ---- what earlier runs took ------------------------------------------------------------------ */

struct wanted {
	const char *case_, *platform;
	char run_id[64];
};

static int look(void *arg, const struct cell *cell)
{
	struct wanted *w = arg;
	if (strcmp(cell->case_, w->case_) != 0 || strcmp(cell->platform, w->platform) != 0 ||
	    !cell->ok.run_id)
		return 0;
	(void)snprintf(w->run_id, sizeof w->run_id, "%s", cell->ok.run_id);
	return 1;
}

void run_server_expect(struct run_server *s, const char *suite, const char *app, const char *name,
		       const char *platform, double *ret_s, double *ret_steps)
{
	struct wanted w = { .case_ = name, .platform = platform };
	struct record rec;
	if (!s->history)
		return;
	(void)store_each_cell(s->history, suite, app, look, &w, NULL);
	if (!w.run_id[0])
		return;
	if (store_get_run(s->history, w.run_id, &rec, NULL) == 0) {
		*ret_s = rec.body.context.process_wall_s;
		*ret_steps = rec.body.roi.steps;
	}
	record_done(&rec);
}

/* ---- at the end ------------------------------------------------------------------------------ */

void run_server_tell(struct run_server *s, FILE *out)
{
	uint64_t kept = s->announce ? announce_kept(s->announce) : 0;
	if (!kept)
		return;
	int rc = s->wait_s > 0 ? announce_delivered(s->announce, s->wait_s, NULL) : -ETIMEDOUT;
	if (rc == 0)
		(void)fprintf(out,
			      "kept by the agent of this node as %" PRIu64 "; delivered to %s\n",
			      kept, s->url);
	else
		(void)fprintf(out,
			      "kept by the agent of this node as %" PRIu64
			      "; not yet delivered: it sends it to %s as soon as the daemon takes "
			      "it (\"roimeter agent-status\" tells more)\n",
			      kept, s->url);
}
