/* Paths of control groups, a component at a time. Each shape that is known stands in
 * tests/unit/jobs.c. */
#define _GNU_SOURCE
#include "node/jobs.h"

#include <stdbool.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ID_DIGITS 64 /* of a container: a SHA-256 */

/* ---- slices ---- */

static bool is(struct str s, const char *text)
{
	size_t n = strlen(text);
	return s.n == n && memcmp(s.p, text, n) == 0;
}

static bool has(struct str s, const char *text)
{
	return s.n && memmem(s.p, s.n, text, strlen(text));
}

/* Take text off the front, or off the end. */
static bool cut_front(struct str *s, const char *text)
{
	size_t n = strlen(text);
	if (s->n < n || memcmp(s->p, text, n) != 0)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

static bool cut_end(struct str *s, const char *text)
{
	size_t n = strlen(text);
	if (s->n < n || memcmp(s->p + s->n - n, text, n) != 0)
		return false;
	s->n -= n;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits(struct str s)
{
	size_t n = 0;
	while (n < s.n && is_digit(s.p[n]))
		n++;
	return n;
}

static size_t hex_digits(struct str s)
{
	size_t n = 0;
	while (n < s.n && (is_digit(s.p[n]) || (s.p[n] >= 'a' && s.p[n] <= 'f')))
		n++;
	return n;
}

static bool all_words(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_digit(s.p[i]) && !(s.p[i] >= 'a' && s.p[i] <= 'z') &&
		    !(s.p[i] >= 'A' && s.p[i] <= 'Z'))
			return false;
	return s.n > 0;
}

/* ---- jobs ---- */

/* One component of the path, and what came before it. */
struct step_in {
	struct str part, before;
	bool slurm, pbs, lsf, sge; /* below a folder of that name */
};

/* job_1234, or from Slurm 26 on an id of 14 characters that is no number: s5K1KKYAYG5D00. */
static bool slurm_job(struct str part, struct str *ret_job)
{
	struct str s = part;
	*ret_job = part;
	if (cut_front(&s, "job_")) {
		*ret_job = s;
		return digits(s) == s.n && s.n;
	}
	return s.n == 14 && *s.p == 's' && is_digit(s.p[1]) && all_words(s);
}

static bool below_slurm(struct str part)
{
	struct str s = part;
	if (cut_end(&s, "slurmstepd.scope"))
		return !s.n || s.p[s.n - 1] == '_';          /* NODE_slurmstepd.scope */
	return is(part, "slurm") || cut_front(&s, "slurm_"); /* slurm_NODE */
}

/* "12.host", "12[3].host" */
static bool pbs_id(struct str s)
{
	size_t n = digits(s);
	if (n < s.n && n && s.p[n] == '[')
		return true;
	return n && n < s.n && s.p[n] == '.';
}

/* shell-RANK-ID.service, and imp-shell-... where jobs have users of their own. */
static bool flux_job(struct str part, struct str *ret_job)
{
	struct str s = part;
	(void)cut_front(&s, "imp-");
	if (!cut_front(&s, "shell-") || !cut_end(&s, ".service"))
		return false;
	size_t n = digits(s);
	if (!n || n >= s.n || s.p[n] != '-')
		return false;
	*ret_job = (struct str){ .p = s.p + n + 1, .n = s.n - n - 1 };
	return all_words(*ret_job) && *ret_job->p == 'f';
}

/* job.1234.PID.TIME, or job.1234[7].PID.TIME */
static bool lsf_job(struct str part, struct str *ret_job)
{
	struct str s = part;
	if (!cut_front(&s, "job."))
		return false;
	size_t n = digits(s);
	const char *end = n ? memchr(s.p + n, '.', s.n - n) : NULL;
	*ret_job = (struct str){ .p = s.p, .n = end ? (size_t)(end - s.p) : s.n };
	return n > 0;
}

static const char *job_of(const struct step_in *in, struct str *ret_job)
{
	struct str s = in->part;
	if (in->slurm && slurm_job(s, ret_job))
		return "slurm";
	if (flux_job(s, ret_job))
		return "flux";
	if (in->lsf && lsf_job(s, ret_job))
		return "lsf";
	*ret_job = s;
	if (in->sge && digits(s) && (digits(s) == s.n || pbs_id(s)))
		return "sge";
	if (cut_front(&s, "pbspro-") && cut_end(&s, ".slice") && pbs_id(s)) {
		*ret_job = s;
		return "pbs";
	}
	return in->pbs && pbs_id(in->part) ? "pbs" : NULL;
}

static void job_step(struct job_place *ret, struct step_in *in, struct str path)
{
	struct str s = in->part;
	size_t end = (size_t)(s.p - path.p) + s.n;
	if (!ret->manager) {
		ret->manager = job_of(in, &ret->job);
		if (ret->manager)
			ret->job_path = (struct str){ .p = path.p, .n = end };
		else
			ret->job = (struct str){ .p = NULL };
	} else if (!ret->step.p && in->slurm && cut_front(&s, "step_") && s.n) {
		ret->step = s;
	}
	in->slurm |= below_slurm(in->part);
	in->pbs |= is(in->part, "pbs_jobs.service") || is(in->part, "pbspro") ||
		   is(in->part, "pbspro.service") || is(in->part, "torque");
	in->lsf |= is(in->part, "lsf");
	in->sge |= is(in->part, "sge") || is(in->part, "UGE") || is(in->part, "GE");
}

/* ---- containers ---- */

/* What stands before an id: docker-ID.scope, cri-containerd-ID.scope, ... */
static const struct {
	const char *before, *runtime;
} scopes[] = {
	{ "docker-", "docker" },
	{ "libpod-", "podman" },
	{ "cri-containerd-", "containerd" },
	{ "nerdctl-", "containerd" },
	{ "containerd-", "containerd" },
	{ "crio-", "crio" },
};

/* The folder that an id stands in by itself. */
static const struct {
	const char *folder, *runtime;
} folders[] = {
	{ "docker", "docker" },
	{ "actions_job", "docker" },
	{ "default", "containerd" },
	{ "k8s.io", "containerd" },
};

/* All of s is a container's id: nothing else has such a name. */
static bool id_at(struct str s, struct str *ret_id)
{
	size_t n = hex_digits(s);
	if (n != ID_DIGITS || n != s.n)
		return false;
	*ret_id = s;
	return true;
}

static void container_scope(struct job_place *ret, struct str part)
{
	struct str s = part, id;
	(void)cut_end(&s, ".scope");
	for (size_t i = 0; i < COUNT(scopes); i++) {
		struct str rest = s;
		if (cut_front(&rest, scopes[i].before) && id_at(rest, &id)) {
			ret->runtime = scopes[i].runtime;
			ret->container = id;
			return;
		}
	}
	/* kubepods-besteffort-podUID.slice:cri-containerd:ID */
	const char *colon = memrchr(s.p, ':', s.n);
	struct str rest = { .p = colon ? colon + 1 : NULL };
	rest.n = colon ? (size_t)(s.p + s.n - rest.p) : 0;
	if (colon && id_at(rest, &id)) {
		ret->runtime = has(s, ":cri-containerd:") ? "containerd" : "kubernetes";
		ret->container = id;
	}
}

static void container_folder(struct job_place *ret, const struct step_in *in)
{
	struct str s = in->before;
	if (!id_at(in->part, &ret->container))
		return;
	ret->runtime = cut_front(&s, "pod") ? "kubernetes" : "container"; /* of a kind not known */
	for (size_t i = 0; i < COUNT(folders); i++)
		if (is(s, folders[i].folder))
			ret->runtime = folders[i].runtime;
}

/* A name, not an id: LXC, systemd-nspawn, Apptainer by its process. */
static void container_named(struct job_place *ret, const struct step_in *in)
{
	struct str s = in->part;
	if (is(in->before, "lxc") || is(in->before, "lxc.payload") ||
	    cut_front(&s, "lxc.payload.")) {
		ret->runtime = "lxc";
		ret->container = s;
	} else if (cut_front(&s, "apptainer-") && cut_end(&s, ".scope") && digits(s) == s.n &&
		   s.n) {
		ret->runtime = "apptainer";
		ret->container = s;
	} else if (is(in->before, "machine.slice") &&
		   ((cut_front(&s, "machine-") && cut_end(&s, ".scope")) ||
		    (cut_front(&s, "systemd-nspawn@") && cut_end(&s, ".service"))) &&
		   s.n) {
		ret->runtime = "nspawn";
		ret->container = s;
	}
}

/* The innermost container counts: it is the one the process sees. */
static void container_step(struct job_place *ret, const struct step_in *in)
{
	container_scope(ret, in->part);
	container_folder(ret, in);
	container_named(ret, in);
}

void job_place_read(struct job_place *ret, struct str path)
{
	struct step_in in = { .part = { .p = NULL } };
	*ret = (struct job_place){ .manager = NULL };
	for (size_t at = 0; path.p && at < path.n;) {
		if (path.p[at] == '/') {
			at++;
			continue;
		}
		const char *from = path.p + at;
		const char *end = memchr(from, '/', path.n - at);
		in.before = in.part;
		in.part = (struct str){ .p = from, .n = end ? (size_t)(end - from) : path.n - at };
		at += in.part.n;
		job_step(ret, &in, path);
		container_step(ret, &in);
	}
}

/* ---- /proc/PID/cgroup ---- */

/* Which of the old hierarchies tells where a process belongs: batch systems have their own in some
 * of them, systemd names its services in its own. */
enum { OLD_MEMORY, OLD_CPU, OLD_IO, OLD_HIERARCHIES = 8 };
static const char *const telling[OLD_HIERARCHIES] = {
	[OLD_MEMORY] = "memory",
	[OLD_CPU] = "cpuacct",
	[OLD_IO] = "blkio",
	"cpuset",
	"freezer",
	"devices",
	"pids",
	"name=systemd",
};

static bool lists(struct str controllers, const char *name)
{
	size_t n = strlen(name);
	for (size_t at = 0; at + n <= controllers.n; at++) {
		bool begins = at == 0 || controllers.p[at - 1] == ',';
		bool ends = at + n == controllers.n || controllers.p[at + n] == ',';
		if (begins && ends && memcmp(controllers.p + at, name, n) == 0)
			return true;
	}
	return false;
}

/* "4:memory,cpu:/path". A path may have colons. False: no such line, or out of sight. */
static bool split(struct str line, struct str *ret_controllers, struct str *ret_path)
{
	const char *first = line.n ? memchr(line.p, ':', line.n) : NULL;
	if (!first)
		return false;
	size_t left = line.n - (size_t)(first + 1 - line.p);
	const char *second = left ? memchr(first + 1, ':', left) : NULL;
	if (!second)
		return false;
	*ret_controllers = (struct str){ .p = first + 1, .n = (size_t)(second - first - 1) };
	*ret_path = (struct str){ .p = second + 1, .n = line.n - (size_t)(second + 1 - line.p) };
	(void)cut_end(ret_path, " (deleted)");
	struct str above = *ret_path;
	return ret_path->n && *ret_path->p == '/' &&
	       !(cut_front(&above, "/..") && (!above.n || *above.p == '/'));
}

static unsigned worth(const struct job_place *job, struct str path)
{
	if (job->manager)
		return 4;
	return job->runtime ? 3 : path.n > 1 ? 2 : 1;
}

static void consider(struct cgroup_place *ret, unsigned *best, struct str path)
{
	struct job_place job;
	job_place_read(&job, path);
	unsigned here = worth(&job, path);
	if (here <= *best)
		return;
	*best = here;
	ret->path = path;
	ret->job = job;
}

void cgroup_place_read(struct cgroup_place *ret, struct str text)
{
	struct str old[OLD_HIERARCHIES] = { { .p = NULL } };
	*ret = (struct cgroup_place){ .path = { .p = NULL } };
	while (text.p && text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		struct str line = { .p = text.p, .n = end ? (size_t)(end - text.p) : text.n };
		struct str controllers, path;
		text.p += line.n + (end != NULL);
		text.n -= line.n + (end != NULL);
		if (!split(line, &controllers, &path))
			continue;
		if (!controllers.n)
			ret->unified = path;
		for (size_t i = 0; i < OLD_HIERARCHIES; i++)
			if (lists(controllers, telling[i]))
				old[i] = path;
	}
	ret->memory = old[OLD_MEMORY];
	ret->cpu = old[OLD_CPU];
	ret->io = old[OLD_IO];
	unsigned best = 0;
	if (ret->unified.p)
		consider(ret, &best, ret->unified);
	for (size_t i = 0; i < OLD_HIERARCHIES; i++)
		if (old[i].p)
			consider(ret, &best, old[i]);
}
