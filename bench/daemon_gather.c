/* Batches of 10,000 agents taken in, 100 to a commit: read, checked, told from those that came
 * before, kept, in the ledger; against SQLite storing the same bytes under a number in a table that
 * only grows. A batch has ten context frames of eight values and a word of the agent about itself.
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "daemon/gather.h"
#include "lib/file.h"

#define SENDERS 10000
#define AT_ONCE 100
#define ROUNDS 20
#define EACH 20 /* commits a round */

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench/daemon_gather: %s: %s\n", what, why);
	exit(1);
}

static struct buf batch(struct batch_out *out, unsigned agent, uint64_t seq)
{
	static const char *const names[] = { "cpu_user_s",     "cpu_system_s", "mem_used_bytes",
					     "io_read_bytes",  "io_write_ops", "net_rx_bytes",
					     "pressure_cpu_s", "load" };
	char id[24];
	struct buf b = { 0 }, values = { 0 };
	struct batch_sender from;
	struct frame f;
	(void)snprintf(id, sizeof id, "node-%08u", agent);
	batch_sender_clear(&from);
	from.agent = from.host = str_of(id);
	from.spool = str_of("1a2b3c4d5e6f7081");
	from.boot = str_of("0f3c9a52-9a3f-4a0e-8a6b-5d2f5b1c7e10");
	from.seq = seq;
	from.from_real_ns = from.to_real_ns = 1764459419123456789 + (int64_t)seq * GATHER_SECOND;
	for (int i = 0; i < 10; i++) {
		values.len = 0;
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			batch_pair_put(&values, str_of(names[k]),
				       (double)(agent * 31 + seq * 7 + (size_t)i * 100 + k));
		frame_clear(&f, FRAME_CONTEXT);
		f.as.context.real_ns = f.as.context.mono_ns = from.from_real_ns + i * 100000000;
		f.as.context.scope = str_of("node");
		f.as.context.values = batch_list(&values);
		(void)batch_put(out, &f);
	}
	frame_clear(&f, FRAME_AGENT);
	f.as.agent.real_ns = from.from_real_ns;
	f.as.agent.cpu_s = (double)seq;
	f.as.agent.next_seq = seq;
	(void)batch_put(out, &f);
	if (batch_end(out, &from, &b, NULL))
		die("a batch", "can't be made");
	buf_done(&values);
	return b;
}

struct bench {
	struct batch_out out;
	struct buf bodies[AT_ONCE];
	uint64_t posts;
	struct store *s;
	struct gather *g;
	struct gather_now now;
	double take_s, tick_s;
	sqlite3 *plain;
	sqlite3_stmt *begin, *insert, *commit;
};

static void make_bodies(struct bench *b)
{
	for (int i = 0; i < AT_ONCE; i++, b->posts++) {
		buf_done(&b->bodies[i]);
		/* Agents post in no order. */
		unsigned agent = (unsigned)(b->posts * 7919 % SENDERS);
		b->bodies[i] = batch(&b->out, agent, 1 + b->posts / SENDERS);
	}
}

static double ours(struct bench *b)
{
	struct err err;
	double start = cpu_s(), before;
	if (store_begin(b->s, &err))
		die("begin", err.text);
	before = cpu_s();
	for (int i = 0; i < AT_ONCE; i++) {
		struct gather_result r;
		if (gather_take(b->g, b->s, b->bodies[i].data, b->bodies[i].len, &b->now, &r, &err))
			die("take", err.text);
	}
	b->take_s += cpu_s() - before;
	if (store_commit(b->s, &err))
		die("commit", err.text);
	b->now.mono_ns += GATHER_SECOND / 100;
	int64_t next;
	before = cpu_s();
	if (gather_tick(b->g, b->s, &b->now, NULL, NULL, &next, &err))
		die("tick", err.text);
	b->tick_s += cpu_s() - before;
	return cpu_s() - start;
}

static void step(struct bench *b, sqlite3_stmt *stmt)
{
	if (sqlite3_step(stmt) != SQLITE_DONE)
		die("SQLite", sqlite3_errmsg(b->plain));
	(void)sqlite3_reset(stmt);
}

static double theirs(struct bench *b)
{
	double start = cpu_s();
	step(b, b->begin);
	for (int i = 0; i < AT_ONCE; i++) {
		(void)sqlite3_bind_blob64(b->insert, 1, b->bodies[i].data, b->bodies[i].len,
					  SQLITE_STATIC);
		step(b, b->insert);
	}
	step(b, b->commit);
	return cpu_s() - start;
}

static void open_plain(struct bench *b, const char *path)
{
	if (sqlite3_open(path, &b->plain) ||
	    sqlite3_exec(b->plain,
			 "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
			 "CREATE TABLE t (id INTEGER PRIMARY KEY, batch BLOB)",
			 NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(b->plain, "BEGIN IMMEDIATE", -1, &b->begin, NULL) ||
	    sqlite3_prepare_v2(b->plain, "INSERT INTO t (batch) VALUES (?)", -1, &b->insert,
			       NULL) ||
	    sqlite3_prepare_v2(b->plain, "COMMIT", -1, &b->commit, NULL))
		die("SQLite", sqlite3_errmsg(b->plain));
}

int main(void)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", path[64], plain[64];
	static struct bench b;
	const struct gather_config config = GATHER_DEFAULTS;
	struct err err;
	struct ratio r = { .n = 0 };
	if (!mkdtemp(folder))
		die("a folder", folder);
	(void)snprintf(path, sizeof path, "%s/store.db", folder);
	(void)snprintf(plain, sizeof plain, "%s/plain.db", folder);
	if (store_open(&b.s, path, STORE_WRITE, &err) ||
	    gather_open(&b.g, b.s, &config, &b.now, &err))
		die("open", err.text);
	open_plain(&b, plain);
	/* Every sender once: a new one costs a row. */
	for (int i = 0; i < SENDERS / AT_ONCE; i++) {
		make_bodies(&b);
		(void)ours(&b);
		(void)theirs(&b);
	}
	b.take_s = b.tick_s = 0;
	for (int round = 0; round < ROUNDS; round++) {
		double x = 0, y = 0;
		for (int i = 0; i < EACH; i++) {
			make_bodies(&b);
			x += ours(&b);
			y += theirs(&b);
		}
		ratio_add(&r, x, y);
	}
	double n = ROUNDS * EACH * AT_ONCE;
	(void)printf(
		"# %zu bytes a batch; taken in %.2f us, commit and ledger apart; ledger %.2f us\n",
		b.bodies[0].len, b.take_s / n * 1e6, b.tick_s / n * 1e6);
	int good = ratio_print(&r, "taken_in_vs_bytes_stored", 3);
	gather_close(b.g);
	store_close(b.s);
	(void)sqlite3_finalize(b.begin);
	(void)sqlite3_finalize(b.insert);
	(void)sqlite3_finalize(b.commit);
	(void)sqlite3_close(b.plain);
	for (int i = 0; i < AT_ONCE; i++)
		buf_done(&b.bodies[i]);
	batch_out_done(&b.out);
	(void)file_remove_tree(folder, NULL);
	return !good;
}
