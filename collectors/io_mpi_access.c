/* Data of MPI's files: independent, collective, with a shared pointer; at once, or begun and ended
 * by two calls. */
#include "collectors/io_mpi.h"

#define NO_OFFSET INT64_MIN
#define STATUS_BYTES 64

/* Where the individual pointer stands, in etypes of the view and in bytes of the file. Asked for
 * before the call, of a file that is known to be open. */
struct access {
	struct io_span span;
	struct mpi_file file;
	enum io_call call;
	int64_t offset; /* in etypes; NO_OFFSET: the call has none */
	int64_t count, at;
	mpi_word type, status;
	int saved;
	uint64_t end;
	bool shared; /* its place is not known */
	char own_status[STATUS_BYTES] __attribute__((aligned(16)));
};

static int64_t place_of(const struct access *x, int64_t offset)
{
	int64_t bytes = -1;
	if (mpi_ask.File_get_byte_offset(x->file.fh, (mpi_word)offset, &bytes))
		return -1;
	return bytes;
}

/* False: the call goes straight on. */
static bool begin(struct access *x, mpi_word fh)
{
	if (!mpi_facts() || !mpi_begin(&x->span))
		return false;
	int64_t offset;
	int saved = errno;
	x->file = mpi_file_of(fh);
	x->at = -1;
	if (x->file.handle && x->offset == NO_OFFSET && !x->shared && !x->file.sequential &&
	    !mpi_ask.File_get_position(fh, &offset))
		x->at = place_of(x, offset);
	errno = saved;
	x->span.tick = io_now(); /* what we asked for is not its time */
	return true;
}

static void status_for(struct access *x, mpi_word status)
{
	x->status = status == mpi_facts()->status_ignore ? (mpi_word)x->own_status : status;
}

int64_t mpi_moved(mpi_word status)
{
	int64_t n = -1;
	int few = -1;
	if (mpi_ask.Get_elements_x &&
	    !mpi_ask.Get_elements_x((const void *)status, mpi_facts()->byte, &n))
		return n;
	if (!mpi_ask.Get_elements((const void *)status, mpi_facts()->byte, &few))
		return few == mpi_facts()->undefined ? -1 : few;
	return -1;
}

/* What the call was, once it is known to be a good one. arg has the letters of its signature but
 * its number, which comes last. Returns how many. */
static unsigned arguments(struct access *x, int rc, int64_t *arg)
{
	unsigned n = 0;
	int64_t bytes = -1, asked = -1;
	uint32_t type = 0;
	if (!rc) {
		type = mpi_type_text(x->type, &bytes);
		asked = bytes < 0 ? -1 : bytes * x->count;
		if (x->offset != NO_OFFSET && x->file.handle && !x->file.sequential)
			x->at = place_of(x, x->offset);
	}
	arg[n++] = x->file.handle;
	arg[n++] = asked;
	if (x->offset != NO_OFFSET)
		arg[n++] = x->offset;
	arg[n++] = x->count;
	arg[n++] = type;
	return n;
}

static void put(const struct access *x, uint64_t began, enum io_call call, int64_t result,
		int64_t at, unsigned n, const int64_t *arg)
{
	if (x->file.handle)
		io_put(&x->span, began, x->end, call, result, at, n, arg);
	else
		ADD(io.dropped, 1);
}

/* ---- at once ------------------------------------------------------------------------------------
 */

static void at_once(struct access *x, int rc)
{
	int64_t arg[IO_ARGS];
	x->end = mpi_returned(&x->span, &x->saved);
	int64_t result = rc ? mpi_failed(rc) : mpi_moved(x->status);
	unsigned n = arguments(x, rc, arg);
	mpi_higher(&x->span);
	put(x, x->span.tick, x->call, result, x->at, n, arg);
	mpi_done(&x->span, x->saved);
}

static int access_plain(int (*next)(MPI_P5), mpi_word fh, mpi_word buffer, mpi_word n,
			mpi_word type, mpi_word status, struct access *x)
{
	x->offset = NO_OFFSET;
	x->type = type;
	if (!begin(x, fh))
		return next(fh, buffer, n, type, status);
	status_for(x, status);
	int rc = next(fh, buffer, n, type, x->status);
	at_once(x, rc);
	return rc;
}

