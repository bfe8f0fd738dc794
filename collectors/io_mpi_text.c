/* Hints, communicators and datatypes of MPI as texts. What is asked for here was good in a call
 * that did not fail, so that no question reaches the program's error handlers. */
#include "collectors/io_mpi.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)16 << 10)
#define KEY_BYTES 1024 /* above MPI_MAX_INFO_KEY and _VAL of all that are known: 255, 1024 */
#define VALUE_BYTES 2048
#define NUMBERS 2048 /* of one datatype's definition */
#define NESTED 8
#define RANKS 64
#define NAME_BYTES 256 /* above MPI_MAX_OBJECT_NAME */
#define TYPES 64       /* described ones that are kept */

struct text {
	char *p;
	size_t n;
	bool cut;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(&t->p[t->n], TEXT_BYTES - t->n, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= TEXT_BYTES - t->n) {
		t->p[t->n] = 0;
		t->cut = true;
	} else {
		t->n += (size_t)n;
	}
}

static uint32_t done(struct text *t)
{
	uint32_t number = t->n ? io_text_n(t->p, t->n) : 0;
	free(t->p);
	return number;
}

/* ---- hints ------------------------------------------------------------------------------------
 */

uint32_t mpi_info_text(mpi_word info)
{
	int n = 0;
	if (info == mpi_facts()->info_null || !mpi_ask.Info_get_nkeys || !mpi_ask.Info_get_nthkey ||
	    !mpi_ask.Info_get || mpi_ask.Info_get_nkeys(info, &n))
		return 0;
	struct text t = { .p = malloc(TEXT_BYTES) };
	char key[KEY_BYTES], value[VALUE_BYTES];
	int room = mpi_facts()->handle_bytes == 8 ? 256
						  : 1024; /* MPI_MAX_INFO_VAL: not more is taken */
	for (int i = 0; t.p && i < n && !t.cut; i++) {
		int there = 0;
		if (mpi_ask.Info_get_nthkey(info, (mpi_word)i, key) ||
		    mpi_ask.Info_get(info, key, (mpi_word)room, value, &there) || !there)
			continue;
		put(&t, "%s%s=%s", t.n ? "\n" : "", key, value);
	}
	return t.p ? done(&t) : 0;
}

uint32_t mpi_in_force_text(mpi_word file)
{
	mpi_word info = 0;
	if (mpi_ask.File_get_info(file, &info))
		return 0;
	if (mpi_facts()->handle_bytes == 4)
		info &= UINT32_MAX;
	uint32_t number = mpi_info_text(info);
	if (mpi_ask.Info_free && info != mpi_facts()->info_null)
		(void)mpi_ask.Info_free(&info);
	return number;
}

/* ---- communicators ----------------------------------------------------------------------------
 */

/* Ranks of the world, as ranges. */
struct ranks {
	struct text *t;
	int first, last; /* -1: none yet */
	bool whole;      /* 0, 1, 2, ... so far */
	int n;
};

static void range_end(const struct ranks *r)
{
	if (r->first < 0)
		return;
	put(r->t, "%s%d", r->t->n > 6 ? "," : "", r->first);
	if (r->last > r->first)
		put(r->t, "-%d", r->last);
}

static void rank_add(struct ranks *r, int rank)
{
	r->whole = r->whole && rank == r->n;
	r->n++;
	if (r->first >= 0 && rank == r->last + 1) {
		r->last = rank;
		return;
	}
	range_end(r);
	r->first = r->last = rank;
}

/* False: some are not of the world (spawned ones). */
static bool ranks_of(mpi_word group, mpi_word world, int size, struct ranks *r)
{
	int from[RANKS], to[RANKS];
	for (int at = 0; at < size; at += RANKS) {
		int n = size - at < RANKS ? size - at : RANKS;
		for (int i = 0; i < n; i++)
			from[i] = at + i;
		if (mpi_ask.Group_translate_ranks(group, (mpi_word)n, from, world, to))
			return false;
		for (int i = 0; i < n; i++) {
			if (to[i] < 0)
				return false;
			rank_add(r, to[i]);
		}
	}
	range_end(r);
	return true;
}

static void put_ranks(struct text *t, mpi_word comm, mpi_word of_comm, mpi_word of_world)
{
	int size = 0, world = 0;
	struct ranks r = { .t = t, .first = -1, .whole = true };
	(void)mpi_ask.Comm_size(comm, &size);
	put(t, "ranks ");
	bool all = !mpi_ask.Group_size(of_world, &world) && ranks_of(of_comm, of_world, size, &r);
	if (all && !t->cut && !(r.whole && size == world) && size != 1)
		return;
	t->n = 0;
	if (all && r.whole && size == world)
		put(t, "MPI_COMM_WORLD");
	else if (all && size == 1)
		put(t, "MPI_COMM_SELF");
	else
		put(t, "size %d", size);
}

