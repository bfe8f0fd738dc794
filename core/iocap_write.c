/* A capture's streams and blocks. */
#include "core/iocap_write.h"

#include <errno.h>
#include <string.h>

#include "core/iocap_impl.h"
#include "lib/pages.h"

#define ITEMS_MAX 49152u /* of the grammar of a stream that is alone */
#define ITEMS_MIN 4096u
#define RUNS_LISTED 65536u   /* in a segment that is a list */
#define RUNS_PATIENCE 32768u /* after so many it shows whether a grammar is of use */
#define BACKOFF_MAX 16u
#define TIMES_EACH 65536u /* shared among streams */
#define TIMES_EACH_MIN 1024u
/* Of what is under way, so much is rather written for good than once more with each flush: */
#define OPEN_TIMES 4096u
#define OPEN_VALUES 16384u
#define OPEN_RUNS 16384u
#define OPEN_SIGNATURES 4096u

static void fail(struct iocap_writer *w, int rc)
{
	if (!w->rc)
		w->rc = rc;
}

/* Gives away what is in w->out. */
static void give(struct iocap_writer *w)
{
	if (w->out.failed)
		fail(w, -ENOMEM);
	if (!w->rc && w->out.len) {
		int rc = w->sink.append(w->sink.self, w->out.data, w->out.len);
		if (rc)
			fail(w, rc);
		else
			w->bytes += w->out.len;
	}
	w->out.len = 0;
}

static unsigned share(const struct iocap_writer *w, unsigned all, unsigned least)
{
	unsigned n = all / (w->n_streams ? w->n_streams : 1);
	return n < least ? least : n;
}

static void share_anew(struct iocap_writer *w)
{
	w->items_most = share(w, ITEMS_MAX, ITEMS_MIN);
	w->times_most = share(w, TIMES_EACH, TIMES_EACH_MIN);
}

static unsigned number_of(const struct iocap_writer *w, const struct stream *s)
{
	return s == &w->streams[IOCAP_STREAMS] ? IOCAP_HANDLES : (unsigned)(s - w->streams);
}

/* ---- blocks ---- */

/* Puts w->payload. What is under way says how many blocks of its kind the file has: when that has
 * more, it is out of date. */
static void put_block(struct iocap_writer *w, unsigned type, unsigned stream, size_t items)
{
	iocap_block_put(&w->out, type, stream, (uint32_t)items, &w->payload);
}

static void open_block(struct iocap_writer *w, unsigned type, unsigned stream, size_t items,
		       uint32_t before)
{
	w->open_payload.len = 0;
	iocap_varint_put(&w->open_payload, before);
	iocap_bytes_put(&w->open_payload, w->payload.data, w->payload.len);
	w->open_payload.failed |= w->payload.failed;
	iocap_block_put(&w->open, type, stream, (uint32_t)items, &w->open_payload);
}

static void signatures_payload(struct iocap_writer *w)
{
	const struct encoder *x = &w->encoder;
	w->payload.len = 0;
	for (uint32_t k = x->written; k < x->n; k++) {
		const struct iocap_signature *s = &x->items[k];
		uint64_t how = 0;
		for (unsigned i = 0; i < IOCAP_FIELDS; i++)
			how |= (uint64_t)s->how[i] << 4 * i;
		iocap_varint_put(&w->payload, s->call);
		iocap_varint_put(&w->payload, s->depth);
		iocap_varint_put(&w->payload, how);
		for (unsigned i = 0; i < IOCAP_FIELDS; i++)
			if (s->how[i] == IOCAP_FIXED || s->how[i] == IOCAP_SLOT ||
			    s->how[i] == IOCAP_STEP || s->how[i] == IOCAP_DELTA)
				iocap_varint_put(&w->payload, iocap_zigzag(s->value[i]));
	}
}

static void signatures_write(struct iocap_writer *w)
{
	struct encoder *x = &w->encoder;
	if (x->written == x->n)
		return;
	signatures_payload(w);
	put_block(w, IOCAP_B_SIGNATURES, 0, x->n - x->written);
	x->written = x->n;
	x->blocks++;
}

