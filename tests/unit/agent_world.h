/* An agent in this process: a temporary folder, a spool, a loop that is run by hand. */
#ifndef TESTS_UNIT_AGENT_WORLD_H
#define TESTS_UNIT_AGENT_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uv.h>

#include "agent/config.h"
#include "agent/loop.h"
#include "agent/outbox.h"
#include "lib/file.h"
#include "lib/unixsock.h"
#include "schema/batch.h"
#include "schema/local.h"

struct world {
	char folder[64], socket[128], logs[128], spool[128];
	struct agent_config config;
	uv_loop_t loop;
	struct outbox *outbox;
	struct agent *agent;
};

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);              \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static inline void world_folder(struct world *w)
{
	memset(w, 0, sizeof *w);
	(void)snprintf(w->folder, sizeof w->folder, "/tmp/roimeter-agent.XXXXXX");
	MUST(mkdtemp(w->folder));
	(void)snprintf(w->socket, sizeof w->socket, "%s/agent.sock", w->folder);
	(void)snprintf(w->logs, sizeof w->logs, "%s/logs", w->folder);
	(void)snprintf(w->spool, sizeof w->spool, "%s/spool", w->folder);
	MUST(!agent_config_load(&w->config, NULL, NULL));
	w->config.socket = w->socket;
	w->config.spool = w->spool;
	w->config.period_s = 0;
	w->config.snapshot_s = 0.05;
	w->config.snapshot_max_s = 0.1;
}

static inline void world_start(struct world *w)
{
	struct err err = { .text = "" };
	const struct outbox_options o = { .folder = w->spool, .max_bytes = 64u << 20 };
	MUST(!outbox_open(&w->outbox, &o, &err));
	MUST(!uv_loop_init(&w->loop));
	const struct agent_parts parts = { .outbox = w->outbox, .listening = -1 };
	if (agent_start(&w->agent, &w->loop, &w->config, &parts, &err)) {
		(void)fprintf(stderr, "%s\n", err.text);
		abort();
	}
}

static inline void world_stop(struct world *w)
{
	agent_stop(w->agent);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	MUST(!uv_loop_close(&w->loop));
	outbox_close(w->outbox);
	w->outbox = NULL;
}

static inline void world_done(struct world *w)
{
	world_stop(w);
	agent_config_done(&w->config);
	(void)file_remove_tree(w->folder, NULL);
}

/* Let the agent do what it can now. */
static inline void world_turn(struct world *w)
{
	for (int i = 0; i < 4; i++)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

static inline int world_connect(struct world *w)
{
	int fd = unixsock_connect(w->socket, NULL);
	MUST(fd >= 0);
	return fd;
}

/* An answer that is there by now: its length; 0: hung up; -EAGAIN: none. */
static inline ssize_t world_answer(struct world *w, int fd, char *text, size_t room, int *ret_pass)
{
	int pass = -1;
	world_turn(w);
	ssize_t n = unixsock_recv(fd, text, room - 1, &pass);
	text[n > 0 ? n : 0] = 0;
	if (ret_pass)
		*ret_pass = pass;
	else if (pass >= 0)
		(void)close(pass);
	return n;
}

static inline int world_memfd(const void *bytes, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	MUST(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	return fd;
}

/* The next frame in the spool that is of this type, past those that were seen; false: none. */
struct world_reader {
	struct batch_in in;
	bool open;
};
static inline bool world_frame(struct world *w, struct world_reader *r, enum frame_type type,
			       struct frame *ret)
{
	struct spool_item item;
	for (;;) {
		while (r->open && batch_next(&r->in, ret, NULL) == 1)
			if (ret->type == type)
				return true;
		r->open = false;
		if (outbox_read(w->outbox, &item, NULL) != 1)
			return false;
		MUST(!batch_open(&r->in, item.bytes, item.n, NULL));
		r->open = true;
	}
}

/* How many there are, from the beginning. */
static inline size_t world_count(struct world *w, enum frame_type type)
{
	struct world_reader r = { .open = false };
	struct frame f;
	size_t n = 0;
	MUST(!outbox_sync(w->outbox, NULL, NULL));
	outbox_rewind(w->outbox);
	while (world_frame(w, &r, type, &f))
		n++;
	batch_in_done(&r.in);
	return n;
}

#endif
