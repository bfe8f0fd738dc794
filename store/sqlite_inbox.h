/* What the files of the inbox share. Nobody else includes this. */
#ifndef STORE_SQLITE_INBOX_H
#define STORE_SQLITE_INBOX_H

#include <assert.h>

#include "schema/roilog.h"
#include "store/inbox.h"
#include "store/spans.h"
#include "store/sqlite.h"

#define IN_LOOK_STATEMENTS 8 /* of store/sqlite_inbox_look.c, for each kind of file */

enum inbox_statement {
	IN_AGE = STMT_INBOX,
	IN_SET_AGE,
	IN_FOLDED,
	IN_SET_FOLDED,
	IN_SPOOL_OF,
	IN_SPOOL_NAME,
	IN_NEW_SPOOL,
	IN_DESCRIBE,
	IN_SPANS,
	IN_ARRIVE,
	IN_UNFOLDED,
	IN_KEEP_SPOOL,
	IN_DROP_SPANS,
	IN_PUT_SPAN,
	IN_GET_SUMS,
	IN_PUT_SUMS,
	IN_DROP_SUMS,
	IN_CLEAR,
	IN_PUT_FOLD,
	IN_OLD_FOLD,
	IN_FOLDS,
	IN_DROP_CONTEXT,
	IN_DROP_FOLDS,
	IN_PUT_GAP,
	IN_PUT_LOSS,
	IN_DROP_LOSS,
	IN_PUT_NODE,
	IN_GET_NODE,
	IN_PUT_SELF,
	IN_EACH_SPOOL,
	IN_EACH_GAP,
	IN_EACH_LOSS,
	IN_EACH_ARRIVAL,
	IN_RUN_LOSS,
	IN_EACH_CONTEXT,
	IN_NEW_CONTEXT,
	IN_FIND_RUN,
	IN_NEW_RUN,
	IN_SET_RUN,
	IN_DELETE_RUN,
	IN_NEXT_DUE,
	IN_NODE_CAME,
	IN_EACH_RUN,
	IN_GET_FRAME,
	IN_PUT_FRAME,
	IN_EACH_FRAME,
	IN_FIND_LOG,
	IN_NEW_LOG,
	IN_GET_META,
	IN_PUT_META,
	IN_EACH_META,
	IN_LOG_LOOKS,
	IN_PICTURE_LOOKS = IN_LOG_LOOKS + IN_LOOK_STATEMENTS,
	IN_PROGRESS = IN_PICTURE_LOOKS + IN_LOOK_STATEMENTS,
	IN_NOTE_PROGRESS,
	IN_GET_PROGRESS,
	IN_EACH_LOG,
	IN_OTHER_FRAMES,
	IN_OTHER_LOGS,
	IN_FIND_PICTURE,
	IN_NEW_PICTURE,
	IN_EACH_PICTURE,
	IN_OTHER_PICTURES,
	IN_DECLARED,
	IN_END,
};
static_assert((int)IN_END <= (int)STMT_N, "there is room for these statements");

/* The kept statement; NULL after saying why, in s->failed. */
sqlite3_stmt *in_statement(struct store *s, enum inbox_statement which, const char *text,
			   struct err *err);
void in_release(struct store *s, enum inbox_statement which, sqlite3_stmt *stmt);
int in_run(struct store *s, enum inbox_statement which, sqlite3_stmt *stmt, struct err *err,
	   const char *doing);
/* One step: 1 a row, 0 none, or what went wrong. */
int in_step(struct store *s, sqlite3_stmt *stmt, struct err *err, const char *doing);

void in_bind_ns(sqlite3_stmt *stmt, int at, int64_t ns);       /* ROI_UNKNOWN is NULL */
void in_bind_str(sqlite3_stmt *stmt, int at, struct str text); /* borrowed; p NULL is NULL */
void in_bind_blob(sqlite3_stmt *stmt, int at, struct str bytes);
int64_t in_ns(sqlite3_stmt *stmt, int column); /* NULL is ROI_UNKNOWN */
struct str in_text(sqlite3_stmt *stmt, int column);
struct str in_blob(sqlite3_stmt *stmt, int column);

