/* An agent's status as a page of text. */
#define _GNU_SOURCE
#include "cli/agent_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/table.h"
#include "cli/words.h"
#include "lib/num.h"

#define INDENT "             "
#define CELL_BYTES 64

/* ---- values of an object ----------------------------------------------------------------------
 */

static double number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key)); /* NULL: no text */
}

static bool yes(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

/* Seconds from a time to the status; below 0: it is still to come. */
static double ago(const json_t *status, const json_t *o, const char *key)
{
	return (number(status, "real_ns") - number(o, key)) / 1e9;
}

static void line(struct buf *b, const char *head, const char *words)
{
	char first[32];
	(void)snprintf(first, sizeof first, "  %-10s ", head);
	words_wrapped(b, first, INDENT, words);
}

/* A size: "5.72 kB". */
static const char *size(char ret[32], const json_t *o, const char *key)
{
	double bytes = number(o, key);
	(void)num_si(ret, bytes);
	size_t n = strlen(ret);
	if (known(bytes))
		(void)snprintf(ret + n, 32 - n, "%sB",
			       n && ret[n - 1] >= '0' && ret[n - 1] <= '9' ? " " : "");
	return ret;
}

static const char *s(double n)
{
	return n == 1 ? "" : "s";
}

/* ---- the agent itself -------------------------------------------------------------------------
 */

static void put_head(struct buf *b, const json_t *o)
{
	char up[32];
	double pid = number(o, "pid");
	const char *host = text(o, "host"), *tool = text(o, "tool"), *id = text(o, "agent");
	struct buf words = { 0 };
	buf_printf(&words, "%s on %s", tool ? tool : "agent", host ? host : "this node");
	if (known(pid))
		buf_printf(&words, ", process %.0f", pid);
	if (known(ago(o, o, "start_real_ns")))
		buf_printf(&words, ", up %s", num_duration(up, ago(o, o, "start_real_ns")));
	words_wrapped(b, "", INDENT, words.data ? words.data : "");
	buf_done(&words);
	if (id)
		line(b, "id", id);
	if (text(o, "socket"))
		line(b, "socket", text(o, "socket"));
	if (yes(o, "quiet"))
		line(b, "quiet",
		     "a clean region is open on this node: no samples and no snapshots meanwhile");
}

static void put_failure(struct buf *words, const json_t *status, const json_t *post)
{
	char time[32];
	double failures = number(post, "failures"), next = -ago(status, post, "next_real_ns");
	const char *why = text(post, "failure");
	buf_printf(words, "; failing, %.0f time%s in a row: %s", failures, s(failures),
		   why ? why : "no reason is told");
	if (next > 0)
		buf_printf(words, "; next try in %s", num_duration(time, next));
	else if (known(next))
		buf_puts(words, "; it is trying now");
}

static void put_post(struct buf *b, const json_t *o)
{
	char time[32], bytes[32];
	const json_t *post = json_object_get(o, "post");
	const char *server = text(o, "server");
	double posts = number(post, "posts"), good = ago(o, post, "good_real_ns");
	struct buf words = { 0 };
	buf_puts(&words, server ? server : "no daemon: all is kept");
	if (number(post, "failures") > 0)
		put_failure(&words, o, post);
	if (known(good))
		buf_printf(&words, "; it took the last post %s ago", num_duration(time, good));
	else if (server && !(number(post, "failures") > 0))
		buf_puts(&words, "; nothing was sent yet");
	if (posts > 0)
		buf_printf(&words, ", %.0f post%s of %s since the agent's start", posts, s(posts),
			   size(bytes, post, "bytes"));
	line(b, "sends to", words.data ? words.data : "");
	buf_done(&words);
}

static void put_spool(struct buf *b, const json_t *o)
{
	char used[32], most[32], waiting[32];
	const json_t *spool = json_object_get(o, "spool");
	double acked = number(spool, "acked_seq"), next = number(spool, "next_seq");
	double left = next - 1 - acked, damaged = number(spool, "damaged");
	struct buf words = { 0 };
	if (!json_is_object(spool))
		return;
	buf_printf(&words, "%s of %s", size(used, spool, "bytes"), size(most, spool, "max_bytes"));
	if (text(spool, "folder"))
		buf_printf(&words, " in %s", text(spool, "folder"));
	if (left == 0 && !yes(spool, "full"))
		buf_printf(&words, "; all %.0f batch%s delivered", acked,
			   acked == 1 ? " is" : "es are");
	else if (left > 0)
		buf_printf(&words, "; %.0f batch%s not yet delivered (%.0f to %.0f)", left,
			   left == 1 ? " is" : "es are", acked + 1, next - 1);
	if (yes(spool, "full"))
		buf_printf(&words,
			   "; it is full, or its disk is: %s wait in memory, what is in logs waits "
			   "there, and it is tried again each second",
			   size(waiting, spool, "waiting_bytes"));
	if (damaged > 0)
		buf_printf(&words, "; %.0f could not be read back", damaged);
	line(b, "spool", words.data ? words.data : "");
	buf_done(&words);
}

static void put_cost(struct buf *b, const json_t *o)
{
	char cpu[32], memory[32], share[32];
	const json_t *cost = json_object_get(o, "cost");
	double up = ago(o, o, "start_real_ns"), cpu_s = number(cost, "cpu_s");
	struct buf words = { 0 };
	if (!known(cpu_s))
		return;
	buf_printf(&words, "%s of CPU time", num_duration(cpu, cpu_s));
	if (up > 0)
		buf_printf(&words, " (%s %% of one CPU)", words_percent(share, cpu_s / up));
	if (known(number(cost, "wakeups")))
		buf_printf(&words, ", %.0f wake-ups", number(cost, "wakeups"));
	buf_printf(&words, ", %s of memory", size(memory, cost, "rss_bytes"));
	line(b, "cost", words.data ? words.data : "");
	buf_done(&words);
}

static void put_losses(struct buf *b, const json_t *o)
{
	size_t i;
	const json_t *l;
	json_array_foreach(json_object_get(o, "losses"), i, l)
	{
		struct buf words = { 0 };
		const char *what = text(l, "what"), *why = text(l, "why");
		buf_printf(&words, "%s: %.0f, %s", what ? what : "something", number(l, "count"),
			   why ? why : "no reason is told");
		if (text(l, "run"))
			buf_printf(&words, ", run %s", text(l, "run"));
		if (text(l, "text"))
			buf_printf(&words, ": %s", text(l, "text"));
		line(b, "lost", words.data ? words.data : "");
		buf_done(&words);
	}
}

static void put_samplers(struct buf *b, const json_t *o)
{
	size_t i;
	const json_t *l;
	json_array_foreach(json_object_get(o, "samplers"), i, l)
	{
		struct buf words = { 0 };
		char time[32];
		double next = -ago(o, l, "next_real_ns");
		const char *name = text(l, "name"), *why = text(l, "failure");
		buf_printf(&words, "%s: %s", name ? name : "-", why ? why : "no reason is told");
		if (next > 0)
			buf_printf(&words, "; next try in %s", num_duration(time, next));
		line(b, "sampler", words.data ? words.data : "");
		buf_done(&words);
	}
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static void cell_number(struct text_table *t, const json_t *o, const char *key)
{
	double n = number(o, key);
	if (known(n))
		text_cellf(t, "%.0f", n);
	else
		text_cell(t, NULL);
}

static void put_table(struct buf *b, const char *what, size_t n, struct text_table *t)
{
	buf_printf(b, "\n%s: %zu\n", what, n);
	text_table_put(t, "  ", b);
}

static void put_runs(struct buf *b, const json_t *o)
{
	static const struct text_column columns[] = { { "run", false }, { "case", false },
						      { "user", true }, { "done", true },
						      { "of", true },   { "now", false },
						      { "for", true },  { "runner", false } };
	struct text_table t = { .columns = columns, .n_columns = 8, .drop_empty = true };
	const json_t *list = json_object_get(o, "runs"), *r;
	size_t i;
	json_array_foreach(list, i, r)
	{
		char time[32];
		const char *app = text(r, "app"), *name = text(r, "case");
		text_cell(&t, text(r, "run"));
		text_cellf(&t, "%s/%s", app ? app : "-", name ? name : "-");
		cell_number(&t, r, "uid");
		cell_number(&t, r, "ended");
		cell_number(&t, r, "executions");
		text_cell(&t, text(r, "exec"));
		text_cell(&t, num_duration(time, ago(o, r, "announced_real_ns")));
		text_cell(&t, yes(r, "connected") ? "there" : "away");
	}
	put_table(b, "runs under way", json_array_size(list), &t);
}

static void cell_flag(struct text_table *t, const json_t *o, const char *key, const char *if_yes)
{
	const json_t *v = json_object_get(o, key);
	text_cell(t, json_is_true(v) ? if_yes : json_is_false(v) ? "no" : NULL);
}

static void put_processes(struct buf *b, const json_t *o)
{
	static const struct text_column columns[] = {
		{ "process", true }, { "user", true },  { "program", false },   { "rank", true },
		{ "job", false },    { "run", false },  { "execution", false }, { "open", false },
		{ "entries", true }, { "steps", true }, { "marks", true },      { "quiet", false },
		{ "sent", true },    { "log", true },   { "for", true },
	};
	struct text_table t = { .columns = columns,
				.n_columns = sizeof columns / sizeof *columns,
				.drop_empty = true };
	const json_t *list = json_object_get(o, "processes"), *p;
	size_t i;
	json_array_foreach(list, i, p)
	{
		char time[32], bytes[32];
		const char *exe = text(p, "exe"), *slash = exe ? strrchr(exe, '/') : NULL;
		cell_number(&t, p, "pid");
		cell_number(&t, p, "uid");
		text_cell(&t, slash ? slash + 1 : exe);
		text_cell(&t, text(p, "rank"));
		text_cell(&t, text(p, "job"));
		text_cell(&t, text(p, "run"));
		text_cell(&t, text(p, "exec"));
		cell_flag(&t, p, "open", "yes");
		cell_number(&t, p, "entries");
		cell_number(&t, p, "steps");
		cell_number(&t, p, "marks");
		cell_flag(&t, p, "quiet", "yes");
		cell_number(&t, p, "snapshots");
		text_cell(&t, size(bytes, p, "bytes"));
		text_cell(&t, num_duration(time, ago(o, p, "from_real_ns")));
	}
	double all = number(o, "followed"); /* of all users; the list may be of one's own */
	put_table(b, "processes followed", json_array_size(list), &t);
	if (all > (double)json_array_size(list))
		buf_printf(b, "  and %.0f of other users\n", all - (double)json_array_size(list));
}

void agent_text(struct buf *b, const json_t *status)
{
	put_head(b, status);
	put_post(b, status);
	put_spool(b, status);
	put_losses(b, status);
	put_samplers(b, status);
	put_cost(b, status);
	put_runs(b, status);
	put_processes(b, status);
}
