#include "agent/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/roilog.h"

struct str frame_run(const struct frame *f)
{
	switch (f->type) {
	case FRAME_RUN_ANNOUNCE:
		return f->as.run_announce.run;
	case FRAME_EXECUTION_START:
		return f->as.execution_start.run;
	case FRAME_EXECUTION_END:
		return f->as.execution_end.run;
	case FRAME_PROCESS:
		return f->as.process.run;
	case FRAME_PICTURE:
		return f->as.picture.run;
	case FRAME_RUN_END:
		return f->as.run_end.run;
	default:
		return (struct str){ .p = NULL };
	}
}

struct str frame_exec(const struct frame *f)
{
	switch (f->type) {
	case FRAME_EXECUTION_START:
		return f->as.execution_start.exec;
	case FRAME_EXECUTION_END:
		return f->as.execution_end.exec;
	case FRAME_PROCESS:
		return f->as.process.exec;
	case FRAME_PICTURE:
		return f->as.picture.exec;
	default:
		return (struct str){ .p = NULL };
	}
}

static struct run_info **find(struct runs *r, struct str run)
{
	struct run_info **at = &r->first;
	while (*at && (strlen((*at)->run) != run.n || memcmp((*at)->run, run.p, run.n) != 0))
		at = &(*at)->next;
	return at;
}

static void copy(char to[128], struct str from)
{
	(void)snprintf(to, 128, "%.*s", (int)(from.n < 127 ? from.n : 127), from.p ? from.p : "");
}

static struct run_info *add(struct runs *r, struct str run)
{
	struct run_info *i = r->n < RUNS_MAX ? calloc(1, sizeof *i) : NULL;
	if (!i)
		return NULL;
	copy(i->run, run);
	i->announced_real_ns = ROI_UNKNOWN;
	i->next = r->first;
	r->first = i;
	r->n++;
	return i;
}

static void drop(struct runs *r, struct run_info **at)
{
	struct run_info *i = *at;
	*at = i->next;
	free(i);
	r->n--;
}

static void note_announce(struct run_info *i, const struct frame_run_announce *f)
{
	struct str all = f->executions, one;
	copy(i->suite, f->suite);
	copy(i->app, f->app);
	copy(i->case_, f->case_);
	i->announced_real_ns = f->real_ns;
	i->executions = 0;
	while (batch_text_next(&all, &one))
		i->executions++;
}

void runs_note(struct runs *r, const struct frame *f, uid_t uid, const void *connection)
{
	struct str run = frame_run(f);
	struct run_info **at = find(r, run), *i = *at;
	if (f->type == FRAME_RUN_END) {
		if (i)
			drop(r, at);
		return;
	}
	if (!i && f->type == FRAME_RUN_ANNOUNCE)
		i = add(r, run);
	if (!i)
		return; /* a late word about a run that is over */
	i->uid = uid;
	i->connection = connection;
	if (f->type == FRAME_RUN_ANNOUNCE)
		note_announce(i, &f->as.run_announce);
	if (f->type == FRAME_EXECUTION_START)
		copy(i->exec, f->as.execution_start.exec);
	if (f->type == FRAME_EXECUTION_END) {
		i->ended++;
		i->exec[0] = 0;
	}
}

void runs_hangup(struct runs *r, const void *connection)
{
	for (struct run_info *i = r->first; i; i = i->next)
		if (i->connection == connection)
			i->connection = NULL;
}

void runs_recall(struct runs *r, const char *run, uid_t uid, int64_t announced_real_ns)
{
	struct run_info *i = add(r, str_of(run));
	if (!i)
		return;
	i->uid = uid;
	i->announced_real_ns = announced_real_ns;
	i->recalled = true;
}

void runs_remove(struct runs *r, const char *run)
{
	struct run_info **at = find(r, str_of(run));
	if (*at)
		drop(r, at);
}

void runs_done(struct runs *r)
{
	while (r->first)
		drop(r, &r->first);
}
