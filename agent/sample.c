/* When to look, at what, and what it costs. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PROCESSES, CGROUPS };

static const char *const names[] = {
	"processes", "cgroups", "stat", "meminfo", "loadavg", "vmstat",
	"pressure",  "disks",   "net",  "nfs",     "lustre",  NULL,
};

/* ---- making -------------------------------------------------------------------------------- */

const char *samples_name(size_t i)
{
	return i < COUNT(names) ? names[i] : NULL;
}

static bool wants(const struct samples_options *o, const char *name)
{
	for (size_t i = 0; i < o->n_which; i++)
		if (strcmp(o->which[i], name) == 0)
			return true;
	return !o->n_which;
}

static int check_options(const struct samples_options *o, struct err *err)
{
	const uint64_t periods[] = { o->node_period_ns, o->process_period_ns };
	for (size_t i = 0; i < COUNT(periods); i++)
		if (periods[i] &&
		    (periods[i] < SAMPLE_MIN_PERIOD_NS || periods[i] > SAMPLE_MAX_PERIOD_NS))
			return err_set(err, -EINVAL,
				       "period of samples: %g s; it must be 0.1 to 3600 seconds",
				       (double)periods[i] / 1e9);
	for (size_t i = 0; i < o->n_which; i++) {
		size_t k = 0;
		while (names[k] && strcmp(names[k], o->which[i]) != 0)
			k++;
		if (!names[k])
			return err_set(
				err, -EINVAL,
				"there is no sampler '%s': they are processes, cgroups, stat, "
				"meminfo, loadavg, vmstat, pressure, disks, net, nfs, lustre",
				o->which[i]);
	}
	return 0;
}

static unsigned half_of_descriptors(void)
{
	const rlim_t most = 1u << 20;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 512;
	return (unsigned)(limit.rlim_cur / 2 < most ? limit.rlim_cur / 2 : most);
}

int samples_new(struct samples **ret, const struct samples_options *o, struct err *err)
{
	int rc = check_options(o, err);
	if (rc)
		return rc;
	struct samples *s = calloc(1, sizeof *s);
	char *root = malloc(strlen(o->root) + 1);
	if (!s || !root) {
		free(s);
		free(root);
		return err_set(err, -ENOMEM, "out of memory");
	}
	memcpy(root, o->root, strlen(o->root) + 1);
	s->root = root;
	s->reader.root = root;
	s->reader.max_kept = o->max_descriptors ? o->max_descriptors : half_of_descriptors();
	s->node_period_ns = o->node_period_ns ? o->node_period_ns : SAMPLE_SECOND_NS;
	s->process_period_ns = o->process_period_ns ? o->process_period_ns : s->node_period_ns;
	s->node_slot = s->process_slot = s->full_slot = INT64_MIN;
	s->when_idle = o->when_idle;
	s->processes_too = wants(o, names[PROCESSES]);
	s->groups_too = wants(o, names[CGROUPS]);
	s->mounts_file = SAMPLE_FILE;
	for (size_t i = 0; i < SAMPLERS; i++) {
		s->on[i] = wants(o, sample_table[i]->name);
		s->any_on |= s->on[i];
		s->file[i] = SAMPLE_FILE;
		s->trouble[i].name = sample_table[i]->name;
	}
	s->process_trouble.name = names[PROCESSES];
	s->io_trouble.name = names[PROCESSES];
	*ret = s;
	return 0;
}

void samples_free(struct samples *s)
{
	if (!s)
		return;
	while (s->processes)
		samples_remove_process(s, s->processes);
	for (size_t i = 0; i < SAMPLERS; i++) {
		sample_file_close(&s->reader, &s->file[i]);
		if (sample_table[i]->close)
			sample_table[i]->close(s->self[i], &s->reader);
	}
	sample_file_close(&s->reader, &s->mounts_file);
	sample_reader_done(&s->reader);
	sample_mounts_done(&s->mounts);
	buf_done(&s->values);
	free(s->run);
	free(s->exec);
	free(s->root);
	free(s);
}

/* ---- what is on the node ------------------------------------------------------------------- */

static size_t room_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static char *put_text(char **at, const char *text)
{
	char *ret = *at;
	if (!text)
		return NULL;
	size_t n = strlen(text) + 1;
	memcpy(ret, text, n);
	*at += n;
	return ret;
}

int samples_add_process(struct samples *s, const struct sample_who *who, struct sampled **ret,
			struct err *err)
{
	static const char scope[] = "process:";
	size_t head = sizeof scope - 1;
	char *text = malloc(head + room_of(who->stream) + room_of(who->run) + room_of(who->exec));
	struct sampled *p = calloc(1, sizeof *p);
	if (!text || !p) {
		free(text);
		free(p);
		return err_set(err, -ENOMEM, "out of memory");
	}
	char *at = text + head;
	memcpy(text, scope, head);
	(void)put_text(&at, who->stream);
	*p = (struct sampled){
		.scope = text,
		.run = put_text(&at, who->run),
		.exec = put_text(&at, who->exec),
		.pid = who->pid,
		.start_ticks = who->start_ticks,
		.stat = SAMPLE_FILE,
		.io = SAMPLE_FILE,
		.next = s->processes,
		.since = s->share,
		.quick = { (double)NAN }, /* like no other: nothing has been seen yet */
		.quiet_s = s->quiet_s,
	};
	if (p->next)
		p->next->prev = p;
	s->processes = p;
	s->followed++;
	*ret = p;
	return 0;
}

