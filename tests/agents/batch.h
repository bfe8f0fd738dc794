/* Batches as an agent makes them each second: what it counted on its node, and now and then what it
 * is itself. About 600 bytes. */
#ifndef TESTS_AGENTS_BATCH_H
#define TESTS_AGENTS_BATCH_H

#include <stdio.h>
#include <stdlib.h>

#include "schema/batch.h"

#define BATCH_TIME_NS 1790654400000000000ll /* of seq 0; one second each */

static inline unsigned long long batch_dice(unsigned long long *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static inline void batch_context(struct frame *f, struct buf *pairs, unsigned agent, uint64_t seq)
{
	static const char *const names[] = {
		"cpu_user_s",     "cpu_system_s",   "cpu_iowait_s",    "cpu_idle_s",
		"load1",          "mem_free_bytes", "mem_dirty_bytes", "swap_used_bytes",
		"net_rx_bytes",   "net_tx_bytes",   "disk_read_bytes", "disk_written_bytes",
		"nfs_read_bytes", "nfs_ops",        "ctxt_switches",   "interrupts",
		"psi_cpu_s",      "psi_io_s",       "psi_mem_s",       "threads",
	};
	unsigned long long dice = agent * 1000003ull + seq;
	frame_clear(f, FRAME_CONTEXT);
	pairs->len = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		batch_pair_put(pairs, str_of(names[i]),
			       (double)(batch_dice(&dice) % 1000000000u) / 100);
	f->as.context.real_ns = BATCH_TIME_NS + (int64_t)seq * 1000000000;
	f->as.context.mono_ns = (int64_t)seq * 1000000000;
	f->as.context.scope = str_of("node");
	f->as.context.values = batch_list(pairs);
}

static inline void batch_agent(struct frame *f, uint64_t seq)
{
	frame_clear(f, FRAME_AGENT);
	f->as.agent.real_ns = BATCH_TIME_NS + (int64_t)seq * 1000000000;
	f->as.agent.cpu_s = (double)seq / 2000;
	f->as.agent.wakeups = (double)seq * 3;
	f->as.agent.rss_bytes = 7340032;
	f->as.agent.spool_bytes = 65536;
	f->as.agent.spool_max_bytes = 67108864;
	f->as.agent.next_seq = seq;
	f->as.agent.start_real_ns = BATCH_TIME_NS;
}

/* Appended to ret. salt: another one makes another batch of the same number. */
static inline void batch_make(struct buf *ret, const char *prefix, unsigned agent, uint64_t seq,
			      uint64_t salt)
{
	static struct batch_out out; /* one thread */
	struct frame f;
	struct buf pairs = { 0 };
	struct batch_sender sender;
	struct err err = { { 0 } };
	char id[80], spool[40];
	(void)snprintf(id, sizeof id, "%.40s%08x", prefix, agent);
	(void)snprintf(spool, sizeof spool, "%016x", agent + 1u);
	batch_context(&f, &pairs, agent, seq + salt);
	int rc = batch_put(&out, &f);
	if (!rc && seq % 10 == 1) {
		batch_agent(&f, seq);
		rc = batch_put(&out, &f);
	}
	batch_sender_clear(&sender);
	sender.agent = str_of(id);
	sender.spool = str_of(spool);
	sender.seq = seq;
	sender.from_real_ns = sender.to_real_ns = BATCH_TIME_NS + (int64_t)seq * 1000000000;
	sender.boot = str_of("6f1d7d6e-4b5f-4f0c-9d2a-0123456789ab");
	sender.host = str_of(id);
	sender.tool = str_of("roimeter-agent 0.1.0");
	if (rc || batch_end(&out, &sender, ret, &err) || ret->failed) {
		(void)fprintf(stderr, "a batch can't be made: %s\n", err.text);
		exit(2);
	}
	buf_done(&pairs);
}

#endif
