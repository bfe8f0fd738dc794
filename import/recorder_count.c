/* Recorder keeps no results, so that nothing is known to have failed, and of some calls not how many
 * bytes they moved: what depends on these is null again. */
#include "import/recorder_count.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/iocount.h"
#include "core/iomerge.h"
#include "import/darshan_total.h" /* struct darshan_ids */
#include "lib/num.h"

#define PICTURES_BYTES_MAX ((size_t)4 << 30)

struct recorder_count {
	struct arena arena; /* pictures */
	struct iocount *counter;
	struct flow *flow; /* without marks: the trace has no region */
	const struct iopicture **pictures;
	size_t n, cap;
	double begin_s;
	/* Accesses whose bytes are not known: reads, writes. */
	uint64_t unknown[2], unknown_by[IO_INTERFACES][2][2]; /* by interface, and within another */
	struct darshan_ids unknown_files[2];                  /* hashes of names */
	/* of the process that is under way */
	uint64_t *text_hashes, *handle_hashes;
	size_t cap_texts, cap_handles;
	bool failed;
};

int recorder_count_new(struct recorder_count **ret, double begin_s, struct err *err)
{
	struct recorder_count *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->begin_s = begin_s;
	c->arena.max_bytes = PICTURES_BYTES_MAX;
	int rc = iocount_new(&c->counter, &(struct iocount_options){ 0 }, err);
	if (!rc)
		rc = flow_new(&c->flow, &(struct flow_options){ .slots = 64 }, err);
	if (rc) {
		recorder_count_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void recorder_count_free(struct recorder_count *c)
{
	if (!c)
		return;
	iocount_free(c->counter);
	flow_free(c->flow);
	arena_free(&c->arena);
	darshan_ids_done(&c->unknown_files[0]);
	darshan_ids_done(&c->unknown_files[1]);
	free(c->text_hashes);
	free(c->handle_hashes);
	free(c);
}

/* ---- names --------------------------------------------------------------------------------------
 */

static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	return hash;
}

static void keep(struct recorder_count *c, uint64_t **items, size_t *cap, size_t at, uint64_t hash)
{
	if (at >= *cap) {
		size_t more = *cap ? 2 * *cap : 256;
		while (more <= at)
			more *= 2;
		uint64_t *grown = realloc(*items, more * sizeof *grown);
		if (!grown) {
			c->failed = true;
			return;
		}
		memset(grown + *cap, 0, (more - *cap) * sizeof *grown);
		*items = grown;
		*cap = more;
	}
	(*items)[at] = hash;
}

void recorder_count_begin(struct recorder_count *c)
{
	iocount_clear(c->counter);
	if (c->cap_texts)
		memset(c->text_hashes, 0, c->cap_texts * sizeof *c->text_hashes);
	if (c->cap_handles)
		memset(c->handle_hashes, 0, c->cap_handles * sizeof *c->handle_hashes);
}

void recorder_count_text(struct recorder_count *c, uint32_t number, const char *text, size_t n)
{
	iocount_text(c->counter, number, text, n);
	keep(c, &c->text_hashes, &c->cap_texts, number, hash_of(text, n));
}

void recorder_count_handle(struct recorder_count *c, const struct recorder_handle *h)
{
	struct iocount_handle to = { .number = h->number, .path = h->path,
				     .type = (enum io_file_type)h->type,
				     .interface = (enum io_interface)h->interface };
	(void)iocount_handle(c->counter, &to);
	keep(c, &c->handle_hashes, &c->cap_handles, h->number,
	     h->path && h->path < c->cap_texts ? c->text_hashes[h->path] : 0);
}

/* ---- calls --------------------------------------------------------------------------------------
 */

void recorder_count_event(struct recorder_count *c, const struct recorder_event *r)
{
	const struct io_call_info *info = io_call_info(r->event.call);
	iocount_events(c->counter, c->flow, &r->event, 1);
	if (!r->bytes_unknown)
		return;
	bool write = info->kind == IO_WRITE;
	uint64_t file = r->handle < c->cap_handles ? c->handle_hashes[r->handle] : 0;
	c->unknown_by[info->interface][r->event.depth > 0][write]++;
	if (r->event.depth)
		return;
	c->unknown[write]++;
	if (file && darshan_ids_add(&c->unknown_files[write], file) < 0)
		c->failed = true;
}

void recorder_count_mpi(struct recorder_count *c, const struct recorder_event *r)
{
	struct io_event e = r->event;
	e.call = (uint16_t)r->mpi;
	iocount_mpi(c->counter, c->flow, &e, 1);
}

int recorder_count_end(struct recorder_count *c, size_t rank, struct err *err)
{
	struct iopicture *p = arena_alloc(&c->arena, sizeof *p);
	const struct iopicture **pictures =
		arena_grow(&c->arena, c->pictures, &c->cap, c->n + 1, sizeof *pictures);
	if (!p || !pictures || c->failed)
		return err_set(err, -ENOMEM, "out of memory");
	iopicture_clear(p);
	p->collector = "recorder";
	p->final = YES;
	p->rank = arena_printf(&c->arena, "%zu", rank);
	/* One clock for all of them: its 0 is the start of the run. */
	p->real_s = floor(c->begin_s);
	p->real_ns = floor((c->begin_s - p->real_s) * 1e9);
	c->pictures = pictures;
	pictures[c->n++] = p;
	return p->rank ? iocount_picture(c->counter, c->flow, &c->arena, p, err)
		       : err_set(err, -ENOMEM, "out of memory");
}

/* ---- into the record ----------------------------------------------------------------------------
 */

static void forget(struct io_sums *s, const uint64_t unknown[2])
{
	s->failed_ops = NAN;
	if (unknown[0])
		s->read_bytes = NAN;
	if (unknown[1])
		s->write_bytes = NAN;
}

static void forget_in_file(const struct recorder_count *c, struct io_file *f)
{
	uint64_t unknown[2] = { 0, 0 };
	for (int w = 0; w < 2 && f->name; w++)
		unknown[w] = darshan_ids_has(&c->unknown_files[w], hash_of(f->name, strlen(f->name)));
	forget(&f->whole, unknown);
	/* Its type and its file system's block were not looked at. */
	f->type = NULL;
	f->block_bytes = f->whole_pattern.unaligned_ops = NAN;
	if (unknown[0] || unknown[1])
		block_clear(&io_pattern_block, &f->whole_pattern);
}

static void forget_unknown(const struct recorder_count *c, struct record *rec)
{
	struct io *io = &rec->body.io;
	forget(&io->whole, c->unknown);
	io->dropped_ops = NAN;
	if (!io->mpi.n) /* most traces were told to keep none of MPI's */
		io->mpi.items = NULL;
	for (size_t i = 0; i < io->interfaces.n; i++) {
		struct io_by_interface *row = &io->interfaces.items[i];
		unsigned interface = 0;
		while (interface < IO_INTERFACES - 1 && strcmp(row->name, io_interface_name(interface)) != 0)
			interface++;
		forget(&row->whole, c->unknown_by[interface][row->within != NULL]);
	}
	for (size_t i = 0; i < io->files.n; i++)
		forget_in_file(c, &io->files.items[i]);
	if (c->unknown[0] || c->unknown[1]) {
		io->series.items = NULL;
		io->series.n = 0;
	}
}

/* Of a live program streams have calls without a time and nothing is said; here none should. */
static int say_untimed(struct record *rec)
{
	const struct record_body *b = &rec->body;
	if (!(b->io.whole.untimed_ops > 0))
		return 0;
	const char *text = arena_printf(
		&rec->arena, "%.0f calls end before they begin: they are in no time.",
		b->io.whole.untimed_ops);
	for (size_t i = 0; text && i < b->caveats.n; i++)
		if (strcmp(b->caveats.items[i].code, "io_untimed") == 0) {
			b->caveats.items[i].text = text;
			return 0;
		}
	return text ? record_caveat(rec, "io_untimed", "%s", text) : -ENOMEM;
}

int recorder_count_put(struct recorder_count *c, struct record *rec, struct err *err)
{
	int64_t begun = (int64_t)floor(c->begin_s) * 1000000000 +
			(int64_t)floor((c->begin_s - floor(c->begin_s)) * 1e9);
	int rc = iomerge_put_record(rec, c->pictures, c->n, begun);
	if (!rc)
		rc = say_untimed(rec);
	if (rc)
		return err_set(err, rc, "out of memory");
	forget_unknown(c, rec);
	if (!c->unknown[0] && !c->unknown[1])
		return 0;
	rc = record_caveat(rec, "recorder_bytes_unknown",
			   "Of %llu reads and %llu writes the trace does not tell how many bytes they were about "
			   "(a datatype of the program's own, readv, writev): sums that need them are null.",
			   (unsigned long long)c->unknown[0], (unsigned long long)c->unknown[1]);
	return rc ? err_set(err, rc, "out of memory") : 0;
}
