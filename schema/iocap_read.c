/* The blocks of a capture's file: tables are read at once, of columns it is noted where they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/iocap_impl.h"

#define PAST_EACH ((ptrdiff_t)8 << 20) /* bytes of a mapped file, then they may leave memory */
/* A text begins as the one before does: a small file could become any amount of texts. Writers' are
 * far from this. */
#define TEXTS_FOR_BYTE 512u
#define TEXTS_ALWAYS ((size_t)64 << 20)

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static const char *read_name(struct arena *a, struct iocap_in *in)
{
	uint64_t n = iocap_varint(in);
	if (!n)
		return NULL;
	const uint8_t *p = iocap_take(in, n - 1);
	return p ? arena_printf(a, "%.*s", (int)(n > 65536 ? 65536 : n - 1), (const char *)p)
		 : NULL;
}

static int read_facts(struct iocap *c, struct rprocess *p, struct iocap_in *in, struct err *err)
{
	struct iocap_process *f = &p->facts;
	f->pid = iocap_unzigzag(iocap_varint(in));
	f->parent = iocap_unzigzag(iocap_varint(in));
	f->rank = iocap_unzigzag(iocap_varint(in));
	f->real_minus_mono_ns = iocap_unzigzag(iocap_varint(in));
	f->timed = iocap_varint(in) != 0;
	f->step_ns = iocap_varint(in);
	f->host = read_name(&c->arena, in);
	f->program = read_name(&c->arena, in);
	f->source = read_name(&c->arena, in);
	return in->bad || !f->step_ns ? iocap_bad(p, err, "what it says of its process") : 0;
}

static int read_texts(struct iocap *c, struct rprocess *p, struct iocap_in *in, struct err *err)
{
	uint64_t *x[4];
	size_t n[4], at = 0, before = 0;
	int rc = -EINVAL;
	int64_t number = 0;
	char *last = NULL;
	for (int i = 0; i < 4; i++)
		x[i] = iocap_column_read(in, COLUMN_MAX, &n[i]);
	if (in->bad || n[0] != n[1] || n[0] != n[2])
		goto done;
	if (iocap_table_room(c, n[0] * sizeof *p->texts, err)) {
		rc = -EFBIG;
		goto done;
	}
	for (size_t i = 0; i < n[0]; i++) {
		number += iocap_unzigzag(x[0][i]) + 1;
		size_t prefix = x[1][i], suffix = x[2][i];
		if (prefix > before || suffix > n[3] - at || number < 0 || number > UINT32_MAX)
			goto done;
		p->text_bytes += prefix + suffix;
		if (p->text_bytes > TEXTS_ALWAYS &&
		    p->text_bytes - TEXTS_ALWAYS > p->sums.bytes * TEXTS_FOR_BYTE)
			goto done;
		if (iocap_more((void **)&p->texts, p->n_texts, &p->texts_cap, sizeof *p->texts))
			rc = -ENOMEM;
		char *text = rc == -ENOMEM ? NULL : arena_alloc(&c->arena, prefix + suffix + 1);
		if (!text) {
			rc = -ENOMEM;
			goto done;
		}
		if (prefix)
			memcpy(text, last, prefix);
		for (size_t k = 0; k < suffix; k++)
			text[prefix + k] = (char)x[3][at++];
		text[prefix + suffix] = 0;
		last = text;
		before = prefix + suffix;
		p->texts[p->n_texts++] = (struct text){ (uint32_t)number, (uint32_t)before, text };
	}
	rc = at == n[3] ? 0 : -EINVAL;
done:
	for (int i = 0; i < 4; i++)
		free(x[i]);
	return rc == -ENOMEM  ? iocap_no_memory(c, err)
	       : rc == -EFBIG ? rc
	       : rc	      ? iocap_bad(p, err, "its texts")
			      : 0;
}

static int read_infos(struct rprocess *p, const struct iocap_block_in *b, struct err *err)
{
	struct iocap_in in = b->in;
	struct iocap_handle h = { 0 };
	for (uint32_t i = 0; i < b->items; i++) {
		h.path = (uint32_t)(h.path + (uint64_t)iocap_unzigzag(iocap_varint(&in)));
		uint64_t type = iocap_varint(&in);
		h.type = (uint8_t)(type >> 1);
		h.was_open = type & 1;
		h.interface = (uint8_t)iocap_varint(&in);
		h.flags = iocap_unzigzag(iocap_varint(&in));
		h.device ^= iocap_varint(&in);
		h.inode += (uint64_t)iocap_unzigzag(iocap_varint(&in));
		if (in.bad)
			return iocap_bad(p, err, "its handles");
		if (iocap_more((void **)&p->infos, p->n_infos, &p->infos_cap, sizeof *p->infos))
			return no_memory(err);
		p->infos[p->n_infos++] = h;
	}
	return 0;
}