static size_t values_payload(struct iocap_writer *w, const struct stream *s)
{
	size_t n = 0;
	w->payload.len = 0;
	for (unsigned k = 0; k < IOCAP_VALUES; k++) {
		n += s->values[k].n;
		iocap_column_copy(&s->values[k], &w->payload, &w->scratch);
	}
	return n;
}

static void values_write(struct iocap_writer *w, struct stream *s)
{
	size_t n = values_payload(w, s);
	for (unsigned k = 0; k < IOCAP_VALUES; k++)
		s->values[k].n = 0;
	if (!n)
		return;
	put_block(w, IOCAP_B_VALUES, number_of(w, s), n);
	s->values_blocks++;
}

static void times_payload(struct iocap_writer *w, const struct stream *s)
{
	w->payload.len = 0;
	iocap_column_copy(&s->gaps, &w->payload, &w->scratch);
	iocap_column_copy(&s->lengths, &w->payload, &w->scratch);
}

static void times_write(struct iocap_writer *w, struct stream *s)
{
	if (!s->gaps.n)
		return;
	times_payload(w, s);
	put_block(w, IOCAP_B_TIMES, number_of(w, s), s->gaps.n);
	s->gaps.n = s->lengths.n = 0;
	s->times_blocks++;
}

/* ---- segments ---- */

static void segment_head(struct iocap_writer *w, const struct stream *s, bool list)
{
	w->payload.len = 0;
	iocap_varint_put(&w->payload, s->first);
	iocap_varint_put(&w->payload, s->symbols);
	iocap_varint_put(&w->payload, s->thread);
	iocap_varint_put(&w->payload, list);
}

static void list_run(struct iocap_writer *w, struct stream *s)
{
	iocap_column_put(&s->list_items, (uint64_t)s->run_symbol * 2);
	iocap_column_put(&s->list_times, s->run - 1);
	if (s->list_items.failed || s->list_times.failed)
		fail(w, -ENOMEM);
	s->run = 0;
}

/* With the run that may still become longer. */
static void list_payload(struct iocap_writer *w, struct stream *s)
{
	size_t n = s->list_items.n;
	uint64_t run = s->run;
	if (run)
		list_run(w, s);
	segment_head(w, s, true);
	iocap_column_copy(&s->list_items, &w->payload, &w->scratch);
	iocap_column_copy(&s->list_times, &w->payload, &w->scratch);
	s->list_items.n = s->list_times.n = n;
	s->run = run;
}

static void write_columns(struct iocap_writer *w, struct iocap_column *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		iocap_column_write(&c[i], &w->payload, &w->scratch);
		iocap_column_done(&c[i]);
	}
}

static void grammar_payload(struct iocap_writer *w, struct stream *s)
{
	struct iocap_column c[3] = { 0 };
	if (!iocap_grammar_write(&s->grammar, &c[0], &c[1], &c[2]))
		fail(w, -ENOMEM);
	segment_head(w, s, false);
	write_columns(w, c, 3);
}

/* The grammar as a segment, or as a list when that is smaller: then true. */
static bool grammar_or_list(struct iocap_writer *w, struct stream *s)
{
	struct iocap_column c[2] = { 0 };
	grammar_payload(w, s);
	if (s->grammar.runs >= (uint64_t)s->grammar.items * 8 || s->grammar.items <= 64)
		return false;
	struct iocap_bytes rules = w->payload;
	w->payload = (struct iocap_bytes){ 0 };
	bool ok = iocap_grammar_list(&s->grammar, &c[0], &c[1]);
	segment_head(w, s, true);
	write_columns(w, c, 2);
	if (ok && !w->payload.failed && w->payload.len < rules.len) {
		iocap_bytes_done(&rules);
		return true;
	}
	iocap_bytes_done(&w->payload);
	w->payload = rules;
	return false;
}

static void to_list(struct stream *s)
{
	s->listing = true;
	s->list_left = s->backoff = s->backoff ? s->backoff : 1;
	if (s->backoff < BACKOFF_MAX)
		s->backoff *= 2;
}

