/* One pass: reads what is due and hands out a frame for each thing that was read. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/log.h"

#define LASTING 3 /* failures in a row: a passing one is not worth a line */

const struct sampler *const sample_table[SAMPLERS] = {
	&sample_stat,        &sample_meminfo,      &sample_loadavg,
	&sample_vmstat,      &sample_pressure_cpu, &sample_pressure_memory,
	&sample_pressure_io, &sample_disks,        &sample_net,
	&sample_nfs,         &sample_lustre,
};

/* ---- troubles ------------------------------------------------------------------------------ */

static void trouble_begins(struct sample_trouble *t, const struct err *err)
{
	(void)snprintf(t->text, sizeof t->text, "%.190s", err->text);
	t->failures++;
	if (t->told || t->failures < LASTING)
		return;
	t->told = true;
	log_warn("sampler %s: %s; what it would tell is unknown, it is asked less and less often",
		 t->name, t->text);
}

static void trouble_ends(struct sample_trouble *t)
{
	if (t->told)
		log_info("sampler %s: works again after %u failure%s", t->name, t->failures,
			 t->failures == 1 ? "" : "s");
	t->failures = 0;
	t->told = false;
}

/* ---- frames ---- */

static void put_frame(struct sample_pass *p, const char *scope, const char *run, const char *exec)
{
	struct frame f;
	frame_clear(&f, FRAME_CONTEXT);
	f.as.context = (struct frame_context){
		.real_ns = p->now.real_ns,
		.mono_ns = (int64_t)p->now.mono_ns,
		.scope = str_of(scope),
		.run = str_of(run),
		.exec = str_of(exec),
		.values = batch_list(&p->s->values),
	};
	if (!p->s->values.failed) { /* no memory: nothing rather than a part */
		p->put(p->arg, &f);
		p->frames++;
	}
}

static void begin_values(struct samples *s)
{
	if (s->values.failed)
		buf_done(&s->values);
	s->values.failed = false;
	s->values.len = 0;
}

static void put_values(struct samples *s, const struct text_key *keys, size_t n,
		       const double *values)
{
	for (size_t i = 0; i < n; i++)
		sample_put_value(&s->values, keys[i].name, values[i]);
}

/* What has been quiet since the last frame of this one. */
static void put_quiet(struct samples *s, double *told_s)
{
	if (s->quiet_s > *told_s)
		sample_put_value(&s->values, "quiet_s", s->quiet_s - *told_s);
	*told_s = s->quiet_s;
}

/* ---- ... processes ---- */

/* A trouble with processes lasts while one of them has it. */
static void note(struct sample_trouble *t, unsigned *failing, bool *fails, int rc, struct err *err)
{
	if (rc == -EAGAIN)
		return;
	bool now = rc && !sample_absent(rc);
	*failing = *failing - *fails + now;
	*fails = now;
	if (now && (rc == -EACCES || rc == -EPERM))
		(void)err_wrap(err, rc, "another user's process (needs CAP_SYS_PTRACE)");
	if (now)
		trouble_begins(t, err);
	else if (!*failing)
		trouble_ends(t);
}

static void take_process(struct sample_pass *pass, struct sampled *p)
{
	struct samples *s = pass->s;
	double values[PROCESS_VALUES];
	struct err err;
	bool full = pass->full;
	err.text[0] = 0; /* not the kilobyte behind it, for each of them */
	int io_rc, rc = sample_process_read(p, &s->reader, &full, values, &io_rc, &err);
	if (rc == -ESRCH) {
		sample_let_go(s, p);
		pass->went = true;
		return;
	}
	note(&s->process_trouble, &s->failing, &p->fails, rc, &err);
	if (rc)
		return;
	note(&s->io_trouble, &s->io_failing, &p->io_fails, io_rc, &err);
	begin_values(s);
	put_values(s, sample_process_keys, full ? PROCESS_VALUES : PROCESS_QUICK, values);
	put_quiet(s, &p->quiet_s);
	put_frame(pass, p->scope, p->run, p->exec);
}

void sample_take_processes(struct sample_pass *pass)
{
	for (struct sampled *p = pass->s->processes; p; p = p->next)
		if (!p->gone)
			take_process(pass, p);
}

/* ---- ... groups ---- */

