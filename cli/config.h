/* The command's configuration: /etc/roimeter/roimeter.ini, then the user's own over it, or the one
 * file that --config names. The table is in config.c. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/conf.h"
#include "lib/err.h"

struct config_launcher {
	const char *name;
	struct conf_words command, env;
	bool multi; /* "default" in the file */
};

struct config {
	struct arena arena;
	const char *db, *server, *agent_socket;
	double warmup, clean, timeout_s, grace_s, device_samples;
	const char *order, *scratch, *library, *timers;
	bool journal;
	struct conf_words env_allow, collect;
	const char *collectors; /* folders */
	const char *platform;
	struct conf_list launchers; /* of struct config_launcher */
};

extern const struct conf_table config_table;

/* file NULL: the usual places, each of which may be missing. ret is initialised by this call, also
 * when it fails. -ENOENT: file isn't there; -EINVAL with file:line. */
int config_load(struct config *ret, const char *file, struct err *err);

/* The defaults alone, as config_load starts from them. */
int config_init(struct config *ret, struct err *err);
void config_done(struct config *c);

#endif