static void segment_close(struct iocap_writer *w, struct stream *s)
{
	if (!s->symbols)
		return;
	if (s->grammar.failed)
		fail(w, -ENOMEM);
	/* Before the segment, so that who sees that has them. Texts may come later: where blocks
	 * end should not hang on when calls are handed over, so that ranks that are alike have the
	 * same. */
	values_write(w, s);
	times_write(w, s);
	signatures_write(w);
	if (s == &w->streams[IOCAP_STREAMS])
		iocap_infos_write(w);
	if (s->listing) {
		list_payload(w, s);
		s->list_items.n = s->list_times.n = s->run = 0;
		if (s->list_left && !--s->list_left)
			s->listing = false;
	} else {
		if (grammar_or_list(w, s))
			to_list(s);
		else
			s->backoff = 1;
		iocap_grammar_reset(&s->grammar);
	}
	put_block(w, IOCAP_B_SEGMENT, number_of(w, s), 0);
	w->closed = true;
	s->first += s->symbols;
	s->symbols = 0;
	s->thread = s->model.thread;
	give(w);
}

/* A grammar that is of no use becomes a list, with what it has. */
static void give_up(struct iocap_writer *w, struct stream *s)
{
	if (!iocap_grammar_list(&s->grammar, &s->list_items, &s->list_times))
		fail(w, -ENOMEM);
	iocap_grammar_reset(&s->grammar);
	to_list(s);
}

void iocap_stream_symbol(struct iocap_writer *w, struct stream *s, uint32_t symbol)
{
	s->symbols++;
	s->dirty = true;
	if (s->listing) {
		if (s->run && s->run_symbol == symbol) {
			s->run++;
			return;
		}
		if (s->run)
			list_run(w, s);
		s->run_symbol = symbol;
		s->run = 1;
		if (s->list_items.n >= RUNS_LISTED)
			segment_close(w, s);
		return;
	}
	struct iocap_grammar *g = &s->grammar;
	iocap_grammar_put(g, symbol);
	if (g->failed)
		fail(w, -ENOMEM);
	else if (g->items >= w->items_most)
		segment_close(w, s);
	else if (g->runs == RUNS_PATIENCE && g->items > RUNS_PATIENCE / 10 * 6)
		give_up(w, s);
}

/* ---- streams ---- */

static void stream_new(struct iocap_writer *w, struct stream *s, uint32_t thread)
{
	s->used = true;
	s->thread = thread;
	iocap_model_init(&s->model, number_of(w, s));
	s->model.thread = thread;
}

static struct stream *stream_of(struct iocap_writer *w, uint32_t thread)
{
	struct stream *s = &w->streams[w->recent];
	w->turn++;
	for (unsigned i = 0; i < w->n_streams && (!s->used || s->model.thread != thread); i++)
		s = &w->streams[i];
	if (!s->used || s->model.thread != thread) {
		if (w->n_streams < IOCAP_STREAMS) {
			s = &w->streams[w->n_streams++];
			share_anew(w);
			stream_new(w, s, thread);
		} else {
			s = &w->streams[0];
			for (unsigned i = 1; i < IOCAP_STREAMS; i++)
				if (w->streams[i].turn < s->turn)
					s = &w->streams[i];
			uint32_t symbol = iocap_encode_switch(&w->encoder, s, thread);
			if (symbol == SIGNATURE_NONE) {
				fail(w, -ENOMEM);
				return s;
			}
			iocap_stream_symbol(w, s, symbol);
		}
	}
	s->turn = w->turn;
	w->recent = (unsigned)(s - w->streams);
	return s;
}

static uint64_t in_steps(const struct iocap_writer *w, uint64_t ns)
{
	uint64_t q = ns / w->step_ns;
	return q + (ns % w->step_ns >= w->step_ns - w->step_ns / 2);
}

static void put_times(struct iocap_writer *w, struct stream *s, const struct io_event *e)
{
	/* Of a call without a time there is when it was, about, or 0; its length is 0, others are
	 * one more. */
	bool untimed = !e->begin_ns && !e->end_ns;
	uint64_t begin = untimed ? e->when_ns : e->begin_ns, end = untimed ? begin : e->end_ns;
	if (w->step_ns > 1) {
		begin = in_steps(w, begin);
		end = in_steps(w, end);
	}
	iocap_column_put(&s->gaps, iocap_zigzag((int64_t)(begin - s->last_end)));
	iocap_column_put(&s->lengths, untimed ? 0 : end - begin + 1);
	if (begin)
		s->last_end = end;
}

