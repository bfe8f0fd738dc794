/* The agent's configuration: one file, and a few options over it. */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/conf.h"
#include "lib/err.h"

struct agent_config {
	struct arena arena;
	/* [agent] */
	const char *socket, *id; /* id NULL: a random one, kept beside the spool */
	const char *logs; /* folder for logs without another place; NULL: beside the socket */
	struct conf_words folders;         /* to be watched for logs, beside that one */
	double processes;                  /* followed at once, at most */
	double share;                      /* of them and of runs and connections, for one user */
	double progress_s;                 /* between looks at a clean execution; 0: none */
	double snapshot_s, snapshot_max_s; /* between looks at a log: the first, the longest */
	double forget_s; /* what nobody could take is deleted from the own folder after this */
	/* [server] */
	const char *url; /* NULL: nothing is sent, all is kept */
	const char *token_file, *ca, *certificate, *key;
	double connect_s, stall_s, retry_max_s;
	/* [spool] */
	const char *spool;
	double spool_max_bytes, batch_bytes, age_s, context_age_s;
	/* [sample] */
	double period_s; /* of the node; 0: no samples */
	double process_period_s;
	bool sample_idle;        /* also while nothing is on the node */
	bool quiet;              /* none while a clean execution is open */
	struct conf_words which; /* of the samplers; none: all */
	/* [log] */
	bool log_processes; /* a line for each that comes and goes */
};

extern const struct conf_table agent_config_table;

/* file NULL: the defaults alone. ret is initialised by this call, also when it fails. */
int agent_config_load(struct agent_config *ret, const char *file, struct err *err);

/* What no single key can tell. */
int agent_config_check(const struct agent_config *c, struct err *err);
void agent_config_done(struct agent_config *c);

#endif
