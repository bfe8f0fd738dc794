/* Inside of the collector `io`: MPI, seen without being compiled against any. io_mpi_next.c (the
 * functions behind ours), io_mpi_facts.c (what of an MPI's constants is needed), io_mpi.c (a call
 * of it, the lock), io_mpi_time.c (calls that are only timed), io_mpi_file.c (files),
 * io_mpi_access.c (their data), io_mpi_wait.c (requests), io_mpi_text.c (hints, communicators,
 * datatypes as texts).
 *
 * Each function is here twice, as MPI_X and as PMPI_X: Open MPI's Fortran calls PMPI_X, and what
 * goes through both is counted once, as is all that one function of MPI calls of others. An
 * argument is a machine word here, handed on as it came: on all 64-bit Linux platforms an MPI's
 * handle, pointer, count and offset each go in one register or one slot of the stack; an int in its
 * lower half. A result is int. Where that does not hold (MPI_Wtime, MPI_Pcontrol), nothing is
 * wrapped. */
#ifndef COLLECTORS_IO_MPI_H
#define COLLECTORS_IO_MPI_H

#include "collectors/io_wrap.h"

_Static_assert(sizeof(uintptr_t) == 8, "an offset of MPI goes in one register");

typedef uintptr_t mpi_word; /* a handle, a pointer or a number as the program passed it */

/* ---- the functions behind ours ----------------------------------------------------------------
 */

struct mpi_next {
	const char *name;
	void *to;
};

/* Another tool's, if there is one, else the MPI's. Never NULL: where there is none, a function that
 * does nothing and fails. */
void *mpi_next(struct mpi_next *n);

/* A function of the MPI library itself; one of its objects. NULL: it has none. */
void *mpi_own(const char *name);
void *mpi_object(const char *name);

/* ---- a call ------------------------------------------------------------------------------------
 */

/* The outermost call of MPI on this thread, measured; else false: hand it on and do nothing more.
 * What is called until its end has depth 1. */
bool mpi_begin(struct io_span *c);

/* It returned just now: the rest of what we do is not its time. What we ask the MPI for comes
 * between these two. */
uint64_t mpi_returned(const struct io_span *c, int *ret_errno);

/* After it events are put with depth 0. */
void mpi_higher(const struct io_span *c);
void mpi_done(const struct io_span *c, int saved_errno);

/* All of it for a call that is only timed. */
void mpi_end(const struct io_span *c, enum io_mpi_class class_);

/* The lock of files, requests and described types. False: not to be had (a signal handler). */
bool mpi_lock(void);
void mpi_unlock(void);

/* ---- what is known of the MPI ------------------------------------------------------------------
 */

struct mpi_errno {
	int class_, number;
};

struct mpi_facts {
	const char *name;
	size_t handle_bytes, status_bytes, status_error_at;
	mpi_word byte, info_null, comm_world, comm_self, request_null, status_ignore;
	int undefined;
	int combiner_named; /* number of the first of them; the order is the same everywhere */
	int order_c, distribute_block, default_darg;
	int err_in_status, err_pending;
	const struct mpi_errno *errors; /* ended by class 0 */
};

/* NULL: an MPI that is none of the known; its files are left to the calls that it makes itself. */
const struct mpi_facts *mpi_facts(void);

/* What we ask it for: PMPI_ functions. A call of one that is NULL is never made. */
struct mpi_asks {
	int (*Error_class)(mpi_word, int *);
	int (*Initialized)(int *);
	int (*Type_size)(mpi_word, int *);
	int (*Type_size_x)(mpi_word, int64_t *);
	int (*Type_get_extent)(mpi_word, int64_t *, int64_t *);
	int (*Type_get_name)(mpi_word, char *, int *);
	int (*Type_get_envelope)(mpi_word, int *, int *, int *, int *);
	int (*Type_get_envelope_c)(mpi_word, int64_t *, int64_t *, int64_t *, int64_t *, int *);
	int (*Type_get_contents)(mpi_word, mpi_word, mpi_word, mpi_word, int *, int64_t *, void *);
	int (*Type_free)(void *);
	int (*Get_elements)(const void *, mpi_word, int *);
	int (*Get_elements_x)(const void *, mpi_word, int64_t *);
	int (*Info_get_nkeys)(mpi_word, int *);
	int (*Info_get_nthkey)(mpi_word, mpi_word, char *);
	int (*Info_get)(mpi_word, const char *, mpi_word, char *, int *);
	int (*Info_free)(void *);
	int (*Comm_size)(mpi_word, int *);
	int (*Comm_group)(mpi_word, mpi_word *);
	int (*Group_size)(mpi_word, int *);
	int (*Group_translate_ranks)(mpi_word, mpi_word, const int *, mpi_word, int *);
	int (*Group_free)(mpi_word *);
	int (*File_get_info)(mpi_word, mpi_word *);
	int (*File_get_position)(mpi_word, int64_t *);
	int (*File_get_byte_offset)(mpi_word, mpi_word, int64_t *);
};
extern struct mpi_asks mpi_ask; /* there once mpi_facts is not NULL */

