/* Header, map of the regions, job. */
#define _GNU_SOURCE
#include "import/darshan_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"

#define MAGIC 6567223
#define HEAD_NEW 1328 /* of format 3.41 */
#define HEAD_OLD 360
#define MODULES_OLD 16
#define JOB_TEXT_MAX ((size_t)64 << 10) /* 4096 in all that are known */
#define METADATA_BYTES 1024
#define RANKS_MAX ((int64_t)1 << 28)

const char *darshan_module_name(unsigned module)
{
	static const char *const names[] = {
		[DARSHAN_NULL] = "NULL",
		[DARSHAN_POSIX] = "POSIX",
		[DARSHAN_MPIIO] = "MPI-IO",
		[DARSHAN_H5F] = "H5F",
		[DARSHAN_H5D] = "H5D",
		[DARSHAN_PNETCDF_FILE] = "PNETCDF_FILE",
		[DARSHAN_PNETCDF_VAR] = "PNETCDF_VAR",
		[DARSHAN_BGQ] = "BG/Q",
		[DARSHAN_LUSTRE] = "LUSTRE",
		[DARSHAN_STDIO] = "STDIO",
		[DARSHAN_DXT_POSIX] = "DXT_POSIX",
		[DARSHAN_DXT_MPIIO] = "DXT_MPIIO",
		[DARSHAN_MDHIM] = "MDHIM",
		[DARSHAN_APXC] = "APXC",
		[DARSHAN_APMPI] = "APMPI",
		[DARSHAN_HEATMAP] = "HEATMAP",
		[DARSHAN_DFS] = "DFS",
		[DARSHAN_DAOS] = "DAOS",
	};
	return module < sizeof names / sizeof *names ? names[module] : NULL;
}

uint64_t darshan_u64(const struct darshan_log *log, const unsigned char *at)
{
	uint64_t x;
	memcpy(&x, at, sizeof x);
	return log->swapped ? __builtin_bswap64(x) : x;
}

uint32_t darshan_u32(const struct darshan_log *log, const unsigned char *at)
{
	uint32_t x;
	memcpy(&x, at, sizeof x);
	return log->swapped ? __builtin_bswap32(x) : x;
}

double darshan_f64(const struct darshan_log *log, const unsigned char *at)
{
	uint64_t bits = darshan_u64(log, at);
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* ---- header -------------------------------------------------------------------------------------
 */

struct layout {
	const char *version;
	size_t head_bytes, partial_at, names_at, modules_at, versions_at;
	unsigned n_modules;
	bool has_pnetcdf_var, has_h5d, has_ns;
};

static const struct layout layouts[] = {
	{ "3.00", HEAD_OLD, 20, 24, 40, 296, MODULES_OLD, false, false, false },
	{ "3.10", HEAD_OLD, 20, 24, 40, 296, MODULES_OLD, false, false, false },
	{ "3.20", HEAD_OLD, 20, 24, 40, 296, MODULES_OLD, false, true, false },
	{ "3.21", HEAD_OLD, 20, 24, 40, 296, MODULES_OLD, false, true, false },
	{ "3.41", HEAD_NEW, 24, 32, 48, 1072, DARSHAN_MODULES, true, true, true },
};

static const struct layout *layout_of(const char *version)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (strcmp(layouts[i].version, version) == 0)
			return &layouts[i];
	return NULL;
}

/* A module's number in an old format is the new one less those that it had not got. */
static unsigned newer_number(const struct layout *l, unsigned old)
{
	if (!l->has_h5d && old >= DARSHAN_H5D)
		old++;
	if (!l->has_pnetcdf_var && old >= DARSHAN_PNETCDF_VAR)
		old++;
	return old;
}

static int read_at(struct darshan_log *log, void *to, size_t n, uint64_t at, struct err *err)
{
	ssize_t got = file_fill_at(log->fd, to, n, at);
	if (got < 0)
		return err_set(err, (int)got, "read %s: %s", log->path, strerror((int)-got));
	if ((size_t)got < n)
		return err_set(err, -EINVAL,
			       "%s: the Darshan log is cut: it ends within its header, after "
			       "%llu bytes; copy the file again",
			       log->path, (unsigned long long)log->bytes);
	return 0;
}

/* Does the name of a version stand there: digits, a dot, digits? */
static bool is_version(const char *text)
{
	size_t a = strspn(text, "0123456789");
	size_t b = a && text[a] == '.' ? strspn(text + a + 1, "0123456789") : 0;
	return a && b && !text[a + 1 + b];
}

