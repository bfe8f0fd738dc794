/* A Darshan log, read as it lies: header, job, names, and one region for each module, each packed by
 * itself. Regions are streamed, so that a log of any size needs the same little memory. Formats 3.00
 * to 3.41, both byte orders, zlib, bzip2 or plain. What a log says of itself is checked against the
 * file before anything is believed. */
#ifndef IMPORT_DARSHAN_LOG_H
#define IMPORT_DARSHAN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/source.h"
#include "lib/arena.h"
#include "lib/err.h"

/* As format 3.41 numbers them; older formats have fewer and are renumbered. */
enum darshan_module {
	DARSHAN_NULL,
	DARSHAN_POSIX,
	DARSHAN_MPIIO,
	DARSHAN_H5F,
	DARSHAN_H5D,
	DARSHAN_PNETCDF_FILE,
	DARSHAN_PNETCDF_VAR,
	DARSHAN_BGQ,
	DARSHAN_LUSTRE,
	DARSHAN_STDIO,
	DARSHAN_DXT_POSIX,
	DARSHAN_DXT_MPIIO,
	DARSHAN_MDHIM,
	DARSHAN_APXC,
	DARSHAN_APMPI,
	DARSHAN_HEATMAP,
	DARSHAN_DFS,
	DARSHAN_DAOS,
	DARSHAN_MODULES = 64 /* in the file there is room for so many */
};

/* "POSIX", "MPI-IO", ...; NULL for a number that has no name yet. */
const char *darshan_module_name(unsigned module);

enum darshan_packing { DARSHAN_ZLIB, DARSHAN_BZIP2, DARSHAN_PLAIN };

struct darshan_region {
	uint64_t at, bytes; /* packed; bytes 0: the log has none */
	uint32_t version;
	bool partial; /* the program's Darshan had no room for all of it */
};

struct darshan_mount {
	const char *type, *path;
};

struct darshan_job {
	int64_t begin_s, begin_ns, end_s, end_ns; /* since 1970 */
	bool whole_seconds;                       /* the format knows no parts of a second */
	int64_t ranks, id;
	const char *metadata; /* lines key=value */
	const char *command;  /* joined with blanks by Darshan, maybe cut; may be empty */
	struct darshan_mount *mounts;
	size_t n_mounts;
};

struct darshan_log {
	struct arena arena;
	struct source *source;
	const char *path;
	int fd;
	uint64_t bytes;  /* of the file, unpacked if it was packed as a whole */
	char version[9]; /* "3.41" */
	bool swapped;    /* its numbers' bytes are the other way round than here */
	bool big;        /* it was written by a big-endian machine */
	enum darshan_packing packing;
	struct darshan_region names, modules[DARSHAN_MODULES];
	struct darshan_job job;
};

/* Header, map and job; nothing else is touched. -EINVAL: no Darshan log, a format that isn't read,
 * damaged; or what opening and reading answered. */
int darshan_open(struct darshan_log **ret, const char *path, struct err *err);
void darshan_close(struct darshan_log *log);

/* "3.2.0" of the metadata; NULL. Lent. */
const char *darshan_runtime(struct darshan_log *log);

/* How long the job ran: by Darshan's own rule, which adds a second where parts of it are not known. */
double darshan_run_s(const struct darshan_log *log);

/* Does the log have anything of this module? */
static inline bool darshan_has(const struct darshan_log *log, enum darshan_module m)
{
	return log->modules[m].bytes > 0;
}

/* ---- a region's plain bytes ------------------------------------------------------------------- */

struct darshan_stream;

/* what: for sentences, "POSIX". The log must outlive it. */
int darshan_stream_open(struct darshan_stream **ret, struct darshan_log *log,
			const struct darshan_region *region, const char *what, struct err *err);
void darshan_stream_close(struct darshan_stream *s);
/* Exactly n bytes: 1. 0: the region ends here, before the first of them. -EINVAL: it ends within
 * them, or its packed data is damaged. to NULL: skipped. */
int darshan_stream_take(struct darshan_stream *s, void *to, uint64_t n, struct err *err);
/* Up to room bytes: how many; 0 at the end. */
int64_t darshan_stream_some(struct darshan_stream *s, void *to, size_t room, struct err *err);
/* -EINVAL with the region's name and the place in it before this sentence. */
int darshan_stream_fault(struct darshan_stream *s, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Numbers as they stand in a log. */
uint64_t darshan_u64(const struct darshan_log *log, const unsigned char *at);
uint32_t darshan_u32(const struct darshan_log *log, const unsigned char *at);
double darshan_f64(const struct darshan_log *log, const unsigned char *at);

/* ---- names ------------------------------------------------------------------------------------ */

/* Every entry of the table of names: the same one may come many times. each answers 0 to go on. */
int darshan_names(struct darshan_log *log,
		  int (*each)(void *self, uint64_t id, const char *name, size_t n), void *self,
		  struct err *err);

#endif
