/* What agents sent and has not become a record yet, and which of their numbers came: the daemon's
 * taking-in (daemon/gather.h) keeps everything here, so that a restart loses nothing.
 *
 * Speaks of senders, runs, frames and logs; of what frames mean it knows only which of two counts.
 * The calls that write belong into a transaction of the caller (store_begin, or one by itself).
 *
 * Times called age are of the daemon's own clock: how long it has run, all its lives together. It
 * stands still while the daemon is down and knows nothing of steps of the wall clock, so what is
 * due by silence is not due because the daemon slept or somebody set the time. */
#ifndef STORE_INBOX_H
#define STORE_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "schema/batch.h"
#include "schema/picture.h"
#include "store/store.h"

#define INBOX_UNKNOWN_UID (-1)
#define INBOX_MAX_LOG (256u << 20) /* bytes of one mark log */
/* Of one picture. What is larger was cut by its runner, to be too large for a reader. */
#define INBOX_MAX_PICTURE (PICTURE_MAX_BYTES + 4096)

/* ---- the clock ------------------------------------------------------------------------------ */

int inbox_age(struct store *s, int64_t *ret_age_ns, struct err *err);
int inbox_set_age(struct store *s, int64_t age_ns, struct err *err);

/* ---- senders and their numbers -------------------------------------------------------------- */

enum inbox_known {
	INBOX_NEW,
	INBOX_SAME,  /* it was here before */
	INBOX_OTHER, /* another one of this number was; or that is so long ago that nobody knows */
};

/* Writes nothing. Costs no look at a table while the sender's numbers follow one another. */
int inbox_look(struct store *s, const struct batch_sender *from, uint64_t sum,
	       enum inbox_known *ret, struct err *err);

/* A batch is there. One row, whatever the number of senders; kept is held as long as context is
 * (inbox_fold), p NULL: nothing. ret_spool is what the other calls take. */
int inbox_arrive(struct store *s, const struct batch_sender *from, uint64_t sum, int64_t real_ns,
		 struct str kept, int64_t *ret_spool, struct err *err);
/* The number of a sender that has sent before, for what comes twice. */
int inbox_spool(struct store *s, const struct batch_sender *from, int64_t *ret_spool,
		struct err *err);

/* Arrivals are gathered in one table in the order they come, and from there taken into the ledger
 * and cleared now and then; then context that is older than keep_age_ns or beyond max_bytes is
 * dropped. Each call is one transaction of its own, of some milliseconds; *ret_more: call again. */
struct inbox_fold {
	int64_t age_ns, real_ns;
	int64_t keep_age_ns;
	uint64_t max_bytes; /* of context */
};
int inbox_fold(struct store *s, const struct inbox_fold *f, bool *ret_more, struct err *err);
/* Arrivals since; so many ask for a fold. */
uint64_t inbox_unfolded(const struct store *s);

struct inbox_gap {
	uint64_t first, last;
	bool carried; /* the batch that says so came as number last: that is gone all the same */
	struct str what, why;
	int64_t from_ns, to_ns;
};
int inbox_put_gap(struct store *s, int64_t spool, const struct inbox_gap *g, int64_t real_ns,
		  struct err *err);

/* Of one kind (what, why, run, exec) the larger count stands. ours: it came and the daemon did not
 * take it in; such counts add up. */
struct inbox_loss {
	struct str what, why, run, exec, text;
	uint64_t count, bytes;
	int64_t from_ns, to_ns;
	bool ours;
};
int inbox_put_loss(struct store *s, int64_t spool, const struct inbox_loss *l, int64_t real_ns,
		   struct err *err);

/* Nothing of this kind is lost of a run after all. */
int inbox_drop_loss(struct store *s, const char *run, const char *what, const char *why,
		    struct err *err);

/* Is this list of what a suite declares newer than those that came before? Then it is the newest
 * from now on: store_declare it, in the same transaction. */
int inbox_newer_declared(struct store *s, const char *suite, int64_t real_ns, uint64_t sum,
			 bool *ret, struct err *err);

/* The newest of each agent counts. frame: its bytes (batch_in.frame). */
int inbox_put_node(struct store *s, struct str agent, int64_t real_ns, struct str frame,
		   struct err *err);
