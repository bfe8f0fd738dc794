/* Control groups of the processes that are followed, and of their jobs. The unified hierarchy where
 * it has the controllers, the old ones where those are all there is. The root group is the node. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/jobs.h"

/* ---- values ---- */

enum {
	CPU,
	CPU_USER,
	CPU_SYSTEM,
	THROTTLED,
	THROTTLED_S,
	MEMORY,
	MEMORY_PEAK,
	OOM_KILLS,
	IO_READ_BYTES,
	IO_WRITE_BYTES,
	IO_READS,
	IO_WRITES,
	CPU_SOME,
	CPU_FULL,
	MEMORY_SOME,
	MEMORY_FULL,
	IO_SOME,
	IO_FULL,
};

/* The keys are those of cpu.stat. */
const struct text_key sample_group_keys[GROUP_VALUES] = {
	[CPU] = { "usage_usec", "cpu_s", 1, 1e6 },
	[CPU_USER] = { "user_usec", "cpu_user_s", 1, 1e6 },
	[CPU_SYSTEM] = { "system_usec", "cpu_system_s", 1, 1e6 },
	[THROTTLED] = { "nr_throttled", "cpu_throttled", 1, 1 },
	[THROTTLED_S] = { "throttled_usec", "cpu_throttled_s", 1, 1e6 },
	[MEMORY] = { "", "memory_bytes", 1, 1 },
	[MEMORY_PEAK] = { "", "memory_peak_bytes", 1, 1 },
	[OOM_KILLS] = { "oom_kill", "oom_kills", 1, 1 },
	[IO_READ_BYTES] = { "", "io_read_bytes", 1, 1 },
	[IO_WRITE_BYTES] = { "", "io_write_bytes", 1, 1 },
	[IO_READS] = { "", "io_reads", 1, 1 },
	[IO_WRITES] = { "", "io_writes", 1, 1 },
	[CPU_SOME] = { "", "cpu_some_s", 1, 1 },
	[CPU_FULL] = { "", "cpu_full_s", 1, 1 },
	[MEMORY_SOME] = { "", "memory_some_s", 1, 1 },
	[MEMORY_FULL] = { "", "memory_full_s", 1, 1 },
	[IO_SOME] = { "", "io_some_s", 1, 1 },
	[IO_FULL] = { "", "io_full_s", 1, 1 },
};

/* ---- files ---- */

static void one_number(struct str text, double *value, double per)
{
	struct str line;
	if (text_line(&text, &line))
		*value = text_next_number(&line) / per;
}

static void read_cpu_stat(struct str text, double *v)
{
	text_keys(text, sample_group_keys, THROTTLED_S + 1, v);
}

static void read_cpu_pressure(struct str text, double *v)
{
	sample_pressure_read(text, &v[CPU_SOME], &v[CPU_FULL]);
}

static void read_memory_pressure(struct str text, double *v)
{
	sample_pressure_read(text, &v[MEMORY_SOME], &v[MEMORY_FULL]);
}

static void read_io_pressure(struct str text, double *v)
{
	sample_pressure_read(text, &v[IO_SOME], &v[IO_FULL]);
}

static void read_memory(struct str text, double *v)
{
	one_number(text, &v[MEMORY], 1);
}

static void read_memory_peak(struct str text, double *v)
{
	one_number(text, &v[MEMORY_PEAK], 1);
}

static void read_memory_events(struct str text, double *v)
{
	text_keys(text, &sample_group_keys[OOM_KILLS], 1, &v[OOM_KILLS]);
}

static void add(double *sum, double x)
{
	*sum = (known(*sum) ? *sum : 0) + x;
}

/* "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0", a line for each device. A group that did
 * nothing yet has none: 0 is what it did. */
static void read_io_stat(struct str text, double *v)
{
	static const struct {
		const char *key;
		int value;
	} keys[] = { { "rbytes=", IO_READ_BYTES },
		     { "wbytes=", IO_WRITE_BYTES },
		     { "rios=", IO_READS },
		     { "wios=", IO_WRITES } };
	struct str line, word;
	for (size_t i = 0; i < COUNT(keys); i++)
		v[keys[i].value] = 0;
	while (text_line(&text, &line)) {
		while (text_word(&line, &word)) {
			for (size_t i = 0; i < COUNT(keys); i++) {
				size_t n = strlen(keys[i].key);
				if (!text_begins(word, keys[i].key))
					continue;
				v[keys[i].value] += text_number(
					(struct str){ .p = word.p + n, .n = word.n - n });
			}
		}
	}
}