static int access_at(int (*next)(MPI_P6), mpi_word fh, mpi_word offset, mpi_word buffer, mpi_word n,
		     mpi_word type, mpi_word status, struct access *x)
{
	x->offset = (int64_t)offset;
	x->type = type;
	if (!begin(x, fh))
		return next(fh, offset, buffer, n, type, status);
	status_for(x, status);
	int rc = next(fh, offset, buffer, n, type, x->status);
	at_once(x, rc);
	return rc;
}

/* ---- begun with a request -----------------------------------------------------------------------
 */

static void begun(struct access *x, int rc, mpi_word request)
{
	int64_t arg[IO_ARGS];
	x->end = mpi_returned(&x->span, &x->saved);
	unsigned n = arguments(x, rc, arg);
	int64_t failed = rc ? mpi_failed(rc) : 0;
	mpi_higher(&x->span);
	if (rc || !x->file.handle) {
		put(x, x->span.tick, x->call, failed, x->at, n, arg);
	} else {
		struct mpi_begun b = { .request = mpi_handle_at(request, 0),
				       .number = mpi_number(),
				       .call = x->call,
				       .n = n + 1,
				       .begin = x->span.tick,
				       .at = x->at };
		for (unsigned i = 0; i < n; i++)
			b.arg[i] = arg[i];
		b.arg[n] = b.number;
		mpi_request_begun(&b);
		put(x, x->span.tick, IO_MPI_File_begun, 0, -1, ARGS(b.number));
	}
	mpi_done(&x->span, x->saved);
}

static int begin_plain(int (*next)(MPI_P5), mpi_word fh, mpi_word buffer, mpi_word n, mpi_word type,
		       mpi_word request, struct access *x)
{
	x->offset = NO_OFFSET;
	x->type = type;
	if (!begin(x, fh))
		return next(fh, buffer, n, type, request);
	int rc = next(fh, buffer, n, type, request);
	begun(x, rc, request);
	return rc;
}

static int begin_at(int (*next)(MPI_P6), mpi_word fh, mpi_word offset, mpi_word buffer, mpi_word n,
		    mpi_word type, mpi_word request, struct access *x)
{
	x->offset = (int64_t)offset;
	x->type = type;
	if (!begin(x, fh))
		return next(fh, offset, buffer, n, type, request);
	int rc = next(fh, offset, buffer, n, type, request);
	begun(x, rc, request);
	return rc;
}

/* ---- split collective ---------------------------------------------------------------------------
 */

/* The access is told of when it ends; a file has one at a time. */
static void split_begun(struct access *x, int rc)
{
	int64_t arg[IO_ARGS];
	x->end = mpi_returned(&x->span, &x->saved);
	unsigned n = arguments(x, rc, arg);
	int64_t failed = rc ? mpi_failed(rc) : 0;
	mpi_higher(&x->span);
	if (rc || !x->file.handle) {
		put(x, x->span.tick, x->call, failed, x->at, n, arg);
	} else {
		struct mpi_split s = { .number = mpi_number(),
				       .call = x->call,
				       .type = (uint32_t)arg[n - 1],
				       .begin = x->span.tick,
				       .asked = arg[1],
				       .offset = x->offset,
				       .at = x->at,
				       .count = x->count };
		mpi_file_split(x->file.fh, &s);
		put(x, x->span.tick, IO_MPI_File_begun, 0, -1, ARGS(s.number));
	}
	mpi_done(&x->span, x->saved);
}

static int split_plain(int (*next)(MPI_P4), mpi_word fh, mpi_word buffer, mpi_word n, mpi_word type,
		       struct access *x)
{
	x->offset = NO_OFFSET;
	x->type = type;
	if (!begin(x, fh))
		return next(fh, buffer, n, type);
	int rc = next(fh, buffer, n, type);
	split_begun(x, rc);
	return rc;
}

static int split_at(int (*next)(MPI_P5), mpi_word fh, mpi_word offset, mpi_word buffer, mpi_word n,
		    mpi_word type, struct access *x)
{
	x->offset = (int64_t)offset;
	x->type = type;
	if (!begin(x, fh))
		return next(fh, offset, buffer, n, type);
	int rc = next(fh, offset, buffer, n, type);
	split_begun(x, rc);
	return rc;
}