static int read_signatures(struct rprocess *p, const struct iocap_block_in *b, struct err *err)
{
	struct iocap_in in = b->in;
	for (uint32_t k = 0; k < b->items; k++) {
		struct iocap_signature s = { 0 };
		uint64_t call = iocap_varint(&in), depth = iocap_varint(&in),
			 how = iocap_varint(&in);
		s.call = (uint16_t)call;
		s.depth = (uint8_t)depth;
		bool good = call <= UINT16_MAX && depth <= UINT8_MAX;
		for (unsigned i = 0; i < IOCAP_FIELDS; i++) {
			s.how[i] = how >> 4 * i & 15;
			good = good && s.how[i] <= IOCAP_ASKED;
			if (s.how[i] == IOCAP_FIXED || s.how[i] == IOCAP_SLOT ||
			    s.how[i] == IOCAP_STEP || s.how[i] == IOCAP_DELTA)
				s.value[i] = iocap_unzigzag(iocap_varint(&in));
		}
		if (in.bad || !good)
			return iocap_bad(p, err, "its signatures");
		if (iocap_more((void **)&p->signatures, p->n_signatures, &p->signatures_cap,
			       sizeof *p->signatures))
			return no_memory(err);
		p->signatures[p->n_signatures++] = s;
		if (s.call == IO_CALL_NONE && s.how[0] == IOCAP_COLUMN && s.how[1] == IOCAP_NONE)
			p->switches = (uint32_t)p->n_signatures;
	}
	return 0;
}

static struct rstream *stream_of(struct rprocess *p, unsigned number)
{
	if (number == IOCAP_HANDLES)
		return &p->streams[IOCAP_STREAMS];
	if (number >= IOCAP_STREAMS)
		return NULL;
	if (number >= p->n_streams)
		p->n_streams = number + 1;
	return &p->streams[number];
}

static int read_segment(struct rprocess *p, struct rstream *s, struct iocap_in in, bool open,
			struct err *err)
{
	bool handles = s == &p->streams[IOCAP_STREAMS];
	struct segment g = { 0 };
	struct symbols symbols;
	g.first = iocap_varint(&in);
	g.symbols = iocap_varint(&in);
	g.thread = (uint32_t)iocap_varint(&in);
	g.list = iocap_varint(&in) != 0;
	g.in = in;
	if (open && g.first != s->symbols)
		return 0; /* it was closed since */
	if (in.bad || g.first != s->symbols)
		return iocap_bad(p, err, "the order of a stream's segments");
	int rc = iocap_table_room(p->of, sizeof *s->segments, err);
	rc = rc ? rc : iocap_symbols_read(p, &g, handles, &symbols, err);
	if (rc)
		return rc;
	g.events = symbols.events[0];
	g.rules = (uint32_t)symbols.n_rules;
	if (!handles) {
		p->sums.rules += g.list ? 0 : symbols.n_rules;
		p->sums.symbols += symbols.n_items;
		p->sums.listed += g.list ? g.events : 0;
	}
	rc = iocap_work(p->of, symbols.n_items + symbols.n_rules, err);
	iocap_symbols_free(&symbols);
	if (rc)
		return rc;
	if (__builtin_add_overflow(s->symbols, g.symbols, &s->symbols) ||
	    __builtin_add_overflow(s->events, g.events, &s->events))
		return iocap_bad(p, err, "the number of a stream's calls");
	if (iocap_more((void **)&s->segments, s->n_segments, &s->cap, sizeof *s->segments))
		return no_memory(err);
	s->segments[s->n_segments++] = g;
	return 0;
}

static int note(struct iocap *c, struct places *places, struct iocap_in in, struct err *err)
{
	int rc = iocap_table_room(c, sizeof *places->items, err);
	if (rc)
		return rc;
	if (iocap_more((void **)&places->items, places->n, &places->cap, sizeof *places->items))
		return no_memory(err);
	places->items[places->n++].in = in;
	return 0;
}

/* Items that a block can have: each takes a byte at least. */
static uint64_t at_most(const struct iocap_block_in *b)
{
	uint64_t bytes = (uint64_t)(b->in.end - b->in.at);
	return b->items < bytes ? b->items : bytes;
}