/* "8:0 Read 123", ..., "Total 456": the last line tells that the file is whole. */
static void read_blkio(struct str text, double *read, double *write)
{
	struct str line, word;
	double sums[2] = { 0 };
	bool whole = false;
	while (text_line(&text, &line)) {
		if (!text_word(&line, &word))
			continue;
		whole |= text_is(word, "Total");
		if (!text_word(&line, &word))
			continue;
		if (text_is(word, "Read"))
			add(&sums[0], text_next_number(&line));
		else if (text_is(word, "Write"))
			add(&sums[1], text_next_number(&line));
	}
	if (whole) {
		*read = sums[0];
		*write = sums[1];
	}
}

static void read_blkio_bytes(struct str text, double *v)
{
	read_blkio(text, &v[IO_READ_BYTES], &v[IO_WRITE_BYTES]);
}

static void read_blkio_calls(struct str text, double *v)
{
	read_blkio(text, &v[IO_READS], &v[IO_WRITES]);
}

static void read_cpuacct_usage(struct str text, double *v)
{
	one_number(text, &v[CPU], 1e9);
}

static void read_cpuacct_stat(struct str text, double *v)
{
	static const struct text_key keys[] = { { "user", "", 1, 1 }, { "system", "", 1, 1 } };
	double values[2] = { (double)NAN, (double)NAN }, ticks = (double)sysconf(_SC_CLK_TCK);
	text_keys(text, keys, COUNT(keys), values);
	v[CPU_USER] = values[0] / ticks;
	v[CPU_SYSTEM] = values[1] / ticks;
}

enum folder { UNIFIED, OLD_MEMORY, OLD_CPU, OLD_IO, ANY };

/* A file is read when its hierarchy is there, and the better one, if it has one, is not: a
 * controller is in one of them only, but times of the CPU are in the unified one always. */
static const struct {
	enum folder folder, better;
	const char *name;
	void (*read)(struct str text, double *values);
	enum sample_whole whole;
} files[GROUP_FILES] = {
	{ UNIFIED, ANY, "cpu.stat", read_cpu_stat, SAMPLE_ONE_PIECE },
	{ UNIFIED, ANY, "cpu.pressure", read_cpu_pressure, SAMPLE_ONE_PIECE },
	{ UNIFIED, ANY, "memory.pressure", read_memory_pressure, SAMPLE_ONE_PIECE },
	{ UNIFIED, ANY, "io.pressure", read_io_pressure, SAMPLE_ONE_PIECE },
	{ UNIFIED, OLD_MEMORY, "memory.current", read_memory, SAMPLE_ONE_PIECE },
	{ UNIFIED, OLD_MEMORY, "memory.peak", read_memory_peak, SAMPLE_ONE_PIECE },
	{ UNIFIED, OLD_MEMORY, "memory.events", read_memory_events, SAMPLE_ONE_PIECE },
	{ UNIFIED, OLD_IO, "io.stat", read_io_stat, SAMPLE_ONE_PIECE },
	{ OLD_MEMORY, ANY, "memory.usage_in_bytes", read_memory, SAMPLE_ONE_PIECE },
	{ OLD_MEMORY, ANY, "memory.max_usage_in_bytes", read_memory_peak, SAMPLE_ONE_PIECE },
	{ OLD_CPU, UNIFIED, "cpuacct.usage", read_cpuacct_usage, SAMPLE_ONE_PIECE },
	{ OLD_CPU, UNIFIED, "cpuacct.stat", read_cpuacct_stat, SAMPLE_ONE_PIECE },
	{ OLD_IO, ANY, "blkio.throttle.io_service_bytes_recursive", read_blkio_bytes,
	  SAMPLE_ONE_PIECE },
	{ OLD_IO, ANY, "blkio.throttle.io_serviced_recursive", read_blkio_calls, SAMPLE_ONE_PIECE },
};

void sample_group_file(unsigned file, struct str text, double *values)
{
	files[file % GROUP_FILES].read(text, values);
}

