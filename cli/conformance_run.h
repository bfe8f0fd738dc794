/* The measuring part of roimeter conformance: probes, their runs, and what came of them. */
#ifndef CLI_CONFORMANCE_RUN_H
#define CLI_CONFORMANCE_RUN_H

#include <signal.h>
#include <stdbool.h>

#include "core/conform.h"
#include "lib/arena.h"
#include "lib/opt.h"
#include "run/scratch.h"
#include "schema/record.h"

enum {
	CONFORMANCE_ARGS = 8,  /* words of a part for the probe */
	CONFORMANCE_WORDS = 24 /* words of the caller for it */
};

struct conformance_lab {
	/* given */
	const char *collector, *probe; /* probe: NULL for the collector's own */
	const char *config;            /* for the runs; NULL: the usual files */
	struct opt_list words;         /* for the probe, behind those of a part */
	double timeout_s;              /* of one execution */
	/* found out */
	struct arena arena;
	struct scratch scratch; /* all that is written while it is measured */
	char self[4096];        /* this program */
	char sentinel[48];
	char found[512];      /* where the sentinel was; "": nowhere */
	const char *runs[64]; /* ids */
	size_t n_runs;
	sigset_t ends, before; /* signals that end this; the mask that was */
};

/* One run of roimeter run, in a folder of the lab. */
struct conformance_measured {
	struct record rec;
	struct conform_want want;
	const char *cannot; /* the probe's sentence, where it can't do that here; else NULL */
	char folder[768];   /* of the execution that is looked at; "": there was none */
};

struct conformance_order {
	const char *name; /* of the case */
	long warmups, cleans;
	const char *args[CONFORMANCE_ARGS]; /* for the probe; as many as are not NULL */
};

/* Finds the probe, makes the folder, takes the signals. Whatever it returns, conformance_close() is
 * next. The folder lies in $TMPDIR, else where scratch_open() has it. */
int conformance_open(struct conformance_lab *lab, struct err *err);
/* All was measured: the folder goes, and signals end this program as any. */
void conformance_leave(struct conformance_lab *lab);
void conformance_close(struct conformance_lab *lab);

/* -EINTR: this program was told to end, and what it had started has ended. Whatever it returns,
 * conformance_measured_done() is next. */
int conformance_measure(struct conformance_lab *lab, const struct conformance_order *order,
			struct conformance_measured *ret, struct err *err);
void conformance_measured_done(struct conformance_measured *m);

/* -EINTR where this program was told to end since; else 0. */
int conformance_interrupted(struct conformance_lab *lab, struct err *err);

/* Looks for the sentinel in all that was written, and in the records as they come back from the
 * database: lab->found. */
int conformance_search(struct conformance_lab *lab, struct err *err);

#endif
