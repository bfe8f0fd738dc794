/* For the tests of what the collector io says of MPI: an MPI of a few functions, with handles of
 * four bytes (as MPICH has them) and of eight (Open MPI), and what the collector itself has around
 * them: its lock, its events, its texts. */
#ifndef TESTS_UNIT_IO_MPI_DOUBLE_H
#define TESTS_UNIT_IO_MPI_DOUBLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/io_mpi.h"
#include "collectors/live.h"

#define EVENTS 4096
#define BAD 77 /* what a call answers that fails */

/* ---- the double: what is around ---------------------------------------------------------------
 */

struct io io;
struct mpi_asks mpi_ask;

static struct mpi_facts facts;
static char texts[64][32 << 10];
static unsigned n_texts;
static uint64_t now;
static bool locked, no_lock, within;
static struct seen {
	enum io_call call;
	uint64_t begin, end;
	int64_t result, at, arg[IO_ARGS];
	unsigned n;
} events[EVENTS];
static size_t n_events;
static enum io_mpi_class classes[EVENTS];
static size_t n_classes, finishes;

const struct mpi_facts *mpi_facts(void)
{
	return &facts;
}

mpi_word mpi_handle_at(mpi_word array, size_t i)
{
	return facts.handle_bytes == 8 ? ((const uint64_t *)array)[i]
				       : ((const uint32_t *)array)[i];
}

int64_t mpi_failed(int rc)
{
	return -rc;
}

/* A status begins with the bytes that were moved. */
int64_t mpi_moved(mpi_word status)
{
	return *(const int *)status;
}

bool mpi_lock(void)
{
	assert_false(locked);
	locked = !no_lock;
	return locked;
}

void mpi_unlock(void)
{
	assert_true(locked);
	locked = false;
}

uint32_t io_text_n(const char *text, size_t bytes)
{
	assert_true(n_texts < 64 && bytes < sizeof texts[0]);
	memcpy(texts[n_texts], text, bytes);
	texts[n_texts][bytes] = 0;
	return ++n_texts;
}

uint32_t io_text(const char *text)
{
	return io_text_n(text, strlen(text));
}

uint64_t io_now(void)
{
	return ++now;
}

bool mpi_begin(struct io_span *c)
{
	if (within)
		return false;
	within = true;
	*c = (struct io_span){ .tick = io_now() };
	return true;
}

uint64_t mpi_returned(const struct io_span *c, int *ret_errno)
{
	(void)c;
	*ret_errno = errno;
	return io_now();
}

void mpi_higher(const struct io_span *c)
{
	(void)c;
}

void mpi_done(const struct io_span *c, int saved_errno)
{
	(void)c;
	errno = saved_errno;
	assert_true(within);
	within = false;
}

void mpi_end(const struct io_span *c, enum io_mpi_class class_)
{
	(void)c;
	assert_true(within && n_classes < EVENTS);
	within = false;
	classes[n_classes++] = class_;
}

void io_put(const struct io_span *c, uint64_t begin_tick, uint64_t end_tick, enum io_call call,
	    int64_t result, int64_t at, unsigned n, const int64_t *arg)
{
	(void)c;
	assert_true(n_events < EVENTS && n <= IO_ARGS);
	events[n_events] = (struct seen){ call, begin_tick, end_tick, result, at, { 0 }, n };
	memcpy(events[n_events++].arg, arg, n * sizeof *arg);
}

void live_finish(void)
{
	finishes++;
}

/* ---- the double: an MPI -----------------------------------------------------------------------
 */

static const char *const hints[][2] = { { "cb_nodes", "4" },
					{ "romio_ds_write", "disable" },
					{ "striping_unit", "1048576" } };
static int n_hints, hint_gone = -1, infos_freed;
static char long_value[1024];

static int info_get_nkeys(mpi_word info, int *n)
{
	*n = n_hints;
	return info == 5 ? 0 : BAD;
}

static int info_get_nthkey(mpi_word info, mpi_word i, char *key)
{
	(void)info;
	(void)snprintf(key, 255, "%s", i < 3 ? hints[i][0] : "more");
	return 0;
}

/* room: without the NUL; not more is written. */
static int info_get(mpi_word info, const char *key, mpi_word room, char *value, int *there)
{
	(void)info;
	*there = 1;
	for (int i = 0; i < 3; i++)
		if (strcmp(key, hints[i][0]) == 0) {
			*there = i != hint_gone;
			(void)snprintf(value, room + 1, "%s", hints[i][1]);
			return 0;
		}
	(void)snprintf(value, room + 1, "%s", long_value);
	return 0;
}

static int info_free(void *info)
{
	(void)info;
	infos_freed++;
	return 0;
}

static int file_get_info(mpi_word file, mpi_word *info)
{
	*info = 5;
	if (facts.handle_bytes == 4) /* an int is written, what is above stays as it was */
		*info |= (mpi_word)0xabcd << 32;
	return file == 9 ? 0 : BAD;
}