static int no_log(struct darshan_log *log, struct err *err)
{
	return err_set(
		err, -EINVAL,
		"%s is no Darshan log: it does not begin with a format version and Darshan's "
		"number",
		log->path);
}

static int read_version(struct darshan_log *log, const struct layout **ret, struct err *err)
{
	unsigned char b[17] = { 0 };
	size_t n = log->bytes < 17 ? (size_t)log->bytes : 17;
	int rc = read_at(log, b, n, 0, err);
	if (rc)
		return rc;
	memcpy(log->version, b, 8);
	if (n < 17 || !is_version(log->version))
		return no_log(log, err);
	uint64_t magic = darshan_u64(log, b + 8);
	log->swapped = magic == __builtin_bswap64(MAGIC);
	if (!log->swapped && magic != MAGIC)
		return no_log(log, err);
	log->big = log->swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	*ret = layout_of(log->version);
	if (!*ret)
		return err_set(
			err, -EINVAL,
			"%s: a Darshan log of format %s, which is not read here (3.00, 3.10, "
			"3.20, 3.21 and 3.41 are); convert it with darshan-convert of its own "
			"release",
			log->path, log->version);
	if (b[16] > DARSHAN_PLAIN)
		return err_set(err, -EINVAL,
			       "%s: the Darshan log is packed in a way that is not known (%u)",
			       log->path, b[16]);
	log->packing = (enum darshan_packing)b[16];
	return 0;
}

static struct darshan_region region_at(const struct darshan_log *log, const unsigned char *b)
{
	return (struct darshan_region){ .at = darshan_u64(log, b),
					.bytes = darshan_u64(log, b + 8) };
}

static int read_map(struct darshan_log *log, const struct layout *l, struct err *err)
{
	unsigned char b[HEAD_NEW];
	int rc = read_at(log, b, l->head_bytes, 0, err);
	if (rc)
		return rc;
	uint64_t partial = l->n_modules > 32 ? darshan_u64(log, b + l->partial_at)
					     : darshan_u32(log, b + l->partial_at);
	log->names = region_at(log, b + l->names_at);
	for (unsigned i = 0; i < l->n_modules; i++) {
		unsigned to = newer_number(l, i);
		if (to >= DARSHAN_MODULES)
			continue;
		struct darshan_region *m = &log->modules[to];
		*m = region_at(log, b + l->modules_at + 16 * (size_t)i);
		m->version = darshan_u32(log, b + l->versions_at + 4 * (size_t)i);
		m->partial = partial >> i & 1;
	}
	return 0;
}

/* ---- job ----------------------------------------------------------------------------------------
 */

/* Behind the header, up to the region that comes first. */
static struct darshan_region job_region(const struct darshan_log *log, const struct layout *l)
{
	uint64_t end = log->bytes;
	for (unsigned i = 0; i < DARSHAN_MODULES; i++) {
		const struct darshan_region *m = &log->modules[i];
		if (m->bytes && m->at > l->head_bytes && m->at < end)
			end = m->at;
	}
	if (log->names.bytes && log->names.at > l->head_bytes && log->names.at < end)
		end = log->names.at;
	return (struct darshan_region){ .at = l->head_bytes,
					.bytes = end > l->head_bytes ? end - l->head_bytes : 0 };
}

/* "lustre<TAB>/scratch" a line. */
static int read_mounts(struct darshan_log *log, char *text)
{
	struct darshan_job *job = &log->job;
	size_t cap = 0;
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		char *tab = strchr(line, '\t');
		if (!tab || !tab[1])
			continue;
		*tab = '\0';
		struct darshan_mount *mounts = arena_grow(&log->arena, job->mounts, &cap,
							  job->n_mounts + 1, sizeof *mounts);
		if (!mounts)
			return -ENOMEM;
		job->mounts = mounts;
		mounts[job->n_mounts++] = (struct darshan_mount){ .type = line, .path = tab + 1 };
	}
	return 0;
}

