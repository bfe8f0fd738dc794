/* The insides of lib/spool.c, spool_state.c, spool_segment.c and spool_read.c. */
#ifndef LIB_SPOOL_IMPL_H
#define LIB_SPOOL_IMPL_H

#include "lib/spool.h"

#define SEGMENT_HEAD_BYTES 16
#define RECORD_HEAD_BYTES 40
#define SEGMENT_NAME_BYTES 32
#define ALONE_NONE UINT64_MAX /* there is no segment at all */
#define STATE_BYTES 256
#define STATE_SLOT_BYTES 4096 /* apart, so that writing one can't tear the other */

/* What stands in the file "state": two slots written by turns, the higher good generation is true.
 * It has its bytes from the beginning, so that it can be written when the disk is full. */
struct spool_state {
	uint64_t generation;
	char id[17];
	uint64_t acked;
	uint64_t floor;    /* numbers up to here were given out, though their records may be gone */
	uint64_t dropping; /* first number of a context segment that is counted as dropped */
	struct spool_loss dropped, refused[SPOOL_CLASSES];
	uint64_t damaged, damaged_to; /* how many numbers, and the highest that is counted */
};

struct record_head {
	enum spool_class class;
	uint32_t n;
	uint64_t seq;
	int64_t real_ns;
	uint64_t sum; /* of the bytes */
};

/* The segment that is appended to. */
struct tail {
	int fd;                /* -1: the next record begins one */
	uint64_t first, last;  /* last 0: no record */
	uint64_t size, synced; /* bytes */
};

/* Where reading is in one class. */
struct cursor {
	int fd; /* -1: to be found */
	uint64_t first, at;
	uint64_t last; /* number of the last record that was passed */
	uint64_t none; /* no further segment was there when begun was one less; 0: not known */
	bool damaged;  /* something could not be read since the last record that could */
	bool peeked;   /* head is that of the record at `at` */
	struct record_head head;
};

struct spool {
	int folder, lock, state_fd;
	char *path;
	uint64_t max_bytes, segment_bytes;
	uint64_t bytes; /* of all segments */
	uint64_t next, synced, read;
	uint64_t alone[SPOOL_CLASSES]; /* the only segment there is; 0: not known, or several */
	uint64_t begun[SPOOL_CLASSES]; /* segments, since the spool was opened */
	bool folder_dirty, state_dirty;
	struct spool_state state;
	struct tail tails[SPOOL_CLASSES];
	struct cursor cursors[SPOOL_CLASSES];
	int64_t read_ns; /* time of the record last read */
	char *data;
	size_t data_cap;
};

/* spool_state.c */
int state_open(struct spool *s, struct err *err);
int state_save(struct spool *s, bool durable, struct err *err);
void loss_add(struct spool_loss *loss, uint64_t records, uint64_t bytes, int64_t real_ns);

/* spool_segment.c. Numbers of segments are those of their first records. */
struct found {
	uint64_t lowest, highest; /* of all; 0: there is none */
	uint64_t from;            /* the highest that is not above the asked number */
	uint64_t above;           /* the lowest that is */
	uint64_t count, bytes;
};
int segment_find(struct spool *s, enum spool_class class, uint64_t seq, struct found *ret);
void segment_name(char name[SEGMENT_NAME_BYTES], enum spool_class class, uint64_t first);
int segment_open(struct spool *s, enum spool_class class, uint64_t first, int flags);
void segment_head_make(unsigned char out[SEGMENT_HEAD_BYTES], enum spool_class class);
void record_head_make(unsigned char out[RECORD_HEAD_BYTES], const struct record_head *h);
/* 1: a head of that class, its number past `after`; 0: none, whether the file ends or is damaged.
 */
int record_head_read(int fd, uint64_t at, enum spool_class class, uint64_t after,
		     struct record_head *ret);
/* 1: whole and good; 0: not. *data grows as needed. */
int record_bytes_read(int fd, uint64_t at, const struct record_head *h, char **data, size_t *cap);
int segment_remove(struct spool *s, enum spool_class class, uint64_t first);
/* Forget the tail if it is this segment, and where reading is in it. */
void segment_leave(struct spool *s, enum spool_class class, uint64_t first);

/* spool_read.c */
void cursor_reset(struct cursor *c);

#endif