void sample_group_read(struct sample_group *g, struct sample_reader *r, double *values)
{
	char path[PATH_MAX];
	struct str text;
	for (size_t i = 0; i < GROUP_VALUES; i++)
		values[i] = (double)NAN;
	for (size_t i = 0; i < GROUP_FILES; i++) {
		const char *folder = g->folders[files[i].folder];
		struct sample_file *f = &g->files[i];
		if (!folder || (files[i].better != ANY && g->folders[files[i].better]))
			continue;
		if (f->fd < 0)
			(void)snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
		/* What a controller that is off, an older kernel or a group that was removed
		 * doesn't have is unknown; sample_read asks less and less often. */
		if (!sample_read(r, f, f->fd < 0 ? path : NULL, files[i].whole, &text, NULL))
			files[i].read(text, values);
	}
}

/* ---- where hierarchies are ---- */

static char *join(struct str a, struct str b, struct str c)
{
	char *s = malloc(a.n + b.n + c.n + 1);
	if (!s)
		return NULL;
	memcpy(s, a.p, a.n);
	if (b.n)
		memcpy(s + a.n, b.p, b.n);
	if (c.n)
		memcpy(s + a.n + b.n, c.p, c.n);
	s[a.n + b.n + c.n] = 0;
	return s;
}

static bool lists(struct str options, const char *option)
{
	size_t n = strlen(option);
	for (size_t at = 0; at + n <= options.n; at++)
		if ((at == 0 || options.p[at - 1] == ',') &&
		    (at + n == options.n || options.p[at + n] == ',') &&
		    memcmp(options.p + at, option, n) == 0)
			return true;
	return false;
}

/* The first mount of a hierarchy counts. */
static int mount_set(struct group_mount *m, struct str folder, struct str from)
{
	if (m->folder)
		return 0;
	struct str none = { .p = "", .n = 0 };
	m->folder = join(folder, none, none);
	m->from = join(from, none, none);
	return m->folder && m->from ? 0 : -ENOMEM;
}

/* "ID PARENT MAJOR:MINOR FROM FOLDER OPTIONS [MORE...] - TYPE SOURCE OPTIONS" */
static int mount_line(struct sample_mounts *m, struct str line)
{
	struct str word = { .p = "" }, from = { 0 }, folder = { 0 }, type = { 0 }, options = { 0 };
	for (unsigned i = 0; text_word(&line, &word); i++) {
		if (i == 3)
			from = word;
		if (i == 4)
			folder = word;
		if (i > 5 && text_is(word, "-"))
			break;
	}
	if (!folder.n || !text_word(&line, &type) || !text_word(&line, &word))
		return 0;
	(void)text_word(&line, &options);
	if (text_is(type, "cgroup2"))
		return mount_set(&m->unified, folder, from);
	if (!text_is(type, "cgroup"))
		return 0;
	int rc = lists(options, "memory") ? mount_set(&m->memory, folder, from) : 0;
	if (!rc && lists(options, "cpuacct"))
		rc = mount_set(&m->cpu, folder, from);
	if (!rc && lists(options, "blkio"))
		rc = mount_set(&m->io, folder, from);
	return rc;
}

int sample_mounts_read(struct sample_mounts *m, struct str text)
{
	struct str line;
	int rc = 0;
	while (!rc && text_line(&text, &line))
		rc = mount_line(m, line);
	m->known = !rc;
	if (rc)
		sample_mounts_done(m);
	return rc;
}

void sample_mounts_done(struct sample_mounts *m)
{
	struct group_mount *all[] = { &m->unified, &m->memory, &m->cpu, &m->io };
	for (size_t i = 0; i < COUNT(all); i++) {
		free(all[i]->folder);
		free(all[i]->from);
	}
	*m = (struct sample_mounts){ .known = false };
}

/* ---- groups ---- */

/* Where the files of this path are: 0, and NULL where it isn't mounted, or the root. */
static int folder_of(const struct group_mount *m, struct str path, const char **ret)
{
	struct str from = str_of(m->from), none = { .p = "", .n = 0 };
	*ret = NULL;
	if (!m->folder || path.n <= 1)
		return 0;
	if (from.n > 1) { /* a part of the tree only */
		if (path.n <= from.n || memcmp(path.p, from.p, from.n) != 0 ||
		    path.p[from.n] != '/')
			return 0;
		path.p += from.n;
		path.n -= from.n;
	}
	*ret = join(str_of(m->folder), path, none);
	return *ret ? 0 : -ENOMEM;
}

static void group_free(struct sample_group *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < COUNT(g->folders); i++)
		free((char *)g->folders[i]);
	free(g->scope);
	free(g->job_scope);
	free(g);
}