uint32_t mpi_comm_text(mpi_word comm)
{
	int on = 0;
	if (mpi_facts()->handle_bytes == 4)
		comm &= UINT32_MAX;
	if (comm == mpi_facts()->comm_self)
		return io_text("MPI_COMM_SELF");
	mpi_word of_comm = 0, of_world = 0;
	if (!mpi_ask.Initialized || mpi_ask.Initialized(&on) || !on || !mpi_ask.Comm_size ||
	    !mpi_ask.Comm_group || !mpi_ask.Group_size || !mpi_ask.Group_translate_ranks ||
	    !mpi_ask.Group_free || mpi_ask.Comm_group(comm, &of_comm))
		return 0;
	struct text t = { .p = malloc(TEXT_BYTES) };
	if (t.p && !mpi_ask.Comm_group(mpi_facts()->comm_world, &of_world)) {
		put_ranks(&t, comm, of_comm, of_world);
		(void)mpi_ask.Group_free(&of_world);
	}
	(void)mpi_ask.Group_free(&of_comm);
	return t.p ? done(&t) : 0;
}

/* ---- datatypes --------------------------------------------------------------------------------
 */

enum {
	NAMED,
	DUP,
	CONTIGUOUS,
	VECTOR,
	HVECTOR_INTEGER,
	HVECTOR,
	INDEXED,
	HINDEXED_INTEGER,
	HINDEXED,
	INDEXED_BLOCK,
	STRUCT_INTEGER,
	STRUCT,
	SUBARRAY,
	DARRAY,
	F90_REAL,
	F90_COMPLEX,
	F90_INTEGER,
	RESIZED,
	HINDEXED_BLOCK,
	COMBINERS
};

static const char *const combiners[COMBINERS] = {
	"named",       "dup",         "contiguous", "vector",         "hvector",
	"hvector",     "indexed",     "hindexed",   "hindexed",       "indexed_block",
	"struct",      "struct",      "subarray",   "darray",         "f90_real",
	"f90_complex", "f90_integer", "resized",    "hindexed_block",
};

struct shape {
	int ints, addresses, types, combiner;
};

/* False: this one was made with larger numbers than a definition as asked for here has. */
static bool shape_of(mpi_word type, struct shape *s)
{
	int64_t n[4] = { 0 };
	if (mpi_ask.Type_get_envelope_c) {
		if (mpi_ask.Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &s->combiner) ||
		    n[2])
			return false;
		s->ints = n[0] <= NUMBERS ? (int)n[0] : NUMBERS + 1;
		s->addresses = n[1] <= NUMBERS ? (int)n[1] : NUMBERS + 1;
		s->types = n[3] <= NUMBERS ? (int)n[3] : NUMBERS + 1;
	} else if (!mpi_ask.Type_get_envelope ||
		   mpi_ask.Type_get_envelope(type, &s->ints, &s->addresses, &s->types,
					     &s->combiner)) {
		return false;
	}
	s->combiner -= mpi_facts()->combiner_named;
	return s->combiner >= 0 && s->combiner < COMBINERS;
}

/* MPI's constants among the numbers: order 0 is C's, 1 Fortran's; distributions 0 block, 1 cyclic,
 * 2 none; -1 is the default. */
static void constants(const struct shape *s, int *ints)
{
	const struct mpi_facts *m = mpi_facts();
	if (s->combiner == SUBARRAY && s->ints > 0)
		ints[s->ints - 1] -= m->order_c;
	if (s->combiner != DARRAY || s->ints < 4)
		return;
	ints[s->ints - 1] -= m->order_c;
	int dims = ints[2];
	for (int i = 0; i < dims && 3 + 3 * dims <= s->ints; i++) {
		int *distribution = &ints[3 + dims + i], *argument = &ints[3 + 2 * dims + i];
		*distribution -= m->distribute_block;
		if (*argument == m->default_darg)
			*argument = -1;
	}
}

static void put_type(struct text *t, mpi_word type, int depth);

/* What a definition gives out of types that have no name of their own is the asker's to free. */
static void free_type(mpi_word type)
{
	struct shape s;
	if (!shape_of(type, &s) || s.combiner == NAMED ||
	    (s.combiner >= F90_REAL && s.combiner <= F90_INTEGER) || !mpi_ask.Type_free)
		return;
	(void)mpi_ask.Type_free(&type);
}