/* ---- looks at files of processes ------------------------------------------------------------- */

/* The tables of a kind of file, as texts of statements. */
struct in_looks {
	enum inbox_statement first;
	const char *set, *put, *pieces, *count, *snapshots, *drop_half, *drop_old, *bytes;
};
extern const struct in_looks in_log_looks, in_picture_looks;

struct in_look {
	int64_t id, snapshot, final; /* snapshot: the newest whole one, -1: none */
	bool is_new;                 /* its row was made just now */
};

struct in_piece {
	int64_t snapshot, size, at;
	struct str data;
};

/* Within a transaction. What is older than the newest whole look changes nothing. ret_whole: set
 * where this look is whole by it. -E2BIG: more pieces than a look can have. */
int in_look_put(struct store *s, const struct in_looks *k, struct in_look *l,
		const struct in_piece *p, bool final, bool *ret_whole, struct err *err);
/* Of the newest whole look, in the place of what ret has. */
int in_look_bytes(struct store *s, const struct in_looks *k, int64_t file, struct buf *ret,
		  struct err *err);

/* ---- what is known of senders, in memory ----------------------------------------------------- */

struct in_sum {
	uint64_t seq, sum;
};

/* Of a sender, what a batch changes. */
struct in_state {
	struct spans spans;
	size_t n_recent; /* sums that are not in the table yet */
	uint64_t last_seq, batches, described, low;
	int64_t last_real_ns, to_ns;
	bool dirty; /* not as in the tables */
};

struct sender {
	int64_t id;
	uint64_t hash;
	struct in_state now,
		before; /* before: at the begin of the transaction, when it is touched */
	struct in_sum *recent;
	size_t recent_cap;
	bool touched, is_new;
	char *self; /* its newest frame about itself */
	size_t self_n;
	int64_t self_ns;
	bool self_new; /* not in the table yet */
	struct sender *next, *next_touched;
	size_t agent_n, spool_n;
	char name[]; /* agent, spool */
};

/* Arrivals. */
struct in_log {
	int64_t folded, last;   /* rows */
	uint64_t unfolded;      /* since the last fold */
	uint64_t bytes;         /* of context among them */
	int64_t from_ns, to_ns; /* of its times, where there is any */
};

/* A fold that is under way: some senders at a call. The list is by number of the row, so that those
 * of one call lie together in the tables. */
struct in_pass {
	struct sender **list;
	size_t n, at;
	struct in_log log; /* as it was at its begin: it goes up to the last arrival of then */
	int64_t cleared;
	bool open, drops; /* drops: it is done, and old context goes now */
};

struct inbox {
	struct sender **buckets;
	size_t n_buckets, n;
	struct sender *touched;
	bool ready;                    /* what had arrived before this start is in the senders */
	struct in_log log, log_before; /* before: at the begin of the transaction */
	struct in_pass pass;
};

/* One more arrival, with so many bytes of context. */
void in_count(struct in_log *log, size_t bytes, int64_t from_ns, int64_t to_ns);
/* The senders, with all that arrived. -ENOMEM. */
int in_ready(struct store *s, struct inbox **ret, struct err *err);
/* Known, or read from the tables; *ret NULL: has never sent. */
int in_sender(struct store *s, struct str agent, struct str spool, struct sender **ret,
	      struct err *err);
int in_create(struct store *s, const struct batch_sender *from, int64_t real_ns,
	      struct sender **ret, struct err *err);
/* Keep what is known before the first change in a transaction. */
int in_touch(struct inbox *in, struct sender *p);
/* Another boot, host or version than last time is written down. */
int in_describe(struct store *s, struct sender *p, const struct batch_sender *from,
		struct err *err);
int in_keep_self(struct store *s, const struct sender *p, struct err *err);
void in_forget(struct inbox *in); /* all of those that are as in the tables */

#define IN_SUMS_BLOCK 64
#define IN_SUMS_KEPT 4096 /* numbers below the newest whose sums are known */

#endif
