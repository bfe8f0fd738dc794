/* What a run has done so far, on disk, so that a killed one can go on. One file, only ever
 * appended to; a half-written end is cut off when it is read again. Every execution is in the
 * file before the next one starts. It is synced at least once a second, so a killed runner loses
 * nothing and a machine that loses power at most a second's executions.
 *
 * One journal belongs to one way of calling (its key); a lock keeps two runs off one journal. */
#ifndef RUN_JOURNAL_H
#define RUN_JOURNAL_H

#include <stdbool.h>

#include "lib/err.h"
#include "run/capture.h"

/* A case of the run, and what must be the same for its executions to be used again. */
struct journal_case {
	const char *app, *name;
	const char *fingerprint;
	char run_id[40];  /* empty: not begun */
	bool stored;      /* its record is in the store */
	bool interrupted; /* with the status "interrupted": a resumed run makes a new record */
	bool resumed;     /* executions of more than one session are in it */
};

struct journal;

/* Start anew. folder is made if needed. *ret_discarded: executions of an unfinished journal that
 * was there and is gone now. -EBUSY: another run holds it. */
int journal_create(struct journal **ret, const char *folder, const char *key,
		   const struct journal_case *cases, size_t n, size_t *ret_discarded,
		   struct err *err);

/* Take up an unfinished one: run ids and flags of those cases that have the same fingerprint are
 * filled in, and each of their executions is handed out, in order; the callee takes it. Cases that
 * are not in it start from nothing. -ENOENT: there is none. */
int journal_resume(struct journal **ret, const char *folder, const char *key,
		   struct journal_case *cases, size_t n,
		   int (*each)(void *arg, size_t i, struct capture *c), void *arg, struct err *err);

/* Append: case i begins under its run id, or goes on in another session (resumed); an execution of
 * it; its record is stored. -ENOSPC and so on: the journal is then of no more use, and the run goes
 * on without. */
int journal_begin(struct journal *j, size_t i, const char *run_id, bool resumed, struct err *err);
int journal_add(struct journal *j, size_t i, const struct capture *c, struct err *err);
int journal_stored(struct journal *j, size_t i, bool interrupted, struct err *err);

/* done: nothing is left to do, remove it. NULL is fine. */
void journal_close(struct journal *j, bool done);

#endif