/* -errno of a failed call. */
int64_t mpi_failed(int rc);

/* A handle in memory, of which an array has the i-th. */
mpi_word mpi_handle_at(mpi_word array, size_t i);

/* ---- texts; between mpi_returned and mpi_higher of a call that did not fail ---------------------
 */

uint32_t mpi_info_text(mpi_word info);     /* "key=value" lines; 0: none */
uint32_t mpi_in_force_text(mpi_word file); /* the same of the file's */
uint32_t
mpi_comm_text(mpi_word comm); /* MPI_COMM_WORLD, MPI_COMM_SELF, "ranks 0-3,5" of the world */
uint32_t mpi_type_text(mpi_word type, int64_t *ret_bytes); /* docs/io-mpi.md */

/* Its handle may soon be another's. */
void mpi_type_forget(mpi_word type);

/* ---- files -------------------------------------------------------------------------------------
 */

/* Begun by a split collective call. */
struct mpi_split {
	uint32_t number; /* 0: none */
	enum io_call call;
	uint32_t type;
	uint64_t begin;
	int64_t asked, offset, at, count;
};

struct mpi_file {
	mpi_word fh;
	uint32_t handle; /* 0: there is none */
	bool sequential;
	struct mpi_split split;
};

/* A copy; handle 0 where nobody saw it opened. */
struct mpi_file mpi_file_of(mpi_word fh);
void mpi_file_split(mpi_word fh, const struct mpi_split *s);

/* Of the next request or split pair. */
uint32_t mpi_number(void);

/* ---- requests ----------------------------------------------------------------------------------
 */

struct mpi_begun {
	mpi_word request;
	uint32_t number;
	enum io_call call;
	unsigned n;
	uint64_t begin;
	int64_t at, arg[IO_ARGS];
};
void mpi_request_begun(const struct mpi_begun *b);
void mpi_requests_lost(void); /* those under way will not be waited for: dropped */

/* Bytes by a status of an access; -1: not known. */
int64_t mpi_moved(mpi_word status);

/* ---- wrappers ----------------------------------------------------------------------------------
 */

#define MPI_P0 void
#define MPI_P1 mpi_word a
#define MPI_P2 MPI_P1, mpi_word b
#define MPI_P3 MPI_P2, mpi_word c
#define MPI_P4 MPI_P3, mpi_word d
#define MPI_P5 MPI_P4, mpi_word e
#define MPI_P6 MPI_P5, mpi_word f
#define MPI_P7 MPI_P6, mpi_word g
#define MPI_P8 MPI_P7, mpi_word h
#define MPI_P9 MPI_P8, mpi_word i
#define MPI_P10 MPI_P9, mpi_word j
#define MPI_P11 MPI_P10, mpi_word k
#define MPI_P12 MPI_P11, mpi_word l
#define MPI_P13 MPI_P12, mpi_word m
#define MPI_N0
#define MPI_N1 a
#define MPI_N2 MPI_N1, b
#define MPI_N3 MPI_N2, c
#define MPI_N4 MPI_N3, d
#define MPI_N5 MPI_N4, e
#define MPI_N6 MPI_N5, f
#define MPI_N7 MPI_N6, g
#define MPI_N8 MPI_N7, h
#define MPI_N9 MPI_N8, i
#define MPI_N10 MPI_N9, j
#define MPI_N11 MPI_N10, k
#define MPI_N12 MPI_N11, l
#define MPI_N13 MPI_N12, m

/* The function NAME of n arguments, which calls body(next, ..., a, b, ...) with what is given. */
#define MPI_ONE(symbol, n, call)                                                                   \
	static struct mpi_next next_##symbol = { .name = #symbol };                                \
	IO_PUBLIC int ours_##symbol(MPI_P##n) __asm__(#symbol);                                    \
	int ours_##symbol(MPI_P##n)                                                                \
	{                                                                                          \
		int (*next)(MPI_P##n) = (int (*)(MPI_P##n))mpi_next(&next_##symbol);               \
		return call;                                                                       \
	}

#define MPI_BOTH(name, n, call)                                                                    \
	MPI_ONE(MPI_##name, n, call)                                                               \
	MPI_ONE(PMPI_##name, n, call)

#endif
