/* Marked processes that nobody announced: those of one launch are an execution, and launches with
 * the same name (a job step that starts its program again and again) are the executions of one run
 * of kind "ambient". */
#ifndef DAEMON_AMBIENT_H
#define DAEMON_AMBIENT_H

#include "daemon/parts.h"

/* Every process that is known is gone, and each launch has as many as its launcher said. */
bool ambient_complete(const struct parts *p);

/* All known processes are gone: if some are to come yet, nothing says so. */
bool ambient_over(const struct parts *p);

/* ret_wants_node: its platform is not known, since the agent of this spool has not told of its node
 * (yet); 0: it is. Its run id says when the first entry began, and comes from the name of the
 * group; again: the next one, where another run has that. rec is initialised by this call, also
 * when it fails. -EBADMSG: no record can be made of it. */
int ambient_record(const struct parts *p, struct store *s, unsigned again, struct record *rec,
		   int64_t *ret_wants_node, struct err *err);

/* Of one that is in progress: suite, app, case and platform into rec, when its first entry began
 * into ret_begin_ns, as far as known. The log of one process is read, that of rank 0 where it is
 * there. rec is initialised by this call, also when it fails. */
int ambient_name(const struct parts *p, struct store *s, struct record *rec, int64_t *ret_begin_ns,
		 struct err *err);

#endif
