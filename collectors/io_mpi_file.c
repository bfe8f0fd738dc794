/* Files of MPI: those that are open, and the calls that are about one as a whole. */
#include "collectors/io_mpi.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUCKETS 256
#define FILES 4096 /* open at the same time */

/* Numbers of both MPIs: ROMIO's. */
enum {
	MODE_CREATE = 1,
	MODE_RDONLY = 2,
	MODE_WRONLY = 4,
	MODE_RDWR = 8,
	MODE_EXCL = 64,
	MODE_APPEND = 128,
	MODE_SEQUENTIAL = 256,
	SEEK_FROM_START = 600,
	SEEK_FROM_HERE = 602,
	SEEK_FROM_END = 604
};

/* ---- those that are open; with the lock --------------------------------------------------------
 */

struct entry {
	struct mpi_file file;
	struct entry *next;
};
static struct entry *buckets[BUCKETS];
static unsigned n_files;
static uint32_t numbers;

static struct entry **bucket(mpi_word fh)
{
	return &buckets[(fh >> 4 ^ fh >> 12) % BUCKETS];
}

static struct entry *find(mpi_word fh)
{
	struct entry *e = *bucket(fh);
	while (e && e->file.fh != fh)
		e = e->next;
	return e;
}

struct mpi_file mpi_file_of(mpi_word fh)
{
	struct mpi_file file = { 0 };
	if (!mpi_lock())
		return file;
	const struct entry *e = find(fh);
	if (e)
		file = e->file;
	mpi_unlock();
	return file;
}

void mpi_file_split(mpi_word fh, const struct mpi_split *s)
{
	if (!mpi_lock())
		return;
	struct entry *e = find(fh);
	if (e)
		e->file.split = *s;
	mpi_unlock();
}

static bool add(const struct mpi_file *file)
{
	struct entry *e = calloc(1, sizeof *e);
	if (!e || !mpi_lock()) {
		free(e);
		return false;
	}
	bool room = n_files < FILES;
	if (room) {
		e->file = *file;
		e->next = *bucket(file->fh);
		*bucket(file->fh) = e;
		n_files++;
	}
	mpi_unlock();
	if (!room)
		free(e);
	return room;
}

static void removed(mpi_word fh)
{
	if (!mpi_lock())
		return;
	struct entry **at = bucket(fh), *e = *at;
	while (e && e->file.fh != fh) {
		at = &e->next;
		e = *at;
	}
	if (e) {
		*at = e->next;
		n_files--;
	}
	mpi_unlock();
	free(e);
}

uint32_t mpi_number(void)
{
	return __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
}

/* ---- open, close, delete ------------------------------------------------------------------------
 */

/* A file system's name before it is for the MPI alone. */
static const char *without_prefix(const char *path)
{
	static const char *const prefixes[] = { "ufs:",   "nfs:",    "lustre:", "gpfs:",   "pvfs:",
						"pvfs2:", "panfs:",  "xfs:",    "testfs:", "piofs:",
						"sfs:",   "zoidfs:", "ftp:",    "gsiftp:", "daos:",
						"ime:",   "beegfs:" };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return path + strlen(prefixes[i]);
	return path;
}

static int64_t flags_of(int mode)
{
	int flags = mode & MODE_RDWR ? O_RDWR : mode & MODE_WRONLY ? O_WRONLY : O_RDONLY;
	return flags | (mode & MODE_CREATE ? O_CREAT : 0) | (mode & MODE_EXCL ? O_EXCL : 0) |
	       (mode & MODE_APPEND ? O_APPEND : 0);
}

static struct mpi_file opened(mpi_word fh, const char *path, int mode)
{
	struct mpi_file file = { .fh = fh, .sequential = mode & MODE_SEQUENTIAL };
	struct io_handle_info info = { .path = io_path(AT_FDCWD, path),
				       .type = IO_FILE,
				       .interface = IO_MPIIO,
				       .flags = flags_of(mode) };
	struct stat s;
#ifdef SYS_newfstatat
	if (syscall(SYS_newfstatat, AT_FDCWD, path, &s, 0) == 0) {
		info.device = s.st_dev;
		info.inode = s.st_ino;
	}
#endif
	file.handle = io_handle_new(&info);
	if (file.handle && !add(&file))
		file.handle = 0;
	return file;
}

