/* Records of processes that nobody announced: who they are, in the words of their logs. */
#define _GNU_SOURCE
#include "daemon/ambient.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "core/carry.h"
#include "lib/num.h"
#include "lib/version.h"
#include "schema/codec.h"
#include "schema/runid.h"

/* What the log of one process tells of it. */
struct process {
	const struct part_log *log;
	const char *stream, *parent, *rank, *exe, *cwd, *host;
	struct txts argv;
	int64_t begin_real;
	size_t launch;
};

struct group {
	const struct parts *p;
	struct store *s;
	struct part_loader loader;
	struct arena arena;
	struct process *all, **by_stream; /* by_stream: of the same, to find them */
	size_t n, launches;
	double world; /* processes of a launch; NAN unknown */
	struct observed *seen;
	struct roi_logs *logs; /* of each launch */
	size_t n_logs;
	int64_t wants_node;
};

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory while a record is made");
}

/* ---- is it all? ------------------------------------------------------------------------------ */

static double world_of(const struct parts *p)
{
	double world = NAN;
	for (size_t i = 0; i < p->n_logs; i++)
		if (!(world >= p->logs[i].said.world) && known(p->logs[i].said.world))
			world = p->logs[i].said.world;
	return world;
}

bool ambient_over(const struct parts *p)
{
	for (size_t i = 0; i < p->n_logs; i++)
		if (!p->logs[i].row.final)
			return false;
	return p->n_logs > 0;
}