static int split_end(int (*next)(MPI_P3), mpi_word fh, mpi_word buffer, mpi_word status)
{
	struct access x = { .offset = NO_OFFSET, .shared = true };
	if (!begin(&x, fh))
		return next(fh, buffer, status);
	const struct mpi_split *s = &x.file.split;
	status_for(&x, status);
	int rc = next(fh, buffer, x.status);
	x.end = mpi_returned(&x.span, &x.saved);
	int64_t result = rc ? mpi_failed(rc) : mpi_moved(x.status);
	if (s->number && !rc)
		mpi_file_split(fh, &(struct mpi_split){ 0 });
	mpi_higher(&x.span);
	if (s->number && s->offset == NO_OFFSET)
		put(&x, s->begin, s->call, result, s->at,
		    ARGS(x.file.handle, s->asked, s->count, s->type));
	else if (s->number)
		put(&x, s->begin, s->call, result, s->at,
		    ARGS(x.file.handle, s->asked, s->offset, s->count, s->type));
	put(&x, x.span.tick, IO_MPI_File_end, result, -1, ARGS(x.file.handle));
	mpi_done(&x.span, x.saved);
	return rc;
}

/* ---- the functions ------------------------------------------------------------------------------
 */

/* Their own counts are int; those of the functions whose names end in _c have 64 bits. */
#define X(name, n, is_shared)                                                                      \
	&(struct access)                                                                           \
	{                                                                                          \
		.call = IO_MPI_File_##name, .count = (n), .shared = (is_shared)                    \
	}

#define PLAIN(how, name, is_shared)                                                                \
	MPI_BOTH(File_##name, 5, how(next, a, b, c, d, e, X(name, (int)c, is_shared)))             \
	MPI_BOTH(File_##name##_c, 5, how(next, a, b, c, d, e, X(name, (int64_t)c, is_shared)))
#define PLACED(how, name)                                                                          \
	MPI_BOTH(File_##name, 6, how(next, a, b, c, d, e, f, X(name, (int)d, false)))              \
	MPI_BOTH(File_##name##_c, 6, how(next, a, b, c, d, e, f, X(name, (int64_t)d, false)))
#define SPLIT(name, is_shared)                                                                     \
	MPI_BOTH(File_##name##_begin, 4,                                                           \
		 split_plain(next, a, b, c, d, X(name##_begin, (int)c, is_shared)))                \
	MPI_BOTH(File_##name##_begin_c, 4,                                                         \
		 split_plain(next, a, b, c, d, X(name##_begin, (int64_t)c, is_shared)))            \
	MPI_BOTH(File_##name##_end, 3, split_end(next, a, b, c))
#define SPLIT_PLACED(name)                                                                         \
	MPI_BOTH(File_##name##_begin, 5,                                                           \
		 split_at(next, a, b, c, d, e, X(name##_begin, (int)d, false)))                    \
	MPI_BOTH(File_##name##_begin_c, 5,                                                         \
		 split_at(next, a, b, c, d, e, X(name##_begin, (int64_t)d, false)))                \
	MPI_BOTH(File_##name##_end, 3, split_end(next, a, b, c))

PLAIN(access_plain, read, false)
PLAIN(access_plain, write, false)
PLAIN(access_plain, read_all, false)
PLAIN(access_plain, write_all, false)
PLAIN(access_plain, read_shared, true)
PLAIN(access_plain, write_shared, true)
PLAIN(access_plain, read_ordered, true)
PLAIN(access_plain, write_ordered, true)
PLACED(access_at, read_at)
PLACED(access_at, write_at)
PLACED(access_at, read_at_all)
PLACED(access_at, write_at_all)
PLAIN(begin_plain, iread, false)
PLAIN(begin_plain, iwrite, false)
PLAIN(begin_plain, iread_all, false)
PLAIN(begin_plain, iwrite_all, false)
PLAIN(begin_plain, iread_shared, true)
PLAIN(begin_plain, iwrite_shared, true)
PLACED(begin_at, iread_at)
PLACED(begin_at, iwrite_at)
PLACED(begin_at, iread_at_all)
PLACED(begin_at, iwrite_at_all)
SPLIT(read_all, false)
SPLIT(write_all, false)
SPLIT(read_ordered, true)
SPLIT(write_ordered, true)
SPLIT_PLACED(read_at_all)
SPLIT_PLACED(write_at_all)
