/* A taker of the collector `io` that writes down what it is told, a line each, into the file that
 * IO_TAKEN names and its process number ends: for tests/system/io.
 *
 *	text NUMBER TEXT
 *	handle NUMBER PATH-NUMBER TYPE INTERFACE FLAGS WAS-OPEN
 *	event CALL THREAD DEPTH RESULT AT COUNT timed|untimed|outside ARGUMENT...
 *	mpi CLASS THREAD DEPTH timed|outside NANOSECONDS
 *	dropped CALLS       flush HOW */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/io_take.h"
#include "schema/iocall.h"

static char lines[1 << 20];
static size_t used;
static uint64_t last_ns; /* when the last event ended */

static void write_lines(void)
{
	const char *name = getenv("IO_TAKEN");
	char path[4096];
	if (!name || !used)
		return;
	(void)snprintf(path, sizeof path, "%s.%ld", name, (long)getpid());
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	for (size_t at = 0; fd >= 0 && at < used;) {
		ssize_t n = write(fd, lines + at, used - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (fd >= 0)
		(void)close(fd);
	used = 0;
}

static void room_for(size_t n)
{
	if (used + n >= sizeof lines)
		write_lines();
}

#define SAY(...)                                                                                   \
	do {                                                                                       \
		room_for(8192);                                                                    \
		used += (size_t)snprintf(lines + used, sizeof lines - used, __VA_ARGS__);          \
	} while (0)

static int taker_start(void)
{
	return getenv("IO_TAKEN") ? 0 : -1;
}

static void taker_text(uint32_t number, const char *text, size_t bytes)
{
	SAY("text %" PRIu32 " %.*s\n", number, bytes < 4096 ? (int)bytes : 4096, text);
}

static void taker_handle(const struct io_handle_info *h)
{
	SAY("handle %" PRIu32 " %" PRIu32 " %d %s 0x%" PRIx64 " %d\n", h->number, h->path,
	    (int)h->type, io_interface_name(h->interface), (uint64_t)h->flags, h->was_open);
}

static const char *when(const struct io_event *e)
{
	if (!e->begin_ns && !e->end_ns)
		return "untimed";
	bool sane = e->begin_ns <= e->end_ns && e->end_ns >= last_ns / 2;
	last_ns = e->end_ns;
	return sane ? "timed" : "outside";
}

static void taker_events(const struct io_event *e, size_t n)
{
	for (size_t i = 0; i < n; i++, e++) {
		const struct io_call_info *info = io_call_info(e->call);
		SAY("event %s %" PRIu32 " %d %" PRId64 " %" PRId64 " %" PRIu32 " %s",
		    info->name ? info->name : "?", e->thread, e->depth, e->result, e->at,
		    e->count ? e->count : 1, when(e));
		for (size_t a = 0; info->signature && info->signature[a] != ':'; a++)
			SAY(" %" PRId64, e->arg[a]);
		SAY("\n");
	}
}

static void taker_mpi(const struct io_event *e, size_t n)
{
	for (size_t i = 0; i < n; i++, e++)
		SAY("mpi %d %" PRIu32 " %d %s %" PRIu64 "\n", e->call, e->thread, e->depth, when(e),
		    e->end_ns - e->begin_ns);
}

static void taker_dropped(uint64_t calls)
{
	SAY("dropped %" PRIu64 "\n", calls);
}

static void taker_flush(enum live_flush how)
{
	SAY("flush %d\n", (int)how);
	write_lines();
}

static void taker_child(void)
{
	used = 0;
}

extern const struct io_taker io_counter;
__attribute__((visibility("hidden"))) const struct io_taker io_counter = {
	.start = taker_start,
	.text = taker_text,
	.handle = taker_handle,
	.events = taker_events,
	.flush = taker_flush,
	.dropped = taker_dropped,
	.child = taker_child,
	.mpi = taker_mpi,
};