/* Columns that are full are written. */
static void columns_check(struct iocap_writer *w, struct stream *s)
{
	unsigned most = w->times_most;
	bool full = false;
	for (unsigned k = 0; k < IOCAP_VALUES; k++)
		full |= s->values[k].n >= most;
	if (full)
		values_write(w, s);
	if (s->gaps.n >= most)
		times_write(w, s);
	if (w->out.len)
		give(w);
}

/* A segment is at its end: what it has of names is to be there, too, when the process is killed. */
void iocap_closed(struct iocap_writer *w)
{
	if (w->closed)
		iocap_flush(w, false);
}

void iocap_put_events(struct iocap_writer *w, const struct io_event *e, size_t n)
{
	if (w->finished)
		return;
	struct stream *s = NULL;
	size_t i = 0;
	for (; i < n && !w->rc; i++) {
		if (!s || s->model.thread != e[i].thread)
			s = stream_of(w, e[i].thread);
		uint32_t symbol = w->rc ? SIGNATURE_NONE : iocap_encode(&w->encoder, s, &e[i]);
		if (symbol == SIGNATURE_NONE || s->model.failed) {
			fail(w, -ENOMEM);
			break;
		}
		w->calls += e[i].count > 1 ? e[i].count : 1;
		if (w->timed)
			put_times(w, s, &e[i]);
		iocap_stream_symbol(w, s, symbol);
		columns_check(w, s);
	}
	for (; i < n; i++)
		w->dropped += e[i].count > 1 ? e[i].count : 1;
	iocap_closed(w);
}

void iocap_put_dropped(struct iocap_writer *w, uint64_t calls)
{
	w->dropped += calls;
}

/* ---- begin and end ---- */

static void put_name(struct iocap_bytes *b, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0; /* 0: not known */
	iocap_varint_put(b, n);
	if (n > 1)
		iocap_bytes_put(b, text, n - 1);
}

static void process_write(struct iocap_writer *w, const struct iocap_process *p)
{
	iocap_bytes_put(&w->out, IOCAP_MAGIC, 8);
	w->payload.len = 0;
	iocap_varint_put(&w->payload, iocap_zigzag(p->pid));
	iocap_varint_put(&w->payload, iocap_zigzag(p->parent));
	iocap_varint_put(&w->payload, iocap_zigzag(p->rank));
	iocap_varint_put(&w->payload, iocap_zigzag(p->real_minus_mono_ns));
	iocap_varint_put(&w->payload, p->timed);
	iocap_varint_put(&w->payload, w->step_ns);
	put_name(&w->payload, p->host);
	put_name(&w->payload, p->program);
	put_name(&w->payload, p->source);
	iocap_block_put(&w->out, IOCAP_B_PROCESS, 0, 0, &w->payload);
}

