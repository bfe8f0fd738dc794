/* What every collector library (libroimeter-NAME.so) exports, and nothing else of ours: a constant
 * table. The runner opens it and looks at abi before it calls anything. */
#ifndef COLLECTORS_COLLECTOR_H
#define COLLECTORS_COLLECTOR_H

#include <stddef.h>

#define COLLECTOR_ABI 1

struct collector {
	unsigned abi;         /* COLLECTOR_ABI */
	const char *name;     /* "cupti" */
	const char *version;  /* of roimeter */
	unsigned observes;    /* bit 1u << enum category; the rest is null */
	const char *runtime;  /* "cuda" */
	/* Variables that bring it into a program: NAME, value, NAME, value, NULL. "{library}" in a value
	 * is the absolute path of this library. The runner sets them for the profiled execution only. */
	const char *const *environment;
	/* Can it work on this machine? 0; or -ENOENT (no driver, no device), -EBUSY, ... with a sentence
	 * in why. Called in the runner before anything starts; starts no device. */
	int (*check)(char *why, size_t room);
};

/* The one symbol. */
extern const struct collector collector;

#endif
