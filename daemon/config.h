/* The daemon's configuration: one file, and a few options over it. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/conf.h"
#include "lib/err.h"

struct daemon_config {
	struct arena arena;
	const char *listen, *db;
	const char *read;                                       /* loopback, token or all */
	const char *write_tokens, *read_tokens, *ingest_tokens; /* files, or NULL */
	struct conf_words hosts;
	double connections, per_ip, timeout_s, streams, readers, body_mib, bodies_mib;
	double wait_s, silence_s, keep_days, context_hours, context_mib;
	bool access_log;
};

extern const struct conf_table daemon_config_table;

/* file NULL: the defaults alone. ret is initialised by this call, also when it fails. */
int daemon_config_load(struct daemon_config *ret, const char *file, struct err *err);
void daemon_config_done(struct daemon_config *c);

#endif