static int take_job(struct darshan_log *log, const struct layout *l, const unsigned char *b,
		    size_t n, struct err *err)
{
	struct darshan_job *job = &log->job;
	size_t fixed = l->has_ns ? 56 : 40;
	if (n < fixed + METADATA_BYTES)
		return err_set(err, -EINVAL,
			       "%s: the Darshan log's job region has only %zu bytes: it is damaged",
			       log->path, n);
	uint64_t words[7] = { 0 };
	for (size_t i = 0; i < fixed / 8; i++)
		words[i] = darshan_u64(log, b + 8 * i);
	job->whole_seconds = !l->has_ns;
	job->begin_s = (int64_t)words[1];
	job->begin_ns = l->has_ns ? (int64_t)words[2] : 0;
	job->end_s = (int64_t)words[l->has_ns ? 3 : 2];
	job->end_ns = l->has_ns ? (int64_t)words[4] : 0;
	job->ranks = (int64_t)words[l->has_ns ? 5 : 3];
	job->id = (int64_t)words[l->has_ns ? 6 : 4];
	if (job->ranks < 1 || job->ranks > RANKS_MAX)
		return err_set(err, -EINVAL,
			       "%s: the Darshan log's job has %lld processes: it is damaged",
			       log->path, (long long)job->ranks);
	const char *text = (const char *)b + fixed;
	job->metadata = arena_strndup(&log->arena, text, strnlen(text, METADATA_BYTES));
	text += METADATA_BYTES;
	size_t left = n - fixed - METADATA_BYTES;
	char *command = arena_strndup(&log->arena, text, strnlen(text, left));
	if (!command || !job->metadata)
		return err_set(err, -ENOMEM, "out of memory");
	char *newline = strchr(command, '\n');
	if (newline)
		*newline = '\0';
	job->command = command;
	return read_mounts(log, newline ? newline + 1 : NULL)
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

static int read_job(struct darshan_log *log, const struct layout *l, struct err *err)
{
	struct darshan_region region = job_region(log, l);
	struct darshan_stream *s;
	if (!region.bytes)
		return err_set(
			err, -EINVAL,
			"%s: the Darshan log is cut: it ends behind its header, before its job; "
			"copy the file again",
			log->path);
	unsigned char *b = malloc(JOB_TEXT_MAX);
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = darshan_stream_open(&s, log, &region, "job", err);
	if (!rc) {
		int64_t n = darshan_stream_some(s, b, JOB_TEXT_MAX, err);
		rc = n < 0 ? (int)n : take_job(log, l, b, (size_t)n, err);
		darshan_stream_close(s);
	}
	free(b);
	return rc;
}

/* ---- open ---------------------------------------------------------------------------------------
 */

static int open_plain(struct darshan_log *log, const char *path, struct err *err)
{
	const char *plain;
	struct stat st;
	int rc = source_open(&log->source, path, err);
	if (!rc)
		rc = source_plain_file(log->source, &plain, err);
	if (rc)
		return rc;
	log->path = arena_strdup(&log->arena, path);
	if (!log->path)
		return err_set(err, -ENOMEM, "out of memory");
	log->fd = open(plain, O_RDONLY | O_CLOEXEC);
	if (log->fd < 0 || fstat(log->fd, &st)) {
		int e = errno;
		return err_set(err, -e, "open %s: %s", path, strerror(e));
	}
	log->bytes = (uint64_t)st.st_size;
	return 0;
}

int darshan_open(struct darshan_log **ret, const char *path, struct err *err)
{
	struct darshan_log *log = calloc(1, sizeof *log);
	const struct layout *l = NULL;
	if (!log)
		return err_set(err, -ENOMEM, "out of memory");
	log->fd = -1;
	int rc = open_plain(log, path, err);
	if (!rc)
		rc = read_version(log, &l, err);
	if (!rc)
		rc = read_map(log, l, err);
	if (!rc)
		rc = read_job(log, l, err);
	if (rc) {
		darshan_close(log);
		return rc;
	}
	*ret = log;
	return 0;
}

void darshan_close(struct darshan_log *log)
{
	if (!log)
		return;
	if (log->fd >= 0)
		(void)close(log->fd);
	source_close(log->source);
	arena_free(&log->arena);
	free(log);
}

double darshan_run_s(const struct darshan_log *log)
{
	const struct darshan_job *job = &log->job;
	double whole = (double)job->end_s - (double)job->begin_s;
	return job->whole_seconds ? whole + 1
				  : whole + ((double)job->end_ns - (double)job->begin_ns) / 1e9;
}

const char *darshan_runtime(struct darshan_log *log)
{
	static const char key[] = "lib_ver=";
	for (const char *line = log->job.metadata; line && *line;) {
		size_t n = strcspn(line, "\n");
		if (strncmp(line, key, sizeof key - 1) == 0)
			return arena_strndup(&log->arena, line + sizeof key - 1,
					     n - (sizeof key - 1));
		line += n + (line[n] == '\n');
	}
	return NULL;
}
