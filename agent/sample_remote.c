/* File systems that live elsewhere: what this node asked of them. NFS by mount, Lustre by file
 * system. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- NFS: /proc/self/mountstats ---- */

enum { NFS_READ_BYTES, NFS_WRITE_BYTES, NFS_READS, NFS_READ_S, NFS_WRITES, NFS_WRITE_S, NFS_CALLS };
enum { NFS_VALUES = NFS_CALLS + 1 };

static const struct text_key nfs_keys[NFS_VALUES] = {
	[NFS_READ_BYTES] = { "", "read_bytes", 1, 1 },
	[NFS_WRITE_BYTES] = { "", "write_bytes", 1, 1 },
	[NFS_READS] = { "", "reads", 1, 1 },
	[NFS_READ_S] = { "", "read_s", 1, 1 },
	[NFS_WRITES] = { "", "writes", 1, 1 },
	[NFS_WRITE_S] = { "", "write_s", 1, 1 },
	[NFS_CALLS] = { "", "calls", 1, 1 },
};

struct nfs {
	int changes; /* /proc/self/mounts, which poll tells about; -1: cannot be had */
	bool none;   /* no NFS at the last look */
	struct sample_file file;
};

/* "device HOST:/export mounted on /PLACE with fstype nfs4 statvers=1.1" */
static bool nfs_device(struct str line, struct str *ret_place)
{
	struct str word, place = { 0 };
	bool mounted = false, type = false;
	*ret_place = (struct str){ 0 };
	while (text_word(&line, &word)) {
		if (mounted && text_is(word, "on") && !place.p)
			(void)text_word(&line, &place);
		if (type) {
			*ret_place = place;
			return place.p && (text_is(word, "nfs") || text_is(word, "nfs4"));
		}
		mounted |= text_is(word, "mounted");
		type = text_is(word, "fstype");
	}
	return false;
}

static double word_number(struct str line, unsigned which)
{
	double x = (double)NAN;
	for (unsigned i = 0; i <= which; i++)
		x = text_next_number(&line);
	return x;
}

/* An operation: calls, transmissions, timeouts, bytes sent, bytes received, ms in the queue, ms of
 * the answer, ms of all together. */
static void nfs_operation(struct str name, struct str rest, double *values)
{
	double calls = word_number(rest, 0), all_s = word_number(rest, 7) / 1e3;
	if (text_is(name, "READ:")) {
		values[NFS_READS] = calls;
		values[NFS_READ_S] = all_s;
	} else if (text_is(name, "WRITE:")) {
		values[NFS_WRITES] = calls;
		values[NFS_WRITE_S] = all_s;
	}
	if (known(calls))
		values[NFS_CALLS] = (known(values[NFS_CALLS]) ? values[NFS_CALLS] : 0) + calls;
}

static void nfs_line(struct str line, bool *operations, double *values)
{
	struct str word;
	if (!text_word(&line, &word))
		return;
	if (text_is(word, "bytes:")) {
		/* Of the application by read and write, likewise O_DIRECT; then with the server. */
		values[NFS_READ_BYTES] = word_number(line, 4);
		values[NFS_WRITE_BYTES] = word_number(line, 5);
	} else if (text_is(word, "per-op")) {
		*operations = true;
	} else if (*operations && word.p[word.n - 1] == ':') {
		nfs_operation(word, line, values);
	}
}

unsigned sample_nfs_read(struct str text, struct buf *more)
{
	struct str line, place = { 0 };
	double values[NFS_VALUES];
	bool in = false, operations = false, more_lines;
	unsigned mounts = 0;
	do {
		more_lines = text_line(&text, &line);
		bool head = more_lines && text_begins(line, "device ");
		if (in && (head || !more_lines) && mounts++ < SAMPLE_MAX_THINGS)
			sample_put_thing(more, "nfs", place, nfs_keys, NFS_VALUES, values);
		if (head) {
			in = nfs_device(line, &place);
			operations = false;
			for (size_t i = 0; i < NFS_VALUES; i++)
				values[i] = (double)NAN;
		} else if (in && more_lines) {
			nfs_line(line, &operations, values);
		}
	} while (more_lines);
	if (mounts > SAMPLE_MAX_THINGS)
		sample_put_left_out(more, "nfs_left_out", mounts - SAMPLE_MAX_THINGS);
	return mounts;
}