int iocap_writer_new(struct iocap_writer **ret, const struct iocap_process *p,
		     const struct iocap_sink *sink)
{
	struct iocap_writer *w = pages_resize(NULL, 0, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->sink = *sink;
	w->timed = p->timed;
	w->step_ns = p->step_ns ? p->step_ns : 1;
	w->names.cache = pages_resize(NULL, 0, INFO_CACHE * sizeof *w->names.cache);
	w->streams[IOCAP_STREAMS].used = true;
	share_anew(w);
	if (!iocap_encoder_init(&w->encoder) || !w->names.cache) {
		iocap_writer_free(w);
		return -ENOMEM;
	}
	process_write(w, p);
	give(w);
	int rc = w->rc;
	if (rc)
		iocap_writer_free(w);
	else
		*ret = w;
	return rc;
}

static void state_write(struct iocap_writer *w, struct iocap_bytes *out, bool finished)
{
	w->payload.len = 0;
	iocap_varint_put(&w->payload, w->dropped);
	iocap_varint_put(&w->payload, finished);
	/* What is under way goes on from here, and is worth nothing when less is there. */
	iocap_varint_put(&w->payload, w->bytes);
	iocap_varint_put(&w->payload, w->calls);
	iocap_block_put(out, IOCAP_B_STATE, 0, 0, &w->payload);
}

/* What is under way in a stream, to be written anew the next time; for good when that is much. */
static void stream_flush(struct iocap_writer *w, struct stream *s)
{
	unsigned number = number_of(w, s);
	size_t n = values_payload(w, s);
	if (n >= OPEN_VALUES)
		values_write(w, s);
	else if (n)
		open_block(w, IOCAP_B_VALUES, number, n, s->values_blocks);
	if (s->gaps.n >= OPEN_TIMES) {
		times_write(w, s);
	} else if (s->gaps.n) {
		times_payload(w, s);
		open_block(w, IOCAP_B_TIMES, number, s->gaps.n, s->times_blocks);
	}
	if (s->listing && s->list_items.n >= OPEN_RUNS) {
		segment_close(w, s);
		return;
	}
	if (s->listing)
		list_payload(w, s);
	else
		grammar_payload(w, s);
	iocap_block_put(&w->open, IOCAP_B_SEGMENT, number, 0, &w->payload);
}

/* Tables first: segments name what is in them. */
static void tables_flush(struct iocap_writer *w)
{
	struct encoder *x = &w->encoder;
	if (x->n - x->written >= OPEN_SIGNATURES) {
		signatures_write(w);
	} else if (x->n > x->written) {
		signatures_payload(w);
		open_block(w, IOCAP_B_SIGNATURES, 0, x->n - x->written, x->blocks);
	}
	struct names *n = &w->names;
	if (n->n) {
		iocap_texts_payload(w);
		open_block(w, IOCAP_B_TEXTS, 0, n->n, n->text_blocks);
	}
	if (n->pending_infos) {
		w->payload.len = 0;
		iocap_bytes_put(&w->payload, n->infos.data, n->infos.len);
		open_block(w, IOCAP_B_INFOS, 0, n->pending_infos, n->info_blocks);
	}
}

void iocap_flush(struct iocap_writer *w, bool all)
{
	bool dirty = all || w->dropped != w->dropped_written;
	for (unsigned i = 0; i <= IOCAP_STREAMS; i++)
		dirty |= w->streams[i].dirty;
	if (w->rc || w->finished || !dirty || !w->sink.replace)
		return;
	w->open.len = 0;
	tables_flush(w);
	for (unsigned i = 0; i <= IOCAP_STREAMS; i++) {
		struct stream *s = &w->streams[i];
		if (s->used && s->symbols)
			stream_flush(w, s);
		s->dirty = false;
	}
	give(w);
	state_write(w, &w->open, all);
	if (w->open.failed)
		fail(w, -ENOMEM);
	if (!w->rc)
		fail(w, w->sink.replace(w->sink.self, w->open.data, w->open.len));
	w->dropped_written = w->dropped;
	w->open_used = true;
	w->closed = false;
}

int iocap_finish(struct iocap_writer *w)
{
	if (w->finished)
		return w->rc;
	for (unsigned i = 0; i <= IOCAP_STREAMS && !w->rc; i++) {
		struct stream *s = &w->streams[i];
		if (s->used)
			segment_close(w, s);
	}
	signatures_write(w);
	iocap_texts_write(w);
	iocap_infos_write(w);
	state_write(w, &w->out, true);
	give(w);
	w->finished = true;
	if (!w->rc && w->open_used)
		fail(w, w->sink.replace(w->sink.self, NULL, 0));
	return w->rc;
}

void iocap_writer_free(struct iocap_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i <= IOCAP_STREAMS; i++) {
		struct stream *s = &w->streams[i];
		iocap_model_done(&s->model);
		iocap_grammar_done(&s->grammar);
		iocap_column_done(&s->list_items);
		iocap_column_done(&s->list_times);
		iocap_column_done(&s->gaps);
		iocap_column_done(&s->lengths);
		for (unsigned k = 0; k < IOCAP_VALUES; k++)
			iocap_column_done(&s->values[k]);
	}
	iocap_encoder_done(&w->encoder);
	iocap_names_done(&w->names);
	iocap_bytes_done(&w->payload);
	iocap_bytes_done(&w->out);
	iocap_bytes_done(&w->scratch);
	iocap_bytes_done(&w->open);
	iocap_bytes_done(&w->open_payload);
	(void)pages_resize(w, sizeof *w, 0);
}

uint64_t iocap_written_bytes(const struct iocap_writer *w)
{
	return w->bytes;
}
