/* One table for all sections. */
#include "daemon/config.h"

#include <errno.h>

#define AT(member) offsetof(struct daemon_config, member)

static const struct conf_key keys[] = {
	{ "http", "listen", CONF_TEXT, AT(listen), "127.0.0.1:8640", 0, 0, NULL,
	  "ADDRESS:PORT; * is all addresses, port 0 any free one" },
	{ "http", "hosts", CONF_WORDS, AT(hosts), NULL, 0, 0, NULL,
	  "names by which browsers on this machine may call the daemon, beside localhost" },
	{ "store", "db", CONF_TEXT, AT(db), "/var/lib/roimeter/roimeter.db", 0, 0, NULL,
	  "database file, on a local disk" },
	{ "store", "readers", CONF_COUNT, AT(readers), "2", 1, 16, NULL,
	  "threads that ask the database" },
	{ "auth", "read", CONF_CHOICE, AT(read), "loopback", 0, 0, "loopback|token|all",
	  "who may read without a token: this machine, nobody, everybody" },
	{ "auth", "write_tokens", CONF_TEXT, AT(write_tokens), NULL, 0, 0, NULL,
	  "file of tokens that may write and read, one a line, mode 0600; empty: nobody writes" },
	{ "auth", "read_tokens", CONF_TEXT, AT(read_tokens), NULL, 0, 0, NULL,
	  "file of tokens that may read" },
	{ "auth", "ingest_tokens", CONF_TEXT, AT(ingest_tokens), NULL, 0, 0, NULL,
	  "file of tokens that may post batches and nothing else: those of agents" },
	{ "limits", "connections", CONF_COUNT, AT(connections), "12000", 8, 100000, NULL,
	  "open connections, one for each agent; more wait to be accepted" },
	{ "limits", "per_ip", CONF_COUNT, AT(per_ip), "250", 1, 100000, NULL,
	  "open connections of one address" },
	{ "limits", "timeout", CONF_NUMBER, AT(timeout_s), "30", 0.5, 3600, NULL,
	  "seconds in which a request must have come in, and after which an idle connection ends" },
	{ "limits", "body", CONF_COUNT, AT(body_mib), "16", 1, 1024, NULL,
	  "MiB of one post; the largest batch has 8" },
	{ "limits", "bodies", CONF_COUNT, AT(bodies_mib), "128", 1, 65536, NULL,
	  "MiB of all posts that come in or wait for the database; more are sent back for later" },
	{ "limits", "streams", CONF_COUNT, AT(streams), "100", 0, 10000, NULL,
	  "open event streams" },
	{ "assembly", "wait", CONF_NUMBER, AT(wait_s), "60", 0, 86400, NULL,
	  "seconds after the end of a run in which the marks of all its processes must be here" },
	{ "assembly", "silence", CONF_NUMBER, AT(silence_s), "900", 1, 8640000, NULL,
	  "seconds without news, past its own time limit, after which a run counts as "
	  "interrupted" },
	{ "assembly", "keep", CONF_NUMBER, AT(keep_days), "7", 0, 3650, NULL,
	  "days in which what comes late still makes a stored run better" },
	{ "context", "keep", CONF_NUMBER, AT(context_hours), "24", 0, 876000, NULL,
	  "hours for which counters of nodes are kept" },
	{ "context", "bytes", CONF_COUNT, AT(context_mib), "4096", 0, 1e9, NULL,
	  "MiB of them at most" },
	{ "log", "access", CONF_FLAG, AT(access_log), "yes", 0, 0, NULL,
	  "a line for each request, without its query" },
};

const struct conf_table daemon_config_table = { .keys = keys,
						.n_keys = sizeof keys / sizeof *keys };

int daemon_config_load(struct daemon_config *ret, const char *file, struct err *err)
{
	*ret = (struct daemon_config){ .db = NULL };
	int rc = conf_defaults(&daemon_config_table, ret, &ret->arena);
	if (rc)
		return err_set(err, rc, "out of memory");
	return file ? conf_load(&daemon_config_table, ret, &ret->arena, file, err) : 0;
}

void daemon_config_done(struct daemon_config *c)
{
	arena_free(&c->arena);
	*c = (struct daemon_config){ .db = NULL };
}
