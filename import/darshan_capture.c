/* Process after process: DXT tells of each file its writes and then its reads, so all accesses of a
 * process are put in order of time first. Regions have the processes in ascending order, as Darshan
 * writes them, so that never more than one of them is held. */
#define _GNU_SOURCE
#include "import/darshan_capture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/io_capture.h"

#define ACCESSES_MAX ((size_t)1 << 24) /* of one process: 1 GiB; the others are counted as dropped */
#define THREADS_KEPT 4096
#define FIRST_HANDLE 4
#define FIRST_TEXT 2 /* 1 is the datatype */

struct access {
	struct darshan_segment s;
	uint32_t file; /* in the process's order */
	bool mpiio;
};

/* One of the two modules, where it is at. */
struct side {
	struct darshan_dxt *dxt; /* NULL: the log has none */
	struct darshan_dxt_file next;
	bool more, mpiio;
};

struct writing {
	struct darshan_gathered *g;
	struct io_capture capture;
	struct side sides[2];
	struct access *accesses;
	size_t n, cap, n_files, cap_files;
	uint64_t *files; /* ids */
	uint64_t dropped;
	uint64_t threads[THREADS_KEPT];
	size_t n_threads;
	char host[65];
};

static int step(struct side *s, struct err *err)
{
	int rc = darshan_dxt_file(s->dxt, &s->next, err);
	s->more = rc == 1;
	return rc < 0 ? rc : 0;
}

static int open_side(struct writing *w, int i, enum darshan_module m, struct err *err)
{
	struct side *s = &w->sides[i];
	s->mpiio = m == DARSHAN_DXT_MPIIO;
	if (!darshan_has(w->g->log, m) || w->g->lost[m])
		return 0;
	int rc = darshan_dxt_open(&s->dxt, w->g->log, m, err);
	return rc ? rc : step(s, err);
}

/* ---- the accesses of one process ----------------------------------------------------------------
 */

static int file_of(struct writing *w, uint64_t id, uint32_t *ret)
{
	for (size_t i = w->n_files; i-- > 0;)
		if (w->files[i] == id) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (w->n_files == w->cap_files) {
		size_t more = w->cap_files ? 2 * w->cap_files : 64;
		uint64_t *files = realloc(w->files, more * sizeof *files);
		if (!files)
			return -ENOMEM;
		w->files = files;
		w->cap_files = more;
	}
	w->files[w->n_files] = id;
	*ret = (uint32_t)w->n_files++;
	return 0;
}

static int add_access(struct writing *w, const struct access *a)
{
	if (w->n == ACCESSES_MAX) {
		w->dropped++;
		return 0;
	}
	if (w->n == w->cap) {
		size_t more = w->cap ? 2 * w->cap : 1024;
		struct access *accesses = realloc(w->accesses, more * sizeof *accesses);
		if (!accesses)
			return -ENOMEM;
		w->accesses = accesses;
		w->cap = more;
	}
	w->accesses[w->n++] = *a;
	return 0;
}

static int take_files(struct writing *w, struct side *s, int64_t rank, struct err *err)
{
	int rc = 0;
	while (!rc && s->more && s->next.rank == rank) {
		struct access a = { .mpiio = s->mpiio };
		memcpy(w->host, s->next.host, sizeof w->host);
		rc = file_of(w, s->next.id, &a.file);
		while (!rc && (rc = darshan_dxt_segment(s->dxt, &a.s, err)) == 1)
			rc = add_access(w, &a);
		if (rc == -ENOMEM)
			return err_set(err, rc, "out of memory");
		if (!rc)
			rc = step(s, err);
	}
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct access *x = a, *y = b;
	if (x->s.begin_s != y->s.begin_s)
		return x->s.begin_s < y->s.begin_s ? -1 : 1;
	if (x->mpiio != y->mpiio) /* what is around comes first */
		return x->mpiio ? -1 : 1;
	if (x->s.end_s != y->s.end_s)
		return x->s.end_s < y->s.end_s ? -1 : 1;
	if (x->s.offset != y->s.offset)
		return x->s.offset < y->s.offset ? -1 : 1;
	return x->s.write - y->s.write;
}

/* ---- as events ----------------------------------------------------------------------------------
 */

static uint64_t ns_of(double s)
{
	return s > 0 && s < 9e9 ? (uint64_t)llround(s * 1e9) : 0;
}

static uint32_t thread_of(struct writing *w, uint64_t id)
{
	for (size_t i = w->n_threads; i-- > 0;)
		if (w->threads[i] == id)
			return (uint32_t)i;
	if (w->n_threads == THREADS_KEPT)
		return THREADS_KEPT - 1;
	w->threads[w->n_threads] = id;
	return (uint32_t)w->n_threads++;
}

static struct io_event event_of(struct writing *w, const struct access *a)
{
	const struct darshan_segment *s = &a->s;
	uint32_t handle = FIRST_HANDLE + 2 * a->file + a->mpiio;
	int64_t bytes = s->bytes < 0 ? 0 : s->bytes;
	bool placed = s->offset >= 0;
	struct io_event e = { .thread = thread_of(w, s->thread), .begin_ns = ns_of(s->begin_s),
			      .end_ns = ns_of(s->end_s), .result = bytes, .at = s->offset,
			      .arg = { handle, bytes } };
	if (e.end_ns < e.begin_ns)
		e.begin_ns = e.end_ns = 0;
	if (!a->mpiio) {
		e.depth = darshan_ids_has(&w->g->mpiio_ids, w->files[a->file]);
		e.call = placed ? (s->write ? IO_pwrite : IO_pread) : (s->write ? IO_write : IO_read);
		e.arg[2] = placed ? s->offset : 0;
		return e;
	}
	e.call = placed ? (s->write ? IO_MPI_File_write_at : IO_MPI_File_read_at)
			: (s->write ? IO_MPI_File_write : IO_MPI_File_read);
	e.arg[2] = placed ? s->offset : bytes;
	e.arg[3] = placed ? bytes : 1;
	e.arg[4] = placed ? 1 : 0;
	return e;
}