bool ambient_complete(const struct parts *p)
{
	double world = world_of(p);
	/* Without a group a process is alone. */
	bool alone = p->n_logs == 1 && (!p->logs[0].said.group.p || world == 1);
	if (!ambient_over(p) || alone)
		return alone && ambient_over(p);
	return world > 0 && fmod((double)p->n_logs, world) == 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static char *copy(struct group *g, const char *text)
{
	return arena_strdup(&g->arena, text ? text : "");
}

static int copy_argv(struct group *g, struct txts *to, const struct txts *from)
{
	to->items = arena_array(&g->arena, from->n + 1, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	for (to->n = 0; to->n < from->n; to->n++) {
		to->items[to->n] = copy(g, from->items[to->n]);
		if (!to->items[to->n])
			return -ENOMEM;
	}
	return 0;
}

static int describe(struct group *g, struct process *to, const struct roi_log *log)
{
	to->parent = copy(g, log->parent);
	to->exe = copy(g, log->exe);
	to->cwd = copy(g, log->cwd);
	to->host = copy(g, log->host);
	if (log->rank && strcmp(log->rank, "-") != 0)
		to->rank = copy(g, log->rank);
	to->begin_real = log->first_begin_real;
	return to->parent && to->exe && to->cwd && to->host && to->rank
		       ? copy_argv(g, &to->argv, &log->argv)
		       : -ENOMEM;
}

/* What is no log still is a process that was heard of. */
static int look_into(struct group *g, struct process *to, const struct part_log *log,
		     struct err *err)
{
	struct roi_logs logs = { .n = 0 };
	struct buf *b = &g->loader.bytes;
	*to = (struct process){ .log = log,
				.stream = log->row.stream,
				.parent = "",
				.exe = "",
				.cwd = "",
				.begin_real = ROI_UNKNOWN };
	char *rank = arena_str(&g->arena, log->said.rank),
	     *host = arena_str(&g->arena, log->said.host);
	if ((log->said.rank.p && !rank) || (log->said.host.p && !host))
		return no_memory(err);
	to->rank = rank ? rank : "";
	to->host = host ? host : "";
	if (log->row.snapshot < 0)
		return 0;
	int rc = inbox_get_log_bytes(g->s, log->row.id, b, err);
	if (rc)
		return rc;
	rc = roilog_parse(&logs, "a log", b->len ? b->data : "", b->len, NULL);
	if (!rc && logs.n)
		rc = describe(g, to, logs.items[0]);
	roilogs_done(&logs);
	return rc == -ENOMEM ? no_memory(err) : 0;
}

static int64_t begin_of(const struct process *p)
{
	return p->begin_real == ROI_UNKNOWN ? INT64_MAX : p->begin_real;
}

static int by_begin(const struct process *a, const struct process *b)
{
	if (begin_of(a) != begin_of(b))
		return begin_of(a) < begin_of(b) ? -1 : 1;
	int hosts = strcmp(a->host, b->host);
	return hosts ? hosts : strcmp(a->stream, b->stream);
}

static int by_rank(const void *x, const void *y)
{
	const struct process *a = x, *b = y;
	int lengths = (int)strlen(a->rank) - (int)strlen(b->rank);
	int ranks = lengths ? lengths : strcmp(a->rank, b->rank);
	return ranks ? ranks : by_begin(a, b);
}

static int by_launch(const void *x, const void *y)
{
	const struct process *a = x, *b = y;
	if (a->launch != b->launch)
		return a->launch < b->launch ? -1 : 1;
	return by_begin(a, b);
}

static int by_stream(const void *x, const void *y)
{
	const struct process *a = *(struct process *const *)x, *b = *(struct process *const *)y;
	return strcmp(a->stream, b->stream);
}

static void sort(struct group *g, int (*compare)(const void *x, const void *y))
{
	qsort(g->all, g->n, sizeof *g->all, compare);
	for (size_t i = 0; i < g->n; i++)
		g->by_stream[i] = &g->all[i];
	qsort(g->by_stream, g->n, sizeof *g->by_stream, by_stream);
}

static struct process *parent_of(const struct group *g, const struct process *p)
{
	const struct process wanted = { .stream = p->parent }, *key = &wanted;
	if (!*p->parent)
		return NULL;
	struct process **found = bsearch(&key, g->by_stream, g->n, sizeof *g->by_stream, by_stream);
	return found && *found != p ? *found : NULL;
}

/* The same rank once more is the next launch; what a process forked is of its own. */
static void find_launches(struct group *g)
{
	const char *rank = NULL;
	size_t launch = 0;
	sort(g, by_rank);
	for (size_t i = 0; i < g->n; i++) {
		struct process *p = &g->all[i];
		if (parent_of(g, p))
			continue;
		launch = rank && *rank && !strcmp(rank, p->rank) ? launch + 1 : 0;
		rank = p->rank;
		p->launch = launch;
		g->launches = launch + 1 > g->launches ? launch + 1 : g->launches;
	}
	for (size_t i = 0; i < g->n; i++) {
		const struct process *up = &g->all[i], *next;
		for (int depth = 0; depth < 16 && (next = parent_of(g, up)); depth++)
			up = next;
		g->all[i].launch = up->launch;
	}
	g->launches = g->launches ? g->launches : 1;
	sort(g, by_launch);
}

static int load_processes(struct group *g, struct err *err)
{
	g->n = g->p->n_logs;
	g->all = arena_array(&g->arena, g->n + 1, sizeof *g->all);
	g->by_stream = arena_array(&g->arena, g->n + 1, sizeof *g->by_stream);
	if (!g->all || !g->by_stream)
		return no_memory(err);
	int rc = 0;
	for (size_t i = 0; i < g->n && !rc; i++)
		rc = look_into(g, &g->all[i], &g->p->logs[i], err);
	if (rc)
		return rc;
	g->world = world_of(g->p);
	find_launches(g);
	return 0;
}

/* ---- executions ------------------------------------------------------------------------------ */

static int see_end(struct group *g, struct observed *seen, const struct process *list, size_t n)
{
	size_t killed = 0, unseen = 0;
	for (size_t i = 0; i < n; i++) {
		const struct part_log *log = list[i].log;
		killed += log->said.killed == YES;
		unseen += !log->row.final;
	}
	seen->end = unseen ? END_INTERRUPTED : END_EXITED;
	if (unseen)
		seen->row.why = arena_printf(&g->arena,
					     "was followed until now: the end of %zu of "
					     "its processes was not seen",
					     unseen);
	else if (killed)
		seen->row.why = arena_printf(&g->arena,
					     "%zu of its processes left without coming to their "
					     "exit handlers",
					     killed);
	else
		seen->row.exit_code = 0; /* for assemble(); see forget_exit_codes */
	return (unseen || killed) && !seen->row.why ? -ENOMEM : 0;
}

/* *at: where its processes begin; then, where those of the next one do. */
static int see(struct group *g, size_t launch, size_t *at, struct err *err)
{
	struct observed *seen = &g->seen[launch];
	struct carried_log *list;
	size_t n = 0, first = *at;
	while (first + n < g->n && g->all[first + n].launch == launch)
		n++;
	*at += n;
	struct part_log *mine = arena_array(&g->arena, n + 1, sizeof *mine);
	*seen = (struct observed){ .start_real_ns = ROI_UNKNOWN, .end_real_ns = ROI_UNKNOWN };
	seen->fom.value = seen->own_timer.value = NAN;
	block_clear(&execution_block, &seen->row);
	seen->row.name = arena_printf(&g->arena, "clean.%zu", launch);
	seen->row.order = (double)launch;
	if (!mine || !seen->row.name || see_end(g, seen, &g->all[first], n))
		return no_memory(err);
	for (size_t i = 0; i < n; i++)
		mine[i] = *g->all[first + i].log;
	int rc = parts_carry(&g->arena, &g->loader, mine, n, &list, &n, err);
	g->n_logs = launch + 1;
	return rc ? rc : observed_logs(seen, &g->logs[launch], &g->arena, list, n, err);
}

static int see_all(struct group *g, struct err *err)
{
	g->seen = arena_array(&g->arena, g->launches, sizeof *g->seen);
	g->logs = arena_array(&g->arena, g->launches, sizeof *g->logs);
	if (!g->seen || !g->logs)
		return no_memory(err);
	int rc = 0;
	size_t at = 0;
	for (size_t i = 0; i < g->launches && !rc; i++)
		rc = see(g, i, &at, err);
	return rc;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* The first to begin of rank 0, or of whatever there is. */
static const struct process *lead(const struct group *g)
{
	const struct process *best = &g->all[0];
	for (size_t i = 1; i < g->n; i++) {
		bool zero = !strcmp(g->all[i].rank, "0"), best_zero = !strcmp(best->rank, "0");
		if (zero != best_zero ? zero : by_begin(&g->all[i], best) < 0)
			best = &g->all[i];
	}
	return best;
}

/* A name as records have them. */
static const char *name_of(struct record *rec, const char *text)
{
	const char *slash = strrchr(text, '/');
	text = slash ? slash + 1 : text;
	char *name = arena_strndup(&rec->arena, text, strnlen(text, 128));
	for (char *c = name; c && *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-",
			    *c))
			*c = '_';
	return name && !*name ? "unknown" : name;
}

static const char *case_of(struct record *rec, const struct process *p, double world)
{
	XXH64_hash_t h = XXH3_64bits(&(uint64_t){ known(world) ? (uint64_t)world : 0 }, 8);
	for (size_t i = 1; i < p->argv.n; i++)
		h = XXH3_64bits_withSeed(p->argv.items[i], strlen(p->argv.items[i]), h);
	return arena_printf(&rec->arena, "args-%08x", (unsigned)(uint32_t)h);
}

static int64_t earliest(const struct group *g)
{
	int64_t begin = INT64_MAX, looked = INT64_MAX;
	for (size_t i = 0; i < g->n; i++) {
		int64_t at = g->all[i].log->said.real_ns;
		begin = begin_of(&g->all[i]) < begin ? begin_of(&g->all[i]) : begin;
		looked = at != ROI_UNKNOWN && at < looked ? at : looked;
	}
	return begin != INT64_MAX ? begin : looked != INT64_MAX ? looked : 0;
}

static int put_times(struct group *g, struct record *rec, unsigned again)
{
	char text[64];
	int64_t at = earliest(g), second = at / 1000000000;
	struct tm tm;
	time_t seconds = (time_t)second;
	XXH64_hash_t h = XXH3_64bits_withSeed(g->p->run, strlen(g->p->run), again);
	char *id = arena_alloc(&rec->arena, RUNID_BYTES);
	if (!id)
		return -ENOMEM;
	if (at < 0 || second > UINT32_MAX)
		return -EBADMSG;
	rec->body.run_id = runid_make(id, second, at % 1000000000, (uint32_t)h);
	if (!gmtime_r(&seconds, &tm))
		return -EBADMSG;
	(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	rec->body.utc = arena_strdup(&rec->arena, text);
	return rec->body.utc ? 0 : -ENOMEM;
}

static const char *record_str(struct record *rec, struct str text)
{
	return text.p ? record_text(rec, text.p, text.n) : NULL;
}

/* What the agent of the leading process told of its node. */
static int put_platform(struct group *g, const struct process *first, struct record *rec,
			struct err *err)
{
	struct record_body *b = &rec->body;
	struct str bytes;
	struct frame f;
	b->platform = "unknown";
	int rc = inbox_get_node(g->s, first->log->row.spool, &g->arena, &bytes, err);
	g->wants_node = bytes.p ? 0 : first->log->row.spool;
	if (rc || !bytes.p)
		return rc;
	if (frame_get(&f, bytes, NULL) || f.type != FRAME_NODE)
		return err_set(err, -EUCLEAN, "the frame of a node in the inbox is damaged");
	const char *platform = record_str(rec, f.as.node.platform);
	if (f.as.node.platform.p && !platform)
		return no_memory(err);
	if (platform && *platform)
		b->platform = name_of(rec, platform);
	struct str info = f.as.node.info;
	rc = info.p ? block_get(&rec->arena, &platform_info_block, &b->platform_info, info.p,
				info.n, err)
		    : 0;
	if (rc == -EBADMSG) { /* its name still stands */
		block_clear(&platform_info_block, &b->platform_info);
		rc = 0;
	}
	return rc || b->platform ? rc : no_memory(err);
}

static int put_inputs(const struct group *g, const struct process *first, struct record *rec)
{
	struct inputs *in = &rec->body.inputs;
	in->argv.items = arena_array(&rec->arena, first->argv.n + 1, sizeof *in->argv.items);
	if (!in->argv.items)
		return -ENOMEM;
	for (; in->argv.n < first->argv.n; in->argv.n++) {
		const char *text = first->argv.items[in->argv.n];
		in->argv.items[in->argv.n] = record_text(rec, text, strlen(text));
		if (!in->argv.items[in->argv.n])
			return -ENOMEM;
	}
	in->ranks = g->world;
	in->cwd = *first->cwd ? record_text(rec, first->cwd, strlen(first->cwd)) : NULL;
	return *first->cwd && !in->cwd ? -ENOMEM : 0;
}

static int put_identity(struct group *g, unsigned again, struct record *rec, struct err *err)
{
	struct record_body *b = &rec->body;
	struct measurement *m = &b->measurement;
	const struct process *first = lead(g);
	b->suite = "ambient";
	b->kind = "ambient";
	b->app = name_of(rec, first->exe);
	b->case_ = case_of(rec, first, g->world);
	m->tool = "roimeterd " ROIMETER_VERSION_TEXT;
	m->cleans_asked = (double)g->launches;
	m->order = "sequential";
	m->collector = "none";
	m->region = "markers";
	m->profile_reason = "it was not started by roimeter";
	b->provenance.job = record_str(rec, first->log->said.job);
	int rc = b->app && b->case_ ? put_times(g, rec, again) : -ENOMEM;
	if (rc == -EBADMSG)
		return err_set(err, rc, "%s: its clock is not in the years 1970 to 2105",
			       g->p->run);
	if (!rc)
		rc = put_inputs(g, first, rec);
	return rc ? no_memory(err) : put_platform(g, first, rec, err);
}

static int add_distinct(struct record *rec, struct txts *t, const char *text)
{
	if (!text)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->items[i], text))
			return 0;
	size_t cap = t->n;
	const char **items = arena_grow(&rec->arena, t->items, &cap, t->n + 1, sizeof *items);
	if (!items)
		return -ENOMEM;
	t->items = items;
	t->items[t->n] = record_text(rec, text, strlen(text));
	return t->items[t->n++] ? 0 : -ENOMEM;
}

static int put_placement(const struct group *g, struct record *rec)
{
	struct placement *p = &rec->body.placement;
	for (size_t i = 0; i < g->launches; i++)
		for (size_t k = 0; k < g->seen[i].n_logs; k++) {
			const struct observed *seen = &g->seen[i];
			if (add_distinct(rec, &p->cpus, seen->rank_cpus[k]) ||
			    add_distinct(rec, &p->mems, seen->logs[k]->mems))
				return -ENOMEM;
			p->threads_max = fmax(p->threads_max, seen->rank_threads[k]);
		}
	if (p->cpus.n)
		p->consistent = p->cpus.n == 1 ? YES : NO;
	return 0;
}

/* ---- what is not known ----------------------------------------------------------------------- */

static void forget_exit_codes(struct record *rec)
{
	for (size_t i = 0; i < rec->body.executions.n; i++)
		rec->body.executions.items[i].exit_code = NAN;
}

static int put_missing(const struct group *g, struct record *rec)
{
	int rc = 0;
	size_t k = 0;
	for (size_t i = 0; i < g->launches && !rc; i++) {
		double here = 0;
		for (; k < g->n && g->all[k].launch == i; k++)
			here += !parent_of(g, &g->all[k]);
		if (g->world > here)
			rc = record_caveat(rec, "ranks_missing",
					   "Of %.0f processes of clean.%zu, %.0f never told of "
					   "their marks: the region's time may be too small.",
					   g->world, i, g->world - here);
	}
	return rc;
}

static int put_caveats(const struct group *g, struct record *rec, struct err *err)
{
	int rc = record_caveat(rec, "exit_unknown",
			       "Recorded beside a program that somebody else started: how it ended "
			       "is not known.");
	if (!rc)
		rc = put_missing(g, rec);
	if (rc)
		return no_memory(err);
	rc = parts_losses(g->p, g->s, rec, err);
	return rc ? rc : record_explain_nulls(rec) ? no_memory(err) : 0;
}

static int make(struct group *g, unsigned again, struct record *rec, struct err *err)
{
	int rc = load_processes(g, err);
	if (!rc)
		rc = see_all(g, err);
	if (!rc)
		rc = put_identity(g, again, rec, err);
	if (!rc && put_placement(g, rec))
		rc = no_memory(err);
	const struct run_close close = { .complete = true,
					 .planned = (double)g->launches,
					 .begun_real_ns = ROI_UNKNOWN };
	if (!rc)
		rc = record_finish(rec, g->seen, g->launches, &close, err);
	if (rc)
		return rc;
	forget_exit_codes(rec);
	parts_cost(g->p, &rec->body.observer);
	return put_caveats(g, rec, err);
}

int ambient_record(const struct parts *p, struct store *s, unsigned again, struct record *rec,
		   int64_t *ret_wants_node, struct err *err)
{
	struct group g = { .p = p, .s = s, .loader = { .s = s } };
	record_init(rec);
	int rc = p->n_logs ? make(&g, again, rec, err)
			   : err_set(err, -EBADMSG, "%s: nothing is known of it", p->run);
	*ret_wants_node = g.wants_node;
	for (size_t i = 0; i < g.n_logs; i++)
		roilogs_done(&g.logs[i]);
	buf_done(&g.loader.bytes);
	arena_free(&g.arena);
	return rc;
}

/* ---- in progress ----------------------------------------------------------------------------- */

static const struct part_log *to_read(const struct parts *p)
{
	const struct part_log *best = NULL;
	for (size_t i = 0; i < p->n_logs; i++) {
		const struct part_log *log = &p->logs[i];
		if (log->row.snapshot < 0)
			continue;
		if (log->said.rank.n == 1 && *log->said.rank.p == '0')
			return log;
		best = best ? best : log;
	}
	return best;
}

static int put_name(struct group *g, const struct part_log *log, struct record *rec,
		    int64_t *ret_begin_ns, struct err *err)
{
	struct record_body *b = &rec->body;
	struct process lead;
	int rc = look_into(g, &lead, log, err);
	if (rc || !*lead.exe)
		return rc;
	b->app = name_of(rec, lead.exe);
	b->case_ = case_of(rec, &lead, world_of(g->p));
	*ret_begin_ns = lead.begin_real;
	rc = b->app && b->case_ ? put_platform(g, &lead, rec, err) : no_memory(err);
	if (g->wants_node)
		b->platform = NULL; /* it may come */
	return rc;
}

int ambient_name(const struct parts *p, struct store *s, struct record *rec, int64_t *ret_begin_ns,
		 struct err *err)
{
	struct group g = { .p = p, .s = s, .loader = { .s = s } };
	const struct part_log *log = to_read(p);
	record_init(rec);
	rec->body.suite = "ambient";
	*ret_begin_ns = ROI_UNKNOWN;
	int rc = log ? put_name(&g, log, rec, ret_begin_ns, err) : 0;
	buf_done(&g.loader.bytes);
	arena_free(&g.arena);
	return rc;
}