/* open: of what was under way. */
static int read_block(struct iocap *c, struct rprocess *p, struct iocap_block_in *b, bool open,
		      struct err *err)
{
	struct iocap_sums *sums = &p->sums;
	size_t bytes = IOCAP_BLOCK_HEAD + (size_t)(b->in.end - b->in.at);
	struct rstream *s = stream_of(p, b->stream);
	int rc;
	if (!s)
		return iocap_bad(p, err, "the number of a stream");
	switch (b->type) {
	case IOCAP_B_PROCESS:
		sums->table_bytes += bytes;
		return read_facts(c, p, &b->in, err);
	case IOCAP_B_TEXTS:
		sums->table_bytes += bytes;
		p->text_blocks++;
		return read_texts(c, p, &b->in, err);
	case IOCAP_B_INFOS:
		sums->table_bytes += bytes;
		p->info_blocks++;
		rc = iocap_table_room(c, at_most(b) * sizeof *p->infos, err);
		return rc ? rc : read_infos(p, b, err);
	case IOCAP_B_SIGNATURES:
		sums->table_bytes += bytes;
		p->signature_blocks++;
		rc = iocap_table_room(c, at_most(b) * sizeof *p->signatures, err);
		return rc ? rc : read_signatures(p, b, err);
	case IOCAP_B_SEGMENT:
		sums->symbol_bytes += bytes;
		return read_segment(p, s, b->in, open, err);
	case IOCAP_B_VALUES:
		sums->value_bytes += bytes;
		return note(c, &s->values, b->in, err);
	case IOCAP_B_TIMES:
		sums->time_bytes += bytes;
		s->timed += b->items;
		return note(c, &s->times, b->in, err);
	case IOCAP_B_STATE:
		sums->dropped = iocap_varint(&b->in);
		sums->finished = iocap_varint(&b->in) != 0;
		(void)iocap_varint(&b->in);
		sums->calls = iocap_varint(&b->in);
		return b->in.bad ? iocap_bad(p, err, "its end") : 0;
	default:
		return 0; /* of a newer writer */
	}
}

/* How many blocks of its kind the file itself has; UINT64_MAX: of this kind nobody says. */
static uint64_t blocks_like(struct rprocess *p, const struct iocap_block_in *b)
{
	const struct rstream *s = stream_of(p, b->stream);
	switch (b->type) {
	case IOCAP_B_TEXTS:
		return p->text_blocks;
	case IOCAP_B_INFOS:
		return p->info_blocks;
	case IOCAP_B_SIGNATURES:
		return p->signature_blocks;
	case IOCAP_B_VALUES:
		return s ? s->values.n : UINT64_MAX;
	case IOCAP_B_TIMES:
		return s ? s->times.n : UINT64_MAX;
	default:
		return UINT64_MAX;
	}
}

/* What was under way when the process ended: it fits when all that was there then still is. Of a
 * kind of which more came later, it is in that. */
static int read_open(struct iocap *c, struct rprocess *p, const void *bytes, size_t n, size_t good,
		     struct err *err)
{
	struct iocap_in in = { bytes, (const uint8_t *)bytes + n, false }, look = in;
	struct iocap_block_in b;
	bool finished = false;
	uint64_t dropped = p->sums.dropped, wanted = UINT64_MAX, calls = 0;
	while (iocap_block_get(&look, &b))
		if (b.type == IOCAP_B_STATE) {
			dropped = iocap_varint(&b.in);
			finished = iocap_varint(&b.in) != 0;
			wanted = iocap_varint(&b.in);
			calls = iocap_varint(&b.in);
		}
	if (wanted > good)
		return 0;
	p->sums.dropped = dropped;
	p->sums.calls = calls;
	p->sums.finished = finished && wanted == good; /* nothing came after */
	int rc = 0;
	while (!rc && iocap_block_get(&in, &b)) {
		uint64_t has = blocks_like(p, &b);
		if (b.type == IOCAP_B_SEGMENT || (has < UINT64_MAX && iocap_varint(&b.in) == has))
			rc = read_block(c, p, &b, true, err);
	}
	return rc;
}