static void put_large(struct text *t, mpi_word type)
{
	int64_t bytes = -1, low = 0, extent = 0;
	if (!mpi_ask.Type_size_x || mpi_ask.Type_size_x(type, &bytes))
		bytes = -1;
	if (mpi_ask.Type_get_extent)
		(void)mpi_ask.Type_get_extent(type, &low, &extent);
	put(t, "large(%" PRId64 ",%" PRId64 ",%" PRId64 ")", bytes, low, extent);
}

struct definition {
	int ints[NUMBERS];
	int64_t addresses[NUMBERS];
	uint64_t types[NUMBERS];
};

static void put_definition(struct text *t, mpi_word type, const struct shape *s,
			   struct definition *d, int depth)
{
	if (mpi_ask.Type_get_contents(type, (mpi_word)s->ints, (mpi_word)s->addresses,
				      (mpi_word)s->types, d->ints, d->addresses, d->types)) {
		put_large(t, type);
		return;
	}
	constants(s, d->ints);
	put(t, "%s(", combiners[s->combiner]);
	for (int i = 0; i < s->ints; i++)
		put(t, "%s%d", i ? "," : "", d->ints[i]);
	put(t, ";");
	for (int i = 0; i < s->addresses; i++)
		put(t, "%s%" PRId64, i ? "," : "", d->addresses[i]);
	put(t, ";");
	for (int i = 0; i < s->types; i++) {
		mpi_word of = mpi_handle_at((mpi_word)d->types, (size_t)i);
		put(t, "%s", i ? "," : "");
		put_type(t, of, depth + 1);
		free_type(of);
	}
	put(t, ")");
}

static void put_type(struct text *t, mpi_word type, int depth)
{
	struct shape s;
	char name[NAME_BYTES] = "";
	int n = 0;
	bool known = shape_of(type, &s);
	if (known && s.combiner == NAMED) {
		if (!mpi_ask.Type_get_name || mpi_ask.Type_get_name(type, name, &n) || !*name)
			put_large(t, type);
		else
			put(t, "%s", name);
		return;
	}
	struct definition *d = NULL;
	if (known && depth < NESTED && s.ints <= NUMBERS && s.addresses <= NUMBERS &&
	    s.types <= NUMBERS && mpi_ask.Type_get_contents && !t->cut)
		d = malloc(sizeof *d);
	if (d)
		put_definition(t, type, &s, d, depth);
	else
		put_large(t, type);
	free(d);
}

/* Those that were described are kept, until they are freed. With the lock. */
static struct {
	mpi_word type; /* 0: none */
	uint32_t text;
	int64_t bytes;
} kept[TYPES];
static unsigned next_kept;

static bool find_kept(mpi_word type, uint32_t *text, int64_t *bytes)
{
	if (!mpi_lock())
		return false;
	bool found = false;
	for (unsigned i = 0; i < TYPES && !found; i++) {
		found = kept[i].type == type && type;
		if (found) {
			*text = kept[i].text;
			*bytes = kept[i].bytes;
		}
	}
	mpi_unlock();
	return found;
}

void mpi_type_forget(mpi_word type)
{
	if (!mpi_lock())
		return;
	for (unsigned i = 0; i < TYPES; i++)
		if (kept[i].type == type)
			kept[i].type = 0;
	mpi_unlock();
}

static uint32_t describe(mpi_word type)
{
	struct text t = { .p = malloc(TEXT_BYTES) };
	if (!t.p)
		return 0;
	put_type(&t, type, 0);
	if (t.cut) {
		t = (struct text){ .p = t.p };
		put_large(&t, type);
	}
	return done(&t);
}

uint32_t mpi_type_text(mpi_word type, int64_t *ret_bytes)
{
	uint32_t text = 0;
	int bytes = 0;
	if (mpi_facts()->handle_bytes == 4)
		type &= UINT32_MAX;
	if (find_kept(type, &text, ret_bytes))
		return text;
	*ret_bytes = -1;
	if ((!mpi_ask.Type_size_x || mpi_ask.Type_size_x(type, ret_bytes)) &&
	    mpi_ask.Type_size(type, &bytes) == 0)
		*ret_bytes = bytes;
	text = describe(type);
	if (!mpi_lock())
		return text;
	unsigned i = next_kept++ % TYPES;
	kept[i].type = type;
	kept[i].text = text;
	kept[i].bytes = *ret_bytes;
	mpi_unlock();
	return text;
}
