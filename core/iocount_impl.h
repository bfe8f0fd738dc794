/* The inside of a counter. iocount.c: what each call adds; iocount_files.c: texts, handles, files,
 * how they are used; iocount_time.c: bytes over time, time in which any thread waited;
 * iocount_picture.c. */
#ifndef CORE_IOCOUNT_IMPL_H
#define CORE_IOCOUNT_IMPL_H

#include "core/flow_impl.h"
#include "core/iocount.h"

#define NO_FILE UINT32_MAX
#define SIZE_BINS 64 /* bin 0 is no byte, bin k 2^(k-1) to 2^k - 1 */
#define EXTENTS 48   /* of written bytes, of each file */
#define SERIES_BINS 256
#define SERIES_NS 1000000 /* the narrowest bin */
#define SOURCES (1 + IO_INTERFACES)
#define WAITS 16384

enum scope { ROI, WHOLE, SCOPES };

struct count_sums {
	double read_bytes, write_bytes; /* pro rata where cut */
	uint64_t read_ops, write_ops, open_ops, seek_ops, sync_ops, meta_ops, failed_ops;
	uint64_t read_ns, write_ns, meta_ns, untimed_ops;
};

struct count_pattern {
	uint64_t consecutive[2], sequential[2], turns, unaligned; /* [0] reads, [1] writes */
	double reread_bytes;
	uint64_t bins[2][SIZE_BINS];
};

struct extent {
	int64_t begin, end;
};

struct count_file {
	const char *name; /* in names, or static; NULL: not known */
	uint32_t path;    /* text; 0: none */
	uint8_t type, interface;
	bool has_pattern; /* an offset of it was seen */
	uint64_t device, inode;
	const char *filesystem; /* NULL: not known */
	uint64_t block;         /* 0: not known, 4096 is taken */
	uint64_t born_us;       /* 0: not known */
	int64_t size;
	int64_t first_ns, last_ns;          /* last 0: never */
	uint32_t hints_set, hints_in_force; /* texts */
	struct count_sums sums[SCOPES];
	struct count_pattern patterns[SCOPES];
	struct extent written[EXTENTS];
	uint32_t n_written;
	double closed_bytes;
};

struct count_handle {
	uint32_t number; /* 0: free */
	uint32_t file;   /* NO_FILE: in the sums only */
	int64_t end;     /* of the access before */
	uint8_t type;
	bool closed, accessed, wrote;
};

/* Bins of one source, at whole multiples of the width on the time line. */
struct count_series {
	int64_t first; /* time of bin 0 in widths; n 0: none yet */
	uint32_t n;
	uint64_t bytes[2][SERIES_BINS];
};

/* When any thread was in I/O: disjoint, in order; what is before settled is in the sums. */
struct count_waits {
	struct range *items, *spare; /* WAITS each; spare is for merging */
	size_t n;
	int64_t settled, flushed;
	uint64_t ns[SCOPES], closed_ns, late;
	bool several; /* threads */
	uint32_t thread;
};

struct count_text {
	uint32_t number, bytes;
	const char *at;
};

/* Of the signature of a call: where among the arguments; -1: nowhere. */
struct count_call {
	int8_t handle, to, asked, path;
	char result; /* its letter; 0: no such call */
};

struct iocount {
	struct iocount_options options;
	struct count_call calls[IO_CALL_LIMIT];
	/* what iocount_clear sets to zero begins here */
	struct count_sums sums[IO_INTERFACES][2][SCOPES]; /* [1]: within others */
	struct count_sums all[SCOPES];                    /* the program's own */
	struct count_series series[SOURCES];
	int64_t width_ns; /* of all series */
	struct range bin; /* the one that was looked for last, and its number on the time line */
	int64_t bin_number;
	uint64_t mpi_calls[IOPICTURE_MPI_CLASSES][SCOPES], mpi_ns[IOPICTURE_MPI_CLASSES][SCOPES];
	uint64_t dropped, files_total;
	uint32_t n_files;
	size_t names_used, texts_used, n_texts, ring_at, ring_bytes;
	struct count_handle *last_handle; /* that was asked for */
	struct range gap, window;         /* of the flow: no window touches one, the other is one */
	/* and ends here */
	struct count_waits waits;
	struct count_file *files;
	uint32_t *by_key; /* of files: a hash table, index + 1 */
	size_t by_key_mask;
	struct count_handle *handles;
	size_t handles_mask;
	uint64_t *seen; /* bits: paths that were opened */
	struct count_text *texts;
	char *text_room, *names, *ring;
};

/* How much of a call is inside the region. */
struct share {
	bool in;
	double part; /* of its bytes */
	uint64_t ns, in_ns;
};

/* iocount_files.c */
int files_init(struct iocount *c);
void files_done(struct iocount *c);
void files_clear(struct iocount *c);
struct count_handle *handle_find(struct iocount *c, uint32_t number); /* NULL: not known */
struct count_file *file_of_path(struct iocount *c, uint32_t path);    /* NULL: none has it */
const char *text_find(const struct iocount *c, uint32_t number, size_t *ret_bytes);
/* Accesses of a file: n of them, one behind the other, of `bytes` bytes each. */
void file_access(struct count_file *f, struct count_handle *h, bool write, int64_t at,
		 uint64_t bytes, bool cut_short, uint64_t n, const struct share *s);
void file_hints(struct count_file *f, const struct io_event *e);

/* iocount_time.c */
int waits_init(struct count_waits *w);
void waits_done(struct count_waits *w);
void waits_clear(struct count_waits *w);
void waits_add(struct iocount *c, struct flow *f, const struct range *some, size_t n,
	       uint32_t thread);
void series_add(struct iocount *c, unsigned source, bool write, int64_t begin, int64_t end,
		uint64_t bytes);

#endif
