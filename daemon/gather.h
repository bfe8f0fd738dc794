/* Takes in what agents post and makes records of it: each batch once, whatever comes twice, in
 * whatever order, from however many agents. Everything it knows is in the store's tables
 * (store/inbox.h); what was committed survives a kill. For the thread that writes; what only asks
 * is at the end, for any thread with a store of its own. */
#ifndef DAEMON_GATHER_H
#define DAEMON_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "store/inbox.h"
#include "store/store.h"

#define GATHER_MAX_BATCHES 1024       /* in one body */
#define GATHER_MAX_PLAIN (256u << 20) /* bytes of all batches in a body, unpacked */

struct gather_config {
	int64_t wait_ns;         /* for logs that are not there, after a run ended */
	int64_t silence_ns;      /* without news a run without an end is taken for interrupted */
	int64_t keep_ns;         /* after its record was stored, late frames still change it */
	int64_t context_keep_ns; /* context samples */
	uint64_t context_bytes;  /* of them, at most */
	size_t max_plain;        /* of one batch, unpacked; 0: BATCH_MAX_PLAIN */
};
#define GATHER_SECOND INT64_C(1000000000)
#define GATHER_DEFAULTS                                                                            \
	{                                                                                          \
		.wait_ns = 60 * GATHER_SECOND, .silence_ns = 900 * GATHER_SECOND,                  \
		.keep_ns = 7 * 86400 * GATHER_SECOND, .context_keep_ns = 86400 * GATHER_SECOND,    \
		.context_bytes = UINT64_C(4) << 30,                                                \
	}

/* What time it is. Only differences of mono_ns count (CLOCK_MONOTONIC or CLOCK_BOOTTIME), within
 * one life of struct gather; real_ns is told to readers, and decides nothing. */
struct gather_now {
	int64_t mono_ns, real_ns;
};

struct gather;

/* Goes on where the store is. */
int gather_open(struct gather **ret, struct store *s, const struct gather_config *c,
		const struct gather_now *now, struct err *err);
void gather_reconfigure(struct gather *g, const struct gather_config *c);
void gather_close(struct gather *g); /* NULL is fine; not the store */

struct gather_result {
	uint64_t batches, duplicates; /* new ones, and those that were here before */
	uint64_t frames;              /* in the new ones, of known kinds */
	uint64_t unknown, longer;     /* stepped over: kinds, fields */
	uint64_t refused;             /* frames that were not taken in: counted in the ledger */
	bool due;                     /* something may be complete: call gather_tick soon */
};

/* Take a body, within a transaction of the caller (store_begin), which may hold many. A body that
 * is refused has changed nothing: -EBADMSG (damaged), -EEXIST (a number that had another batch),
 * -EPROTONOSUPPORT (another version), -E2BIG. What else goes wrong is the store's, or -ENOMEM: the
 * caller takes the whole transaction back. Acknowledge when it is committed. */
int gather_take(struct gather *g, struct store *s, const void *body, size_t n,
		const struct gather_now *now, struct gather_result *ret, struct err *err);

/* The same refusals, and no other: true when the body itself is at fault. */
bool gather_is_refusal(int rc);

enum gather_change {
	GATHER_PROGRESS, /* a run in progress: see gather_each_running */
	GATHER_STORED,   /* its record was stored, or made anew: run id */
	GATHER_GONE,     /* this record is no more: another took its place under another id */
	GATHER_FAILED,   /* no record can be made of it */
};

/* What is due: records are made and stored, the ledger is kept, what is old goes. In transactions
 * of its own, some at a call: no transaction may be open. When something fails (a full disk), what
 * was due stays due. ret_next_ns: on the clock of now, when to call again at the latest; before, if
 * gather_take says so. Call it at least once a minute. */
int gather_tick(struct gather *g, struct store *s, const struct gather_now *now,
		void (*changed)(void *arg, enum gather_change what, const char *run), void *arg,
		int64_t *ret_next_ns, struct err *err);

/* Runs about which something came since the last call: each once, with GATHER_PROGRESS. */
void gather_each_change(struct gather *g,
			void (*changed)(void *arg, enum gather_change what, const char *run),
			void *arg);

/* ---- for readers ----------------------------------------------------------------------------- */

/* A run that is not a record yet. NULL and NAN: not known. */
struct gather_running {
	const char *run; /* run id; NULL: ambient, it gets one when it is complete */
	const char *suite, *app, *case_, *platform, *kind, *user, *job;
	int64_t announced_ns; /* real time of its node; ROI_UNKNOWN */
	double planned, done; /* executions */
	const char *exec;     /* that is being made; NULL: between two */
	int64_t exec_ns;      /* when it began, real time of its node; ambient: its first entry */
	double steps;         /* done in it, of the process that did most; newest look */
	double steps_expected, expected_s; /* of one execution, from earlier runs */
	int64_t end_ns;   /* when the run is expected to end, real time of its node */
	double processes; /* heard of in this execution */
	bool ended;       /* its runner is done; logs are waited for */
};

/* Oldest first. run: only this one; NULL: all. Lent until the callback returns; non-zero ends it.
 */
int gather_each_running(struct store *s, const char *run,
			int (*each)(void *arg, const struct gather_running *r), void *arg,
			struct err *err);

#endif