static int file_open(int (*next)(MPI_P5), mpi_word comm, mpi_word name, mpi_word mode,
		     mpi_word info, mpi_word file)
{
	struct io_span c;
	int saved;
	if (!mpi_facts() || !mpi_begin(&c))
		return next(comm, name, mode, info, file);
	int rc = next(comm, name, mode, info, file);
	uint64_t end = mpi_returned(&c, &saved);
	const char *path = name ? without_prefix((const char *)name) : "";
	int64_t arg[5] = { 0, io_path(AT_FDCWD, path), (int)mode };
	int64_t result;
	if (rc) {
		result = mpi_failed(rc);
	} else {
		mpi_word fh = *(const mpi_word *)file;
		arg[0] = mpi_comm_text(comm);
		arg[3] = mpi_info_text(info);
		arg[4] = mpi_in_force_text(fh);
		result = opened(fh, path, (int)mode).handle;
	}
	mpi_higher(&c);
	io_put(&c, c.tick, end, IO_MPI_File_open, result, -1, 5, arg);
	mpi_done(&c, saved);
	return rc;
}
MPI_BOTH(File_open, 5, file_open(next, a, b, c, d, e))

static int file_close(int (*next)(MPI_P1), mpi_word at)
{
	struct io_span c;
	int saved;
	if (!mpi_facts() || !mpi_begin(&c))
		return next(at);
	mpi_word fh = at ? *(const mpi_word *)at : 0;
	struct mpi_file file = mpi_file_of(fh);
	int rc = next(at);
	uint64_t end = mpi_returned(&c, &saved);
	int64_t result = rc ? mpi_failed(rc) : 0;
	if (!rc)
		removed(fh);
	mpi_higher(&c);
	if (file.handle)
		io_put(&c, c.tick, end, IO_MPI_File_close, result, -1, ARGS(file.handle));
	mpi_done(&c, saved);
	return rc;
}
MPI_BOTH(File_close, 1, file_close(next, a))

static int file_delete(int (*next)(MPI_P2), mpi_word name, mpi_word info)
{
	struct io_span c;
	int saved;
	if (!mpi_facts() || !mpi_begin(&c))
		return next(name, info);
	int rc = next(name, info);
	uint64_t end = mpi_returned(&c, &saved);
	int64_t path = name ? io_path(AT_FDCWD, without_prefix((const char *)name)) : 0;
	int64_t hints = rc ? 0 : mpi_info_text(info);
	int64_t result = rc ? mpi_failed(rc) : 0;
	mpi_higher(&c);
	io_put(&c, c.tick, end, IO_MPI_File_delete, result, -1, ARGS(path, hints));
	mpi_done(&c, saved);
	return rc;
}
MPI_BOTH(File_delete, 2, file_delete(next, a, b))

/* ---- views and hints ----------------------------------------------------------------------------
 */

/* Of what it's given an MPI takes what it likes. handle 0: nobody saw the file opened. */
static void put_hints(const struct io_span *c, uint32_t handle, int64_t hints, int64_t in_force)
{
	if (handle && hints)
		io_put(c, 0, 0, IO_MPI_File_in_force, 0, -1, ARGS(handle, in_force));
}

static int file_set_view(int (*next)(MPI_P6), mpi_word fh, mpi_word displacement, mpi_word etype,
			 mpi_word filetype, mpi_word representation, mpi_word info)
{
	struct io_span c;
	int saved;
	if (!mpi_facts() || !mpi_begin(&c))
		return next(fh, displacement, etype, filetype, representation, info);
	int rc = next(fh, displacement, etype, filetype, representation, info);
	uint64_t end = mpi_returned(&c, &saved);
	struct mpi_file file = mpi_file_of(fh);
	int64_t bytes, in_force = 0;
	int64_t arg[6] = { file.handle, (int64_t)displacement };
	if (!rc) {
		arg[2] = mpi_type_text(etype, &bytes);
		arg[3] = mpi_type_text(filetype, &bytes);
		arg[4] = io_text((const char *)representation);
		arg[5] = mpi_info_text(info);
		in_force = arg[5] ? mpi_in_force_text(fh) : 0;
	}
	int64_t result = rc ? mpi_failed(rc) : 0;
	mpi_higher(&c);
	if (file.handle)
		io_put(&c, c.tick, end, IO_MPI_File_set_view, result, -1, 6, arg);
	put_hints(&c, file.handle, arg[5], in_force);
	mpi_done(&c, saved);
	return rc;
}
MPI_BOTH(File_set_view, 6, file_set_view(next, a, b, c, d, e, f))