/* In memory until the next fold: a word about itself comes often, and the next one replaces it. */
int inbox_put_self(struct store *s, const struct batch_sender *from, int64_t real_ns,
		   struct str frame, struct err *err);
/* Of the agent that has this spool. In the arena; ret->p NULL: it has not told. */
int inbox_get_node(struct store *s, int64_t spool, struct arena *a, struct str *ret,
		   struct err *err);

/* ---- the ledger: may be asked of any store that reads ---------------------------------------- */

struct inbox_span { /* numbers without a hole between them */
	uint64_t first, last;
	int64_t from_ns, to_ns; /* as their sender says: of the first, of the last; ROI_UNKNOWN */
};

struct inbox_hole {
	uint64_t first, last,
		count;          /* count: those in between that came all the same are not in it */
	const char *what, *why; /* of a gap; NULL where its sender did not say anything (yet) */
	bool told;              /* the sender says that they will never come */
	int64_t from_ns, to_ns; /* between these times; ROI_UNKNOWN: open */
};

struct inbox_lost {
	const char *what, *why, *run, *exec, *text;
	bool ours; /* not lost: it came, and was not taken in */
	uint64_t count, bytes;
	int64_t from_ns, to_ns;
};

/* One spool of one agent. */
struct inbox_ledger {
	const char *agent, *spool, *host, *boot, *tool;
	int64_t first_real_ns, last_real_ns; /* news from it, by the daemon's clock */
	int64_t last_to_ns;                  /* of the newest that came, by its own clock */
	uint64_t last_seq, batches;
	struct inbox_span *spans;
	size_t n_spans;
	struct inbox_hole *holes; /* those that touch the time that was asked for */
	size_t n_holes;
	struct inbox_lost *losses; /* likewise */
	size_t n_losses;
	/* Between the two times: is everything here? Of marks, and of all. */
	bool marks_complete, complete;
	const char *why;       /* not: a sentence */
	struct str self, node; /* bytes of its newest frames about itself, its node; p NULL */
};

/* Each spool, those first that sent first. agent NULL: of all. The times are those of the senders'
 * clocks; until_ns INT64_MAX: up to its newest. Lent until the callback returns; non-zero ends it.
 */
int inbox_each_ledger(struct store *s, const char *agent, int64_t since_ns, int64_t until_ns,
		      int (*each)(void *arg, const struct inbox_ledger *l), void *arg,
		      struct err *err);

/* Agents that ever sent, and runs that are open. */
int inbox_count(struct store *s, uint64_t *ret_agents, uint64_t *ret_open, struct err *err);

/* Context that was kept, as the batches in which it came, in the order of arrival: those whose
 * times touch these. Looks at what came in the same half minutes. */
int inbox_each_context(struct store *s, const char *agent, int64_t since_ns, int64_t until_ns,
		       int (*each)(void *arg, struct str batch), void *arg, struct err *err);

/* ---- runs that are not records yet, or may have to be made again ------------------------------
 */

enum inbox_state {
	INBOX_OPEN,   /* no record was made of it yet */
	INBOX_STORED, /* its record is there; what comes late makes it anew */
	INBOX_FAILED, /* no record can be made of what is there: why */
	INBOX_LATE,   /* its record is there, and something came since */
};

struct inbox_run {
	int64_t id;
	const char *name; /* run id; or of an ambient group: "ambient UID GROUP" */
	bool ambient;
	enum inbox_state state;
	int64_t uid; /* who announced it */
	int64_t began_age_ns, news_age_ns,
		due_age_ns;    /* due: when to look at it; INT64_MAX never */
	int64_t ended_age_ns;  /* when its run_end came; ROI_UNKNOWN */
	int64_t closed_age_ns; /* when its record was stored first */
	const char *stored;    /* run id of its record, NULL */
	const char *why;       /* of INBOX_FAILED */
	int64_t wants_node;    /* its record lacks the node of this spool\'s agent; 0: nothing */
};

/* Found, or made. Lent until the next call for a run. */
int inbox_run(struct store *s, const char *name, bool ambient, int64_t age_ns,
	      struct inbox_run *ret, struct err *err);