static int read_mounts(struct samples *s)
{
	struct str text;
	if (s->mounts.known)
		return 0;
	int rc = sample_read(&s->reader, &s->mounts_file, "/proc/self/mountinfo", SAMPLE_PIECES,
			     &text, NULL);
	if (!rc)
		rc = sample_mounts_read(&s->mounts, text);
	if (!rc)
		sample_file_close(&s->reader, &s->mounts_file);
	return rc;
}

/* Find its groups, once: a process is in its place before it runs its program. */
static void place(struct samples *s, struct sampled *p)
{
	char path[64];
	struct sample_file f = SAMPLE_FILE;
	struct str text;
	if (p->placed || !s->groups_too || read_mounts(s))
		return;
	(void)snprintf(path, sizeof path, "/proc/%ld/cgroup", (long)p->pid);
	p->placed = true;
	int rc = sample_read(&s->reader, &f, path, SAMPLE_PIECES, &text, NULL);
	if (!rc && sample_group_join(&s->groups, &s->mounts, text, &p->group, &p->job)) {
		p->placed = false; /* no memory: again at the next sample */
		sample_group_leave(&s->groups, p->group, &s->reader);
		p->group = NULL;
	}
	sample_file_close(&s->reader, &f);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* A group is of the run that all of its processes are of. */
static void run_of_group(struct sample_group *g, const struct sampled *p)
{
	if (!g)
		return;
	if (!g->first)
		g->first = p;
	else if (!same_text(g->first->run, p->run) || !same_text(g->first->exec, p->exec))
		g->mixed = true;
}

void sample_take_groups(struct sample_pass *pass)
{
	struct samples *s = pass->s;
	double values[GROUP_VALUES];
	for (struct sample_group *g = s->groups; g; g = g->next) {
		g->first = NULL;
		g->mixed = false;
	}
	for (struct sampled *p = s->processes; p; p = p->next) {
		if (!p->gone)
			place(s, p);
		run_of_group(p->group, p);
		run_of_group(p->job, p);
	}
	for (struct sample_group *g = s->groups; g; g = g->next) {
		const struct sampled *of = g->mixed ? NULL : g->first;
		sample_group_read(g, &s->reader, values);
		begin_values(s);
		put_values(s, sample_group_keys, GROUP_VALUES, values);
		put_quiet(s, &g->quiet_s);
		put_frame(pass, g->scope, of ? of->run : NULL, of ? of->exec : NULL);
		if (g->job_scope)
			put_frame(pass, g->job_scope, of ? of->run : NULL, of ? of->exec : NULL);
	}
}

/* ---- ... the node ---- */

static int run_sampler(struct samples *s, size_t i, double *values, struct err *err)
{
	const struct sampler *m = sample_table[i];
	struct str text;
	if (m->open && !s->self[i] && m->open(&s->self[i], s->root))
		return err_set(err, -ENOMEM, "out of memory");
	if (m->take)
		return m->take(s->self[i], &s->reader, values, &s->values, err);
	int rc = sample_read(&s->reader, &s->file[i], m->path, m->whole, &text, err);
	if (!rc && m->parse)
		m->parse(s->self[i], text, values, &s->values);
	else if (!rc)
		text_keys(text, m->keys, m->n_keys, values);
	return rc;
}

static void take_sampler(struct samples *s, size_t i)
{
	const struct sampler *m = sample_table[i];
	double values[SAMPLE_MAX_VALUES];
	struct err err = { .text = "" };
	for (size_t k = 0; k < m->n_keys; k++)
		values[k] = (double)NAN;
	int rc = run_sampler(s, i, values, &err);
	if (rc && rc != -EAGAIN && !(m->optional && sample_absent(rc)))
		trouble_begins(&s->trouble[i], &err);
	else if (rc != -EAGAIN)
		trouble_ends(&s->trouble[i]);
	put_values(s, m->keys, m->n_keys, values);
}

void sample_take_node(struct sample_pass *pass)
{
	struct samples *s = pass->s;
	if (!s->any_on)
		return;
	begin_values(s);
	for (size_t i = 0; i < SAMPLERS; i++)
		if (s->on[i])
			take_sampler(s, i);
	put_quiet(s, &s->node_quiet_s);
	put_frame(pass, "node", s->run, s->exec);
}