/* A communicator is a row of ranks of the world, which has 200. */
static int ranks[200], n_ranks, outside = -1, world = 200, groups;

static int initialized(int *on)
{
	*on = 1;
	return 0;
}

static int comm_size(mpi_word comm, int *n)
{
	*n = comm == facts.comm_world ? world : n_ranks;
	return 0;
}

static int comm_group(mpi_word comm, mpi_word *group)
{
	*group = comm;
	groups++;
	return 0;
}

static int group_size(mpi_word group, int *n)
{
	return comm_size(group, n);
}

static int translate(mpi_word group, mpi_word n, const int *from, mpi_word to_group, int *to)
{
	assert_true(group != facts.comm_world && to_group == facts.comm_world);
	for (mpi_word i = 0; i < n; i++)
		to[i] = from[i] == outside ? facts.undefined : ranks[from[i]];
	return 0;
}

static int group_free(mpi_word *group)
{
	(void)group;
	groups--;
	return 0;
}

/* Datatypes: number 100 and up are made of the one below; 1 is MPI_INT; 50 has a name no longer
 * than nothing; 60 is a row of as many numbers as a definition may have, and one more (61). */
static int types_out, large, combiner_of_100;
static int numbers_of_100[16], n_numbers;

static int get_envelope(mpi_word type, int *ints, int *addresses, int *of, int *combiner)
{
	*ints = *addresses = *of = 0;
	*combiner = facts.combiner_named;
	if (type >= 60 && type < 62) {
		*ints = type == 60 ? 2048 : 2049;
		*of = 1;
		*combiner += 9; /* indexed_block */
	} else if (type >= 100) {
		*ints = n_numbers;
		*addresses = 2;
		*of = 1;
		*combiner += combiner_of_100;
	}
	return type == 13 ? BAD : 0;
}

static int get_contents(mpi_word type, mpi_word ints, mpi_word addresses, mpi_word of, int *int_to,
			int64_t *address_to, void *to)
{
	assert_int_equal(of, 1);
	for (mpi_word i = 0; i < ints; i++)
		int_to[i] = type >= 100 ? numbers_of_100[i] : (int)i;
	for (mpi_word i = 0; i < addresses; i++)
		address_to[i] = -((int64_t)1 << (32 + i));
	mpi_word below = type > 100 ? type - 1 : 1;
	if (facts.handle_bytes == 8)
		*(uint64_t *)to = below;
	else
		*(uint32_t *)to = (uint32_t)below;
	types_out += below >= 100;
	return 0;
}

static int type_free(void *type)
{
	assert_true(*(mpi_word *)type >= 100);
	types_out--;
	return 0;
}

static int type_name(mpi_word type, char *name, int *n)
{
	*n = snprintf(name, 64, "%s", type == 1 ? "MPI_INT" : "");
	return 0;
}

static int type_size(mpi_word type, int *n)
{
	*n = type == 1 ? 4 : 40;
	return large ? BAD : 0;
}

static int type_extent(mpi_word type, int64_t *low, int64_t *extent)
{
	(void)type;
	*low = -8;
	*extent = 64;
	return 0;
}

static int error_class(mpi_word rc, int *class_)
{
	*class_ = (int)rc;
	return 0;
}

static int family(void **state, size_t handle_bytes)
{
	(void)state;
	memset(&io, 0, sizeof io);
	facts = (struct mpi_facts){
		.handle_bytes = handle_bytes,
		.status_bytes = 24,
		.status_error_at = 8,
		.info_null = 3,
		.comm_world = 44,
		.comm_self = 45,
		.request_null = 7,
		.status_ignore = 1,
		.undefined = -32766,
		.combiner_named = handle_bytes == 4,
		.order_c = 56,
		.distribute_block = 121,
		.default_darg = -49767,
		.err_in_status = 17,
		.err_pending = 18,
	};
	mpi_ask = (struct mpi_asks){
		.Error_class = error_class,
		.Initialized = initialized,
		.Type_size = type_size,
		.Type_get_extent = type_extent,
		.Type_get_name = type_name,
		.Type_get_envelope = get_envelope,
		.Type_get_contents = get_contents,
		.Type_free = type_free,
		.Info_get_nkeys = info_get_nkeys,
		.Info_get_nthkey = info_get_nthkey,
		.Info_get = info_get,
		.Info_free = info_free,
		.Comm_size = comm_size,
		.Comm_group = comm_group,
		.Group_size = group_size,
		.Group_translate_ranks = translate,
		.Group_free = group_free,
		.File_get_info = file_get_info,
	};
	n_texts = 0;
	n_events = n_classes = finishes = 0;
	n_hints = 3;
	hint_gone = outside = -1;
	world = 200;
	infos_freed = groups = types_out = large = 0;
	no_lock = within = locked = false;
	return 0;
}

static int small_handles(void **state)
{
	return family(state, 4);
}

static int large_handles(void **state)
{
	return family(state, 8);
}

static const char *text(uint32_t number)
{
	return number ? texts[number - 1] : "";
}

#endif