/* -ENOENT. */
int inbox_find_run(struct store *s, const char *name, struct inbox_run *ret, struct err *err);
/* All but id, name, ambient. */
int inbox_set_run(struct store *s, const struct inbox_run *run, struct err *err);
int inbox_delete_run(struct store *s, int64_t id, struct err *err);
/* The one that is due first: 1, or 0: none is before that age (ret_next_ns: then). */
int inbox_next_due(struct store *s, int64_t age_ns, struct inbox_run *ret, int64_t *ret_next_ns,
		   struct err *err);
/* This agent told of its node: records that lack it are due at once. */
int inbox_node_came(struct store *s, struct str agent, int64_t age_ns, struct err *err);
/* Those of a state, oldest first; a callback may ask, not write. */
int inbox_each_run(struct store *s, enum inbox_state state,
		   int (*each)(void *arg, const struct inbox_run *run), void *arg, struct err *err);

/* A frame about a run. Of two with the same kind, execution and user that with the larger weight
 * counts, then the later, then the larger bytes: whatever the order in which they come. */
struct inbox_frame {
	enum frame_type type;
	struct str exec;
	int64_t uid, spool;
	int64_t weight, real_ns;
	struct str bytes;
};
int inbox_put_frame(struct store *s, int64_t run, const struct inbox_frame *f, struct err *err);
int inbox_each_frame(struct store *s, int64_t run,
		     int (*each)(void *arg, const struct inbox_frame *f), void *arg,
		     struct err *err);

/* Remove what others than this user (and root, and those that nobody knows) said of a run: so many.
 * Root's runs may have processes of other users. */
int inbox_refuse_others(struct store *s, int64_t run, int64_t uid, uint64_t *ret_n,
			struct err *err);

/* What was lost of this run, by all senders together. */
int inbox_each_loss(struct store *s, const char *run,
		    int (*each)(void *arg, const struct inbox_lost *l), void *arg, struct err *err);

/* A piece of the log of a process. ret_whole: a newer look at the log is whole by it (its id is in
 * ret_log). What frames say beside the log's bytes is kept so that for each field the highest
 * snapshot in which it is known can be told. -E2BIG: more pieces than a look can have. */
int inbox_put_piece(struct store *s, int64_t run, int64_t spool, const struct frame_process *p,
		    int64_t *ret_log, bool *ret_whole, struct err *err);

struct inbox_log {
	int64_t id, spool, uid;
	const char *exec, *stream; /* exec NULL: none */
	int64_t snapshot;          /* of the newest whole look; -1: none is whole */
	bool final;                /* that look is from after its end */
	double steps;              /* as far as anybody looked */
	double processes;          /* that stand in it: one, in our own logs */
};
int inbox_set_progress(struct store *s, int64_t log, double steps, double processes,
		       struct err *err);
/* A process was seen to have made so many steps, whether or not its log came. */
int inbox_note_progress(struct store *s, int64_t run, struct str exec, struct str stream,
			double steps, struct err *err);
/* Of one execution. ret_n: processes that were seen; ret_steps: of the one that did most. */
int inbox_get_progress(struct store *s, int64_t run, const char *exec, double *ret_n,
		       double *ret_steps, struct err *err);

/* In the order of execution, user and stream. */
int inbox_each_log(struct store *s, int64_t run, int (*each)(void *arg, const struct inbox_log *l),
		   void *arg, struct err *err);
/* Its fields, data apart, in the arena; and the bytes of the newest whole look, in the place of
 * what ret has. */
int inbox_get_log(struct store *s, int64_t log, struct arena *a, struct frame_process *ret,
		  struct err *err);
int inbox_get_log_bytes(struct store *s, int64_t log, struct buf *ret, struct err *err);

/* A piece of what a collector left of a process, likewise. Known by run, execution, user and file.
 */
int inbox_put_picture(struct store *s, int64_t run, int64_t spool, const struct frame_picture *p,
		      bool *ret_whole, struct err *err);

struct inbox_picture {
	int64_t id, spool, uid;
	const char *exec, *file;
	int64_t real_ns;  /* of the first look; ROI_UNKNOWN */
	int64_t snapshot; /* of the newest whole look; -1: none is whole */
	bool final;       /* that look is from after the end of its process */
};
/* In the order of execution, file and user. */
int inbox_each_picture(struct store *s, int64_t run,
		       int (*each)(void *arg, const struct inbox_picture *p), void *arg,
		       struct err *err);
int inbox_get_picture_bytes(struct store *s, int64_t picture, struct buf *ret, struct err *err);

#endif