void sample_let_go(struct samples *s, struct sampled *p)
{
	if (p->gone)
		return;
	p->gone = true;
	s->followed--;
	s->failing -= p->fails;
	s->io_failing -= p->io_fails;
	sample_file_close(&s->reader, &p->stat);
	sample_file_close(&s->reader, &p->io);
	sample_group_leave(&s->groups, p->group, &s->reader);
	sample_group_leave(&s->groups, p->job, &s->reader);
	p->group = p->job = NULL;
}

void samples_remove_process(struct samples *s, struct sampled *p)
{
	if (!p)
		return;
	sample_let_go(s, p);
	if (p->prev)
		p->prev->next = p->next;
	else
		s->processes = p->next;
	if (p->next)
		p->next->prev = p->prev;
	free(p->scope);
	free(p);
}

int samples_set_run(struct samples *s, bool busy, const char *run, const char *exec,
		    struct err *err)
{
	char *new_run = run ? strdup(run) : NULL, *new_exec = exec ? strdup(exec) : NULL;
	if ((run && !new_run) || (exec && !new_exec)) {
		free(new_run);
		free(new_exec);
		return err_set(err, -ENOMEM, "out of memory");
	}
	free(s->run);
	free(s->exec);
	s->run = new_run;
	s->exec = new_exec;
	s->busy = busy;
	return 0;
}

void samples_quiet(struct samples *s, bool quiet, uint64_t mono_ns)
{
	if (quiet == s->quiet)
		return;
	if (quiet)
		s->quiet_since_ns = mono_ns;
	else if (mono_ns > s->quiet_since_ns)
		s->quiet_s += (double)(mono_ns - s->quiet_since_ns) / 1e9;
	s->quiet = quiet;
}

/* ---- when ---------------------------------------------------------------------------------- */

static bool processes_wanted(const struct samples *s)
{
	return !s->quiet && s->processes_too && s->followed;
}

static bool node_wanted(const struct samples *s)
{
	bool something = s->any_on || (s->groups_too && s->followed);
	return !s->quiet && something && (s->when_idle || s->busy || s->followed);
}

/* The instant that real_ns belongs to; before 1970 it is the same one. */
static int64_t slot_of(int64_t real_ns, uint64_t period_ns)
{
	return real_ns / (int64_t)period_ns;
}

static int64_t after(int64_t real_ns, uint64_t period_ns)
{
	return (slot_of(real_ns, period_ns) + 1) * (int64_t)period_ns;
}

int64_t samples_next(const struct samples *s, int64_t real_ns)
{
	int64_t node = node_wanted(s) ? after(real_ns, s->node_period_ns) : SAMPLE_NEVER;
	int64_t process = processes_wanted(s) ? after(real_ns, s->process_period_ns) : SAMPLE_NEVER;
	return node < process ? node : process;
}

/* ---- ... all of it ---- */

static double thread_cpu_s(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void cost_add(struct sample_cost *to, struct sample_cost c, double divided_by)
{
	to->cpu_s += c.cpu_s / divided_by;
	to->wakeups += c.wakeups / divided_by;
	to->bytes += c.bytes / divided_by;
}

unsigned samples_take(struct samples *s, struct sample_time now, samples_put *put, void *arg)
{
	struct sample_pass pass = { .s = s, .now = now, .put = put, .arg = arg };
	int64_t node = slot_of(now.real_ns, s->node_period_ns);
	int64_t process = slot_of(now.real_ns, s->process_period_ns);
	/* Another instant, not a later one: a clock that was put back must not stop all. */
	bool node_due = node_wanted(s) && node != s->node_slot;
	bool process_due = processes_wanted(s) && process != s->process_slot;
	if (!node_due && !process_due)
		return 0;
	double begin_s = thread_cpu_s(), begin_bytes = s->reader.bytes;
	unsigned followed = s->followed;
	s->reader.mono_ns = now.mono_ns;
	if (process_due) {
		int64_t second = slot_of(now.real_ns, SAMPLE_SECOND_NS);
		pass.full = second != s->full_slot;
		s->full_slot = second;
		s->process_slot = process;
		sample_take_processes(&pass);
	}
	if (node_due) {
		s->node_slot = node;
		sample_take_groups(&pass);
		sample_take_node(&pass);
	}
	struct sample_cost c = { .cpu_s = thread_cpu_s() - begin_s,
				 .wakeups = 1,
				 .bytes = s->reader.bytes - begin_bytes };
	cost_add(&s->all, c, 1);
	if (followed)
		cost_add(&s->share, c, followed);
	for (struct sampled *p = pass.went ? s->processes : NULL; p; p = p->next) {
		if (!p->gone || p->final)
			continue;
		p->cost = samples_cost(s, p);
		p->final = true;
	}
	return pass.frames;
}

struct sample_cost samples_cost(const struct samples *s, const struct sampled *p)
{
	if (p->final)
		return p->cost;
	return (struct sample_cost){ .cpu_s = s->share.cpu_s - p->since.cpu_s,
				     .wakeups = s->share.wakeups - p->since.wakeups,
				     .bytes = s->share.bytes - p->since.bytes };
}

struct sample_cost samples_cost_all(const struct samples *s)
{
	return s->all;
}

/* ---- troubles ---- */

static void tell_trouble(const struct sample_trouble *t, void (*each)(void *arg, const char *text),
			 void *arg)
{
	char text[256];
	if (!t->failures)
		return;
	(void)snprintf(text, sizeof text, "%s: %s", t->name, t->text);
	each(arg, text);
}

void samples_each_trouble(const struct samples *s, void (*each)(void *arg, const char *text),
			  void *arg)
{
	tell_trouble(&s->process_trouble, each, arg);
	tell_trouble(&s->io_trouble, each, arg);
	for (size_t i = 0; i < SAMPLERS; i++)
		tell_trouble(&s->trouble[i], each, arg);
}