static int nfs_open(void **ret_self, const char *root)
{
	char path[PATH_MAX];
	struct nfs *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	(void)snprintf(path, sizeof path, "%s/proc/self/mounts", root);
	s->changes = open(path, O_RDONLY | O_CLOEXEC);
	s->file = SAMPLE_FILE;
	*ret_self = s;
	return 0;
}

static bool nfs_changed(const struct nfs *s)
{
	struct pollfd p = { .fd = s->changes, .events = POLLPRI };
	return s->changes < 0 || poll(&p, 1, 0) != 0;
}

/* Where nothing is mounted, to ask whether that has changed costs one call, and the file can be
 * long: it has every mount of every container. */
static int nfs_take(void *self, struct sample_reader *r, double *values, struct buf *more,
		    struct err *err)
{
	struct nfs *s = self;
	struct str text;
	(void)values;
	if (!nfs_changed(s) && s->none)
		return 0;
	s->none = false; /* the change was told once, and is not known until the file was read */
	int rc = sample_read(r, &s->file, "/proc/self/mountstats", SAMPLE_PIECES, &text, err);
	if (!rc)
		s->none = sample_nfs_read(text, more) == 0;
	return rc;
}

static void nfs_close(void *self, struct sample_reader *r)
{
	struct nfs *s = self;
	if (!s)
		return;
	if (s->changes >= 0)
		(void)close(s->changes);
	sample_file_close(r, &s->file);
	free(s);
}

const struct sampler sample_nfs = {
	.name = "nfs",
	.optional = true,
	.take = nfs_take,
	.open = nfs_open,
	.close = nfs_close,
};

/* ---- Lustre: llite/NAME-ADDRESS/stats ---- */

enum { LUSTRE_COUNTS = 6, LUSTRE_VALUES = 8 };

/* "read_bytes 12 samples [bytes] MIN MAX SUM": how often, and of the last two the sum. */
static const struct text_key lustre_keys[LUSTRE_VALUES] = {
	{ "read_bytes", "reads", 1, 1 },
	{ "write_bytes", "writes", 1, 1 },
	{ "open", "opens", 1, 1 },
	{ "close", "closes", 1, 1 },
	{ "getattr", "getattrs", 1, 1 },
	{ "fsync", "fsyncs", 1, 1 },
	{ "read_bytes", "read_bytes", 1, 1 },
	{ "write_bytes", "write_bytes", 1, 1 },
};

/* Some kernels have it in the one place, newer ones in the other, which only root may enter. */
#define LUSTRE_OLD "/proc/fs/lustre/llite"
#define LUSTRE_NEW "/sys/kernel/debug/lustre/llite"
#define LUSTRE_IS_HERE "/sys/fs/lustre"

/* A file system that is mounted twice is one here: its address says nothing to anybody. */
struct lustre_system {
	char name[32];
	double values[LUSTRE_VALUES];
};

struct lustre {
	const char *root;
	struct pace pace;
	uint64_t next_ns;
	unsigned n, left_out;
	struct lustre_system systems[SAMPLE_MAX_THINGS];
};

/* What was never done has no line: of that there is 0, once the text is such a file at all. */
bool sample_lustre_read(struct str text, double values[LUSTRE_VALUES])
{
	struct str line, word;
	bool stats = false;
	memset(values, 0, LUSTRE_VALUES * sizeof *values);
	while (text_line(&text, &line)) {
		if (!text_word(&line, &word))
			continue;
		stats |= text_is(word, "snapshot_time");
		for (size_t i = 0; i < LUSTRE_VALUES; i++)
			if (text_is(word, lustre_keys[i].key))
				values[i] = word_number(line, i < LUSTRE_COUNTS ? 0 : 5);
	}
	return stats;
}