static void put_names(struct writing *w)
{
	struct iocap_writer *to = w->capture.writer;
	iocap_put_text(to, 1, "MPI_BYTE", 8);
	for (size_t i = 0; i < w->n_files; i++) {
		const struct darshan_file *f = darshan_file_found(w->g, w->files[i]);
		uint32_t text = f && f->name ? FIRST_TEXT + (uint32_t)i : 0;
		if (text)
			iocap_put_text(to, text, f->name, strlen(f->name));
		for (uint32_t mpiio = 0; mpiio < 2; mpiio++) {
			struct iocap_handle h = { .number = FIRST_HANDLE + 2 * (uint32_t)i + mpiio,
						  .path = text, .type = IO_FILE,
						  .interface = mpiio ? IO_MPIIO : IO_POSIX,
						  .was_open = true, .flags = -1 };
			iocap_put_handle(to, &h);
		}
	}
}

static int put_rank(struct writing *w, int64_t rank, struct err *err)
{
	const struct darshan_job *job = &w->g->log->job;
	struct iocap_process p = { .pid = -1, .parent = -1, .rank = rank, .host = w->host[0] ? w->host : NULL,
				   .program = job->command[0] ? job->command : NULL, .source = "darshan",
				   .timed = true, .step_ns = 1 };
	if (__builtin_mul_overflow(job->begin_s, (int64_t)1000000000, &p.real_minus_mono_ns))
		p.real_minus_mono_ns = 0;
	int rc = io_capture_begin(&w->capture, &p, err);
	if (rc)
		return rc;
	put_names(w);
	qsort(w->accesses, w->n, sizeof *w->accesses, by_time);
	for (size_t i = 0; i < w->n; i++) {
		struct io_event e = event_of(w, &w->accesses[i]);
		iocap_put_events(w->capture.writer, &e, 1);
	}
	if (w->dropped)
		iocap_put_dropped(w->capture.writer, w->dropped);
	return io_capture_end(&w->capture, err);
}

/* The process that comes next in either module. */
static int64_t next_rank(const struct writing *w)
{
	int64_t rank = INT64_MAX;
	for (int i = 0; i < 2; i++)
		if (w->sides[i].more && w->sides[i].next.rank < rank)
			rank = w->sides[i].next.rank;
	return rank;
}

static int put_all(struct writing *w, struct err *err)
{
	int64_t before = INT64_MIN;
	int rc = 0;
	while (!rc && (w->sides[0].more || w->sides[1].more)) {
		int64_t rank = next_rank(w);
		if (rank <= before || rank < 0)
			return err_set(err, -EINVAL,
				       "%s: DXT has process %lld behind %lld: it can't be made a capture",
				       w->g->log->path, (long long)rank, (long long)before);
		before = rank;
		w->n = w->n_files = w->n_threads = 0;
		w->host[0] = '\0';
		for (int i = 0; i < 2 && !rc; i++)
			rc = take_files(w, &w->sides[i], rank, err);
		if (!rc)
			rc = put_rank(w, rank, err);
	}
	return rc;
}

/* ---- all ----------------------------------------------------------------------------------------
 */

static int put_limits(struct record *rec, const struct writing *w)
{
	const struct darshan_region *m = w->g->log->modules;
	bool partial = m[DARSHAN_DXT_POSIX].partial || m[DARSHAN_DXT_MPIIO].partial;
	int rc = record_caveat(rec, "dxt_capture",
			       "The capture is of DXT: reads and writes of POSIX and MPI-IO alone, each as one "
			       "with its offset; no opens, closes, nor anything of streams%s.",
			       partial ? "; and DXT had no room for all of them" : "");
	if (!rc && w->dropped)
		rc = record_caveat(rec, "io_capture_cut",
				   "%llu accesses of processes with more than %zu each are not in the capture.",
				   (unsigned long long)w->dropped, ACCESSES_MAX);
	return rc;
}

int darshan_capture(struct record *rec, struct darshan_gathered *g, const char *folder,
		    struct err *err)
{
	if (!darshan_has(g->log, DARSHAN_DXT_POSIX) && !darshan_has(g->log, DARSHAN_DXT_MPIIO))
		return err_set(err, -EINVAL,
			       "%s: --capture: the log has no DXT, so single accesses are not known; it was "
			       "made without DXT_ENABLE_IO_TRACE or a configuration that has it",
			       g->log->path);
	struct writing *w = calloc(1, sizeof *w);
	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->g = g;
	int rc = io_capture_open(&w->capture, folder, err);
	bool opened = !rc;
	if (!rc)
		rc = open_side(w, 0, DARSHAN_DXT_POSIX, err);
	if (!rc)
		rc = open_side(w, 1, DARSHAN_DXT_MPIIO, err);
	if (!rc)
		rc = put_all(w, err);
	if (!rc)
		rc = io_capture_close(&w->capture, rec, err);
	if (!rc && put_limits(rec, w))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc && opened)
		io_capture_drop(&w->capture);
	for (int i = 0; i < 2; i++)
		darshan_dxt_close(w->sides[i].dxt);
	free(w->accesses);
	free(w->files);
	free(w);
	return rc;
}
