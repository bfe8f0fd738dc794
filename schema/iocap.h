/* A capture: every call of an application's processes that has to do with files, small. A folder
 * with one file for each process (*.iocap), as docs/capture.md describes.
 *
 * A process's calls lie in streams, one for each of its first threads; a thread that comes when
 * there are no more takes over the stream that was idle longest. Within a stream, calls have the
 * order in which they were handed over. Each call is a symbol, the number of a signature: what is
 * the same whenever a loop comes by (call, handle by the place it has among the open ones, sizes,
 * offsets by how they follow). What a symbol leaves open are numbers in columns beside it. Symbols
 * are kept as the rules of a grammar or as a plain list, whatever is smaller, and times in columns
 * of their own. */
#ifndef SCHEMA_IOCAP_H
#define SCHEMA_IOCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "schema/ioevent.h"

#define IOCAP_SUFFIX ".iocap"
#define IOCAP_STREAMS 64

/* Whose calls they are. Texts are borrowed, NULL where they are not known. */
struct iocap_process {
	int64_t pid, parent; /* -1: not known */
	int64_t rank;        /* in the job; -1: not known */
	const char *host, *program;
	const char *source;         /* "live", "recorder", "darshan" */
	int64_t real_minus_mono_ns; /* add to a time to have one since 1970 */
	bool timed;                 /* false: no times are kept */
	uint64_t step_ns;           /* times are multiples of it, rounded; 1: as they came */
};

/* What a handle is of; as struct io_handle_info of the collector. */
struct iocap_handle {
	uint32_t number;
	uint32_t path;          /* text; 0: not known */
	uint8_t type;           /* enum io_file_type */
	uint8_t interface;      /* enum io_interface, of the call that made it */
	bool was_open;          /* before anybody looked */
	int64_t flags;          /* of open, as on Linux; -1: not known */
	uint64_t device, inode; /* 0, 0: not known */
};

/* ---- reading ---- */

struct iocap; /* a folder, or one file, open for reading */

/* Opens all *.iocap of a folder, or that one file. Damage at the end of a file, as a killed process
 * or a full disk leaves it, is no failure: what is before it is read, and iocap_sums says so.
 * -EINVAL with a sentence for what is no capture or contradicts itself. */
int iocap_open(struct iocap **ret, const char *path, struct err *err);
void iocap_close(struct iocap *c); /* NULL is fine */

/* The same for who can't trust what is there: its files together, what their texts become in
 * memory, and what their other tables do, may be max_bytes each; -EFBIG past that, and where they
 * say the same so often that reading takes more time than such a capture would. A column is read
 * with up to 100 MiB more, a base with its list of blocks (max_bytes). */
int iocap_open_within(struct iocap **ret, const char *path, size_t max_bytes, struct err *err);

/* Bytes of one file, for tests; name is for sentences. The bytes stay the caller's, and must stay.
 */
int iocap_open_bytes(struct iocap **ret, const void *bytes, size_t n, const char *name,
		     struct err *err);

/* Processes in the order of rank, then of file names. */
size_t iocap_processes(const struct iocap *c);
const struct iocap_process *iocap_process(const struct iocap *c, size_t process);

struct iocap_sums {
	uint64_t bytes;   /* of the file */
	uint64_t events;  /* that can be read */
	uint64_t calls;   /* that these are: an event may stand for several */
	uint64_t dropped; /* calls that were seen and could not be kept */
	uint64_t rules,
		symbols; /* of all grammars, and how many (value, exponent) their bodies have */
	uint64_t listed; /* calls in segments that are plain lists */
	uint64_t signatures, texts, handles, streams;
	uint64_t time_bytes, value_bytes, symbol_bytes,
		table_bytes; /* of the file, by what they hold */
	bool finished;       /* the process said that this is all */
	bool damaged;        /* something behind what can be read is broken */
};

const struct iocap_sums *iocap_sums(const struct iocap *c, size_t process);

/* NULL where the process has no such text or handle; *ret_bytes may be NULL. NUL follows a text. */
const char *iocap_text(const struct iocap *c, size_t process, uint32_t number, size_t *ret_bytes);
const struct iocap_handle *iocap_handle(const struct iocap *c, size_t process, uint32_t number);

/* Events of a stream, one by one, in constant memory. */
size_t iocap_streams(const struct iocap *c, size_t process);
struct iocap_cursor;
int iocap_begin(struct iocap_cursor **ret, const struct iocap *c, size_t process, size_t stream,
		struct err *err);
/* 1: *ret is the next event, *ret_signature (may be NULL) its symbol. 0: that was all. Negative:
 * the file contradicts itself. */
int iocap_next(struct iocap_cursor *at, struct io_event *ret, uint32_t *ret_signature,
	       struct err *err);
void iocap_end(struct iocap_cursor *at);

/* Events of all streams of a process, by begin; where times are not known, stream after stream. */
struct iocap_merged;
int iocap_merge(struct iocap_merged **ret, const struct iocap *c, size_t process, struct err *err);
int iocap_merge_next(struct iocap_merged *at, struct io_event *ret, struct err *err); /* as above */
void iocap_merge_end(struct iocap_merged *at);

/* ---- rules, not expanded ---- */

/* What a symbol says. `how` tells of each argument, the result, `at` and `count` where it comes
 * from. */
enum iocap_how {
	IOCAP_NONE,   /* the call has no such argument */
	IOCAP_FIXED,  /* value */
	IOCAP_COLUMN, /* differs each time: in a column */
	IOCAP_SLOT,   /* handle: the one in place `value` of the stream's open handles */
	IOCAP_STEP,   /* handle: the one `value` places behind that of the call before */
	IOCAP_NEXT,   /* handle or text: one more than the newest before it */
	IOCAP_FOLLOW, /* offset: where the access before ended */
	IOCAP_STRIDE, /* offset: as far behind the one before as that was behind the one before it
		       */
	IOCAP_DELTA,  /* offset: `value` bytes behind the one before */
	IOCAP_ASKED,  /* result: all that was asked for; at: the call's offset */
};

#define IOCAP_FIELDS (IO_ARGS + 3)

struct iocap_signature {
	uint16_t call; /* enum io_call; IO_CALL_NONE: the stream's thread changes */
	uint8_t depth;
	uint8_t how[IOCAP_FIELDS]; /* arguments, result, at, count */
	int64_t value[IOCAP_FIELDS];
};
const struct iocap_signature *iocap_signature(const struct iocap *c, size_t process,
					      uint32_t signature);

/* A stream's symbols lie in segments, one behind the other. Rule 0 is the segment; a body's items
 * are symbols or other rules of the segment, each so many times. A plain list is a grammar of one
 * rule. */
struct iocap_item {
	uint32_t value; /* signature, or rule */
	bool is_rule;
	uint64_t times;
};
size_t iocap_segments(const struct iocap *c, size_t process, size_t stream);
size_t iocap_rules(const struct iocap *c, size_t process, size_t stream, size_t segment);
/* Borrowed; NULL for lack of memory. *ret_events: how many calls one use of the rule is. */
const struct iocap_item *iocap_rule(const struct iocap *c, size_t process, size_t stream,
				    size_t segment, size_t rule, size_t *ret_items,
				    uint64_t *ret_events);

#endif