static int sum_up(struct rprocess *p, struct err *err)
{
	struct iocap_sums *sums = &p->sums;
	sums->signatures = p->n_signatures;
	sums->texts = p->n_texts;
	sums->handles = p->streams[IOCAP_STREAMS].symbols;
	sums->streams = p->n_streams;
	for (size_t i = 0; i < p->n_streams; i++) {
		const struct rstream *s = &p->streams[i];
		if (p->facts.timed && s->timed < s->events)
			return iocap_bad(p, err, "a stream has fewer times than calls");
		sums->events += s->events;
	}
	if (sums->calls < sums->events)
		sums->calls = sums->events; /* nobody said */
	return 0;
}

/* The next block, as it was; 0: there is none. What is made of the base's stays in the arena. */
static int next_block(struct iocap *c, struct rprocess *p, struct iocap_in *in,
		      const struct iocap_blocks *base, struct iocap_block_in *b, struct err *err)
{
	struct iocap_bytes payload = { 0 };
	if (!iocap_block_get(in, b))
		return 0;
	int rc = 1;
	if (base && !iocap_alike_block(b, base, &payload)) {
		rc = payload.failed
			     ? no_memory(err)
			     : err_set(err, -EINVAL,
				       "%s: the capture is stored as what differs from another "
				       "file, and does not belong to the one that is there",
				       p->name);
	} else if (payload.len) {
		uint8_t *copy = arena_alloc(&c->arena, payload.len);
		if (copy)
			memcpy(copy, payload.data, payload.len);
		b->in = (struct iocap_in){ copy, copy ? copy + payload.len : NULL, false };
		rc = copy ? 1 : iocap_no_memory(c, err);
	}
	iocap_bytes_done(&payload);
	return rc;
}

static int read_file(struct iocap *c, struct rprocess *p, struct iocap_in *in,
		     const struct iocap_blocks *base, struct err *err)
{
	const uint8_t *past = in->at;
	struct iocap_block_in b;
	bool first = true;
	int rc;
	if (base)
		(void)iocap_block_get(in, &b); /* says whose base */
	while ((rc = next_block(c, p, in, base, &b, err)) > 0) {
		if (first != (b.type == IOCAP_B_PROCESS))
			return iocap_bad(p, err, "its beginning");
		first = false;
		rc = read_block(c, p, &b, false, err);
		if (rc)
			return rc;
		if (in->at - past > PAST_EACH) {
			iocap_view_past(&p->file, past, in->at);
			past = in->at;
		}
	}
	return rc;
}

/* A process that was killed, or whose disk was full, before it wrote who it is: beside others it is
 * one of which nothing is known. */
static int cut_in_its_beginning(struct rprocess *p, size_t n)
{
	p->facts = (struct iocap_process){ .pid = -1, .parent = -1, .rank = -1, .step_ns = 1 };
	p->sums.bytes = n;
	p->sums.damaged = true;
	return 0;
}

int iocap_process_read(struct iocap *c, struct rprocess *p, const void *bytes, size_t n,
		       const struct iocap_blocks *base, const void *open, size_t n_open,
		       struct err *err)
{
	const uint8_t *begin = bytes;
	if (c->is_folder && n < 8 && memcmp(begin, IOCAP_MAGIC, n) == 0)
		return cut_in_its_beginning(p, n);
	if (n < 8 || memcmp(begin, base ? IOCAP_ALIKE_MAGIC : IOCAP_MAGIC, 8) != 0)
		return err_set(
			err, -EINVAL,
			"%s: no capture: it does not begin as one does; wanted is the folder "
			"that `roimeter capture -o` made",
			p->name);
	struct iocap_in in = { begin + 8, begin + n, false };
	p->sums.bytes = n;
	int rc = read_file(c, p, &in, base, err);
	if (rc)
		return rc;
	if (!p->facts.step_ns && c->is_folder)
		return cut_in_its_beginning(p, n);
	if (!p->facts.step_ns)
		return err_set(err, -EINVAL, "%s: the capture is cut in its beginning", p->name);
	p->sums.damaged = in.at != in.end;
	rc = open ? read_open(c, p, open, n_open, (size_t)(in.at - begin), err) : 0;
	return rc ? rc : sum_up(p, err);
}

void iocap_process_free(struct rprocess *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i <= IOCAP_STREAMS; i++) {
		free(p->streams[i].segments);
		free(p->streams[i].values.items);
		free(p->streams[i].times.items);
	}
	free(p->texts);
	free(p->infos);
	free(p->signatures);
	free(p->handle_numbers);
	free(p->handle_infos);
	iocap_symbols_free(&p->decoded);
	iocap_view_close(&p->file);
	iocap_view_close(&p->open);
	free(p);
}