static bool group_is(const struct sample_group *g, const char *scope)
{
	return strcmp(g->scope, scope) == 0 || (g->job_scope && strcmp(g->job_scope, scope) == 0);
}

static struct sample_group *group_find(struct sample_group *list, const char *scope)
{
	while (list && !group_is(list, scope))
		list = list->next;
	return list;
}

/* With these paths in each hierarchy. -ENOENT: there is nothing to be read of it. scope is taken.
 */
static int group_make(struct sample_group **list, const struct sample_mounts *m, char *scope,
		      const struct str paths[4], struct sample_group **ret)
{
	const struct group_mount *mounts[] = { &m->unified, &m->memory, &m->cpu, &m->io };
	struct sample_group *g = scope ? group_find(*list, scope) : NULL;
	if (g) {
		free(scope);
		g->members++;
		*ret = g;
		return 0;
	}
	g = calloc(1, sizeof *g);
	if (!g || !scope) {
		free(g);
		free(scope);
		return -ENOMEM;
	}
	g->scope = scope;
	int rc = 0;
	bool any = false;
	for (size_t i = 0; !rc && i < COUNT(mounts); i++) {
		rc = folder_of(mounts[i], paths[i], &g->folders[i]);
		any |= g->folders[i] != NULL;
	}
	if (rc || !any) {
		group_free(g);
		return rc ? rc : -ENOENT;
	}
	for (size_t i = 0; i < GROUP_FILES; i++)
		g->files[i] = SAMPLE_FILE;
	g->members = 1;
	g->next = *list;
	if (g->next)
		g->next->prev = g;
	*list = g;
	*ret = g;
	return 0;
}

static char *job_scope(const struct job_place *job)
{
	char text[32];
	int n = snprintf(text, sizeof text, "job:%s:", job->manager);
	struct str head = { .p = text, .n = (size_t)n }, none = { .p = NULL };
	return join(head, job->job, none);
}

static int job_join(struct sample_group **list, const struct sample_mounts *m,
		    const struct cgroup_place *place, struct sample_group *group,
		    struct sample_group **ret)
{
	char *scope = job_scope(&place->job);
	if (!scope)
		return -ENOMEM;
	struct sample_group *known = group_find(*list, scope);
	if (group && known == group) {
		free(scope);
		return 0;
	}
	if (group && !known && place->job.job_path.n == place->path.n) { /* one and the same */
		group->job_scope = scope;
		return 0;
	}
	struct str paths[4] = { place->unified, place->memory, place->cpu, place->io };
	for (size_t i = 0; i < COUNT(paths); i++) {
		struct job_place job;
		job_place_read(&job, paths[i]);
		paths[i] = job.job_path; /* none of it: this hierarchy has nothing about the job */
	}
	int rc = group_make(list, m, scope, paths, ret);
	return rc == -ENOENT ? 0 : rc;
}

int sample_group_join(struct sample_group **list, const struct sample_mounts *m, struct str text,
		      struct sample_group **ret_group, struct sample_group **ret_job)
{
	struct cgroup_place place;
	*ret_group = *ret_job = NULL;
	cgroup_place_read(&place, text);
	if (!place.path.p)
		return 0;
	struct str paths[4] = { place.unified, place.memory, place.cpu, place.io };
	for (size_t i = 0; i < COUNT(paths); i++) /* what is elsewhere counts others, too */
		if (paths[i].n != place.path.n ||
		    memcmp(paths[i].p, place.path.p, place.path.n) != 0)
			paths[i] = (struct str){ .p = NULL };
	char *scope = join(str_of("cgroup:"), place.path, (struct str){ .p = NULL });
	int rc = group_make(list, m, scope, paths, ret_group);
	if (rc == -ENOENT)
		rc = 0;
	if (!rc && place.job.manager)
		rc = job_join(list, m, &place, *ret_group, ret_job);
	return rc;
}

void sample_group_leave(struct sample_group **list, struct sample_group *g, struct sample_reader *r)
{
	if (!g || --g->members)
		return;
	for (size_t i = 0; i < GROUP_FILES; i++)
		sample_file_close(r, &g->files[i]);
	if (g->prev)
		g->prev->next = g->next;
	else
		*list = g->next;
	if (g->next)
		g->next->prev = g->prev;
	group_free(g);
}