static struct lustre_system *lustre_system(struct lustre *s, const char *folder)
{
	const char *dash = strrchr(folder, '-'); /* home-ffff8a0b1c2d3e4f */
	size_t n = dash ? (size_t)(dash - folder) : strlen(folder);
	if (n >= sizeof s->systems->name)
		n = sizeof s->systems->name - 1;
	for (unsigned i = 0; i < s->n; i++)
		if (strncmp(s->systems[i].name, folder, n) == 0 && !s->systems[i].name[n])
			return &s->systems[i];
	if (s->n == COUNT(s->systems)) {
		s->left_out++;
		return NULL;
	}
	struct lustre_system *ret = &s->systems[s->n++];
	*ret = (struct lustre_system){ .name = "" };
	memcpy(ret->name, folder, n);
	return ret;
}

static int lustre_mount(struct lustre *s, struct sample_reader *r, const char *below,
			const char *folder, struct err *err)
{
	char path[PATH_MAX];
	double values[LUSTRE_VALUES];
	struct sample_file file = SAMPLE_FILE;
	struct str text;
	(void)snprintf(path, sizeof path, "%s/%.255s/stats", below, folder);
	int rc = sample_read(r, &file, path, SAMPLE_PIECES, &text, err);
	if (rc == -ENOENT)
		return 0; /* unmounted just now */
	bool stats = !rc && sample_lustre_read(text, values);
	sample_file_close(r, &file);
	struct lustre_system *of = lustre_system(s, folder);
	for (size_t i = 0; of && i < LUSTRE_VALUES; i++)
		of->values[i] += stats ? values[i] : (double)NAN;
	return rc;
}

static DIR *lustre_folder(struct lustre *s, const char **ret_below, struct err *err)
{
	static const char *const places[] = { LUSTRE_OLD, LUSTRE_NEW };
	char full[PATH_MAX];
	int rc = 0;
	for (size_t i = 0; i < COUNT(places); i++) {
		(void)snprintf(full, sizeof full, "%s%s", s->root, places[i]);
		DIR *dir = opendir(full);
		*ret_below = places[i];
		if (dir)
			return dir;
		rc = errno;
	}
	/* Who may not enter debugfs can't know whether there is something in it. */
	(void)snprintf(full, sizeof full, "%s%s", s->root, LUSTRE_IS_HERE);
	if (access(full, F_OK))
		rc = ENOENT;
	(void)err_set(err, -rc, "open %s: %s", LUSTRE_NEW, strerror(rc));
	errno = rc;
	return NULL;
}

static int lustre_look(struct lustre *s, struct sample_reader *r, struct err *err)
{
	const char *below;
	DIR *dir = lustre_folder(s, &below, err);
	if (!dir)
		return -errno;
	int rc = 0;
	s->n = s->left_out = 0;
	for (const struct dirent *e; (e = readdir(dir));) {
		int one = e->d_name[0] == '.' ? 0 : lustre_mount(s, r, below, e->d_name, err);
		rc = rc ? rc : one;
	}
	(void)closedir(dir);
	return rc;
}

static int lustre_take(void *self, struct sample_reader *r, double *values, struct buf *more,
		       struct err *err)
{
	struct lustre *s = self;
	(void)values;
	if (r->mono_ns < s->next_ns)
		return -EAGAIN;
	int rc = lustre_look(s, r, err);
	s->pace.max_ns = SAMPLE_SLOWEST_NS;
	s->next_ns = pace_next(&s->pace, r->mono_ns, rc == 0);
	if (sample_absent(rc))
		return rc;
	for (unsigned i = 0; i < s->n; i++)
		sample_put_thing(more, "lustre", str_of(s->systems[i].name), lustre_keys,
				 LUSTRE_VALUES, s->systems[i].values);
	sample_put_left_out(more, "lustre_left_out", s->left_out);
	return rc;
}

static int lustre_open(void **ret_self, const char *root)
{
	struct lustre *s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->root = root;
	*ret_self = s;
	return 0;
}

static void lustre_close(void *self, struct sample_reader *r)
{
	(void)r;
	free(self);
}

const struct sampler sample_lustre = {
	.name = "lustre",
	.optional = true,
	.take = lustre_take,
	.open = lustre_open,
	.close = lustre_close,
};
