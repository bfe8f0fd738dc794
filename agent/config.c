/* One table for [agent], [server], [spool], [sample] and [log]. */
#include "agent/config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/sample.h"
#include "lib/spool.h"
#include "schema/local.h"

#define AT(member) offsetof(struct agent_config, member)

static const struct conf_key keys[] = {
	{ "agent", "socket", CONF_TEXT, AT(socket), LOCAL_SOCKET, 0, 0, NULL,
	  "where marked processes and runners of this node speak to the agent" },
	{ "agent", "logs", CONF_TEXT, AT(logs), NULL, 0, 0, NULL,
	  "folder for logs that have no other place; empty: logs beside the socket" },
	{ "agent", "folders", CONF_WORDS, AT(folders), NULL, 0, 0, NULL,
	  "more folders in which logs are looked for" },
	{ "agent", "id", CONF_TEXT, AT(id), NULL, 0, 0, NULL,
	  "this agent among all of its daemon; empty: a random one, kept beside the spool" },
	{ "agent", "processes", CONF_COUNT, AT(processes), "4096", 1, 100000, NULL,
	  "processes followed at once, at most" },
	{ "agent", "share", CONF_NUMBER, AT(share), "0.5", 0.01, 1, NULL,
	  "part of what others leave of processes, runs and connections that one user may hold" },
	{ "agent", "progress", CONF_NUMBER, AT(progress_s), "5", 0, 3600, NULL,
	  "seconds between looks at the progress of a clean execution; 0: none" },
	{ "agent", "snapshot", CONF_NUMBER, AT(snapshot_s), "1", 0.05, 3600, NULL,
	  "seconds until a log is read for the first time" },
	{ "agent", "snapshot_max", CONF_NUMBER, AT(snapshot_max_s), "60", 0.05, 86400, NULL,
	  "seconds between reads of a log that changes, at most: the pauses double up to it" },
	{ "agent", "forget", CONF_NUMBER, AT(forget_s), "3600", 1, 31536000, NULL,
	  "seconds after which what nobody could take is deleted from the agent's own folder" },
	{ "server", "url", CONF_TEXT, AT(url), NULL, 0, 0, NULL,
	  "of the daemon: http://HOST:PORT or https://HOST; empty: all is kept, nothing is sent" },
	{ "server", "token_file", CONF_TEXT, AT(token_file), NULL, 0, 0, NULL,
	  "file with the token that may write, mode 0600 or 0400" },
	{ "server", "ca", CONF_TEXT, AT(ca), NULL, 0, 0, NULL,
	  "certificates to trust for https; empty: those of the system" },
	{ "server", "certificate", CONF_TEXT, AT(certificate), NULL, 0, 0, NULL,
	  "the agent's own certificate, where the server asks for one" },
	{ "server", "key", CONF_TEXT, AT(key), NULL, 0, 0, NULL, "key of that certificate" },
	{ "server", "connect", CONF_NUMBER, AT(connect_s), "10", 0.1, 300, NULL,
	  "seconds for connecting" },
	{ "server", "stall", CONF_NUMBER, AT(stall_s), "30", 0.5, 3600, NULL,
	  "seconds without a byte after which a post is given up and tried again" },
	{ "server", "retry_max", CONF_NUMBER, AT(retry_max_s), "60", 0.1, 3600, NULL,
	  "seconds between attempts, at most: the pauses double up to it" },
	{ "spool", "folder", CONF_TEXT, AT(spool), "/var/lib/roimeter-agent/spool", 0, 0, NULL,
	  "where all is kept until the daemon has it, on a local disk" },
	{ "spool", "max_bytes", CONF_COUNT, AT(spool_max_bytes), "1073741824", SPOOL_MIN_BYTES,
	  1e15, NULL, "bytes on disk, at most" },
	{ "spool", "batch_bytes", CONF_COUNT, AT(batch_bytes), "262144", 1024, 1 << 23, NULL,
	  "bytes of frames after which a batch is ended" },
	{ "spool", "age", CONF_NUMBER, AT(age_s), "1", 0.01, 3600, NULL,
	  "seconds after which it is ended, made durable and sent, at most" },
	{ "spool", "context_age", CONF_NUMBER, AT(context_age_s), "5", 0.01, 3600, NULL,
	  "the same for batches of context samples only; with others they go at once" },
	{ "sample", "period", CONF_NUMBER, AT(period_s), "1", 0, 3600, NULL,
	  "seconds between samples of the node and its control groups; 0: no samples at all" },
	{ "sample", "process_period", CONF_NUMBER, AT(process_period_s), "1", 0.1, 3600, NULL,
	  "seconds between samples of the processes that are followed" },
	{ "sample", "idle", CONF_FLAG, AT(sample_idle), "no", 0, 0, NULL,
	  "also while no marked process is on the node" },
	{ "sample", "quiet", CONF_FLAG, AT(quiet), "yes", 0, 0, NULL,
	  "no samples while the region of a clean execution is open" },
	{ "sample", "which", CONF_WORDS, AT(which), NULL, 0, 0, NULL,
	  "names of the only samplers to be used; empty: all that work here" },
	{ "log", "processes", CONF_FLAG, AT(log_processes), "no", 0, 0, NULL,
	  "a line for each process that comes and goes" },
};

const struct conf_table agent_config_table = { .keys = keys, .n_keys = sizeof keys / sizeof *keys };

int agent_config_load(struct agent_config *ret, const char *file, struct err *err)
{
	*ret = (struct agent_config){ .socket = NULL };
	int rc = conf_defaults(&agent_config_table, ret, &ret->arena);
	if (rc)
		return err_set(err, rc, "out of memory");
	return file ? conf_load(&agent_config_table, ret, &ret->arena, file, err) : 0;
}

static bool is_sampler(const char *name)
{
	for (size_t i = 0; samples_name(i); i++)
		if (!strcmp(samples_name(i), name))
			return true;
	return false;
}

int agent_config_check(const struct agent_config *c, struct err *err)
{
	if (!c->socket || *c->socket != '/')
		return err_set(err, -EINVAL, "[agent] socket: \"%s\" is not a full path",
			       c->socket ? c->socket : "");
	if (!c->spool)
		return err_set(err, -EINVAL, "[spool] folder is empty: say where batches are kept");
	if (c->url && strncmp(c->url, "http://", 7) && strncmp(c->url, "https://", 8))
		return err_set(err, -EINVAL,
			       "[server] url: \"%s\" is neither http://HOST:PORT nor https://HOST",
			       c->url);
	if (!c->certificate != !c->key)
		return err_set(err, -EINVAL,
			       "[server] certificate and key belong together: %s is "
			       "missing",
			       c->key ? "certificate" : "key");
	if (c->snapshot_max_s < c->snapshot_s)
		return err_set(err, -EINVAL, "[agent] snapshot_max is below snapshot");
	for (size_t i = 0; i < c->which.n; i++)
		if (!is_sampler(c->which.items[i]))
			return err_set(err, -EINVAL, "[sample] which: no sampler is called \"%s\"",
				       c->which.items[i]);
	if (c->period_s > 0 && c->period_s < 0.1)
		return err_set(err, -EINVAL, "[sample] period: 0, or 0.1 to 3600 seconds");
	return 0;
}

void agent_config_done(struct agent_config *c)
{
	arena_free(&c->arena);
	*c = (struct agent_config){ .socket = NULL };
}
