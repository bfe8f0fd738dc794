/* A trace of Recorder: a folder of one run. Calls of a process are a table of signatures, a grammar
 * over it, and times beside it. Expanded one by one, however the rules are nested: nothing is kept of
 * what was handed out. Layouts of releases 2.3 to 3.0, told apart by their files. */
#ifndef IMPORT_RECORDER_TRACE_H
#define IMPORT_RECORDER_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/str.h"

/* What an entry of the table says of a call. */
struct recorder_key {
	uint64_t thread; /* 0: not kept */
	uint32_t function;
	uint8_t depth, n_args;
	struct str args; /* each followed by a blank */
};

struct recorder_table {
	struct recorder_key *keys; /* by the numbers that grammars use */
	size_t n;
};

struct recorder_symbol {
	uint32_t value; /* of the table, or of the rules */
	bool is_rule;
	uint32_t times;
};

struct recorder_rule {
	uint32_t first, n; /* of symbols */
	uint64_t events;   /* calls that one use of it is */
};

struct recorder_grammar {
	struct recorder_rule *rules; /* the first one is the start */
	struct recorder_symbol *symbols;
	size_t n_rules, n_symbols;
	bool counted;
};

struct recorder_rank {
	const struct recorder_table *table;
	const struct recorder_grammar *grammar; /* NULL: its files are missing */
	uint64_t events;                        /* that the grammar has */
	uint64_t times;                         /* that there are times for, where that is less */
	const char *missing;                    /* which file is; NULL */
};

struct recorder {
	struct arena arena;
	const char *path;
	bool merged;         /* one table, or one file of times, for all */
	const char *version; /* as the folder has it; NULL */
	const char **functions; /* and one more: "user_function", whatever its own name is */
	size_t n_functions;
	double begin_s, tick_s; /* since 1970; length of a tick */
	struct recorder_rank *ranks;
	size_t n_ranks, n_missing;
	struct recorder_grammar *grammars;
	size_t n_grammars;
	uint64_t *times_at; /* of each rank in the file of all times; NULL: a file each */
	uint64_t *times_bytes;
	char hash[33]; /* XXH3-128 over all files */
	int64_t mtime_ns;
	const char *damage; /* sentences about what was left out; NULL */
	bool salvage;
};

/* -EINVAL: no trace, one of a run that never ended, one of the newest layout, damaged. salvage: times that
 * are cut are no failure: calls without times are left out. Processes whose files are missing are named in
 * their rank; only when all are it is a failure. */
int recorder_open(struct recorder **ret, const char *path, bool salvage, struct err *err);
void recorder_close(struct recorder *r);

struct recorder_call {
	const struct recorder_key *key;
	const char *function;
	uint64_t begin, end; /* ticks since the start of the run */
};

struct recorder_cursor;
int recorder_begin(struct recorder_cursor **ret, struct recorder *r, size_t rank, struct err *err);
int recorder_next(struct recorder_cursor *c, struct recorder_call *ret, struct err *err); /* 1; 0 */
void recorder_end(struct recorder_cursor *c);

/* recorder_parse.c: whole tables and grammars, of bytes. name: for sentences. A function that the
 * program itself had traced, which has no name in the list, is number n_functions. */
int recorder_table_parse(struct recorder_table *ret, struct arena *a, struct str bytes,
			 size_t n_functions, const char *name, struct err *err);
int recorder_grammar_parse(struct recorder_grammar *ret, struct arena *a, struct str bytes,
			   size_t n_keys, const char *name, struct err *err);
/* 1 where it is a packed block (u64 packed, u64 plain, zlib), with its plain bytes and how long it is;
 * 0: it is none. */
int recorder_block(struct arena *a, struct str bytes, struct str *ret, size_t *ret_used,
		   const char *name, struct err *err);

/* recorder_ticks.c: pairs of numbers, from a file as it is or packed. */
struct recorder_ticks;
int recorder_ticks_open(struct recorder_ticks **ret, const char *path, uint64_t at, uint64_t bytes,
			struct err *err);
/* How many pairs, where that is known without reading; UINT64_MAX. */
uint64_t recorder_ticks_count(const struct recorder_ticks *t);
int recorder_ticks_next(struct recorder_ticks *t, uint32_t *begin, uint32_t *end, struct err *err);
void recorder_ticks_close(struct recorder_ticks *t);
/* recorder_trace.c: of one process. */
int recorder_ticks_of(struct recorder *r, size_t rank, struct recorder_ticks **ret, struct err *err);

#endif