static int file_set_info(int (*next)(MPI_P2), mpi_word fh, mpi_word info)
{
	struct io_span c;
	int saved;
	if (!mpi_facts() || !mpi_begin(&c))
		return next(fh, info);
	int rc = next(fh, info);
	uint64_t end = mpi_returned(&c, &saved);
	struct mpi_file file = mpi_file_of(fh);
	int64_t hints = rc ? 0 : mpi_info_text(info);
	int64_t in_force = hints ? mpi_in_force_text(fh) : 0;
	int64_t result = rc ? mpi_failed(rc) : 0;
	mpi_higher(&c);
	if (file.handle)
		io_put(&c, c.tick, end, IO_MPI_File_set_info, result, -1, ARGS(file.handle, hints));
	put_hints(&c, file.handle, hints, in_force);
	mpi_done(&c, saved);
	return rc;
}
MPI_BOTH(File_set_info, 2, file_set_info(next, a, b))

/* ---- one number, or none ------------------------------------------------------------------------
 */

/* arg: what the event has behind the handle. result_at: where the call leaves its result. */
struct plain {
	enum io_call call;
	unsigned n;
	int64_t arg[2];
	const int64_t *result_at;
};

static int plain_call(int (*next)(MPI_P3), mpi_word fh, mpi_word b, mpi_word d,
		      const struct plain *p)
{
	struct io_span c;
	int saved;
	if (!mpi_facts() || !mpi_begin(&c))
		return next(fh, b, d);
	int rc = next(fh, b, d);
	uint64_t end = mpi_returned(&c, &saved);
	struct mpi_file file = mpi_file_of(fh);
	int64_t result = rc ? mpi_failed(rc) : p->result_at ? *p->result_at : 0;
	mpi_higher(&c);
	if (file.handle)
		io_put(&c, c.tick, end, p->call, result, -1, 1 + p->n,
		       (int64_t[]){ file.handle, p->arg[0], p->arg[1] });
	mpi_done(&c, saved);
	return rc;
}

static int64_t whence_of(mpi_word whence)
{
	return (int)whence == SEEK_FROM_HERE ? 1 : (int)whence == SEEK_FROM_END ? 2 : 0;
}

/* More arguments than it has are no harm to a function: they go in registers. */
#define AS3 (int (*)(MPI_P3))(void (*)(void)) next
#define PLAIN(name, ...)                                                                           \
	&(struct plain)                                                                            \
	{                                                                                          \
		.call = IO_MPI_##name, __VA_ARGS__                                                 \
	}

MPI_BOTH(File_set_size, 2, plain_call(AS3, a, b, 0, PLAIN(File_set_size, 1, { (int64_t)b })))
MPI_BOTH(File_preallocate, 2, plain_call(AS3, a, b, 0, PLAIN(File_preallocate, 1, { (int64_t)b })))
MPI_BOTH(File_set_atomicity, 2, plain_call(AS3, a, b, 0, PLAIN(File_set_atomicity, 1, { (int)b })))
MPI_BOTH(File_sync, 1, plain_call(AS3, a, 0, 0, PLAIN(File_sync, 0)))
MPI_BOTH(File_get_size, 2,
	 plain_call(AS3, a, b, 0, PLAIN(File_get_size, .result_at = (const int64_t *)b)))
MPI_BOTH(File_seek, 3, plain_call(next, a, b, c, PLAIN(File_seek, 2, { (int64_t)b, whence_of(c) })))
MPI_BOTH(File_seek_shared, 3,
	 plain_call(next, a, b, c, PLAIN(File_seek_shared, 2, { (int64_t)b, whence_of(c) })))
