/* struct observed as a frame and back. */
#include "core/carry.h"

#include <errno.h>
#include <math.h>

#include "lib/num.h"
#include "schema/codec.h"

static void put_timer(struct frame_execution_end *f, struct carry *c, const struct timer_result *t)
{
	f->timer = t ? YES : NO;
	if (!t)
		return;
	f->timer_rc = t->rc;
	f->timer_why = str_of(t->why);
	f->timer_wall_s = t->wall_s;
	f->timer_steps = t->steps;
	f->timer_excluded_s = t->excluded_s;
	f->timer_setup_s = t->setup_s;
	for (size_t i = 0; i < t->n_parts; i++)
		batch_pair_put(&c->parts, str_of(t->parts[i].name), t->parts[i].seconds);
	f->timer_parts = batch_list(&c->parts);
}

int observed_put(struct frame *ret, struct carry *c, const char *run, const struct observed *seen)
{
	frame_clear(ret, FRAME_EXECUTION_END);
	struct frame_execution_end *f = &ret->as.execution_end;
	c->row.len = c->parts.len = c->notes.len = 0;
	arena_free(&c->texts);
	struct execution row = seen->row; /* programs print anything */
	if (block_clean(&c->texts, &execution_block, &row))
		return -ENOMEM;
	block_put(&c->row, &execution_block, &row);
	for (size_t i = 0; i < seen->notes.n; i++)
		batch_text_put(&c->notes, str_of(seen->notes.items[i]));
	f->run = str_of(run);
	f->exec = str_of(seen->row.name);
	f->end = (uint64_t)seen->end;
	f->start_real_ns = seen->start_real_ns;
	f->end_real_ns = seen->end_real_ns;
	f->row = batch_list(&c->row);
	f->fom_status = (uint64_t)seen->fom.status;
	f->fom = seen->fom.value;
	f->own_timer_status = (uint64_t)seen->own_timer.status;
	f->own_timer_s = seen->own_timer.value;
	f->notes = batch_list(&c->notes);
	f->processes = (double)seen->n_logs;
	put_timer(f, c, seen->timer);
	bool failed = c->row.failed || c->parts.failed || c->notes.failed;
	c->row.failed = c->parts.failed = c->notes.failed = false;
	return failed ? -ENOMEM : 0;
}

void carry_done(struct carry *c)
{
	buf_done(&c->row);
	buf_done(&c->parts);
	buf_done(&c->notes);
	arena_free(&c->texts);
}

char *arena_str(struct arena *a, struct str text)
{
	return text.p ? arena_strndup(a, text.p, text.n) : NULL;
}

static int get_notes(struct txts *to, struct arena *a, struct str list)
{
	size_t n = 0;
	struct str text;
	for (struct str l = list; batch_text_next(&l, &text);)
		n++;
	if (!n)
		return 0;
	to->items = arena_array(a, n, sizeof *to->items);
	if (!to->items)
		return -ENOMEM;
	while (batch_text_next(&list, &text)) {
		const char *copy = arena_str(a, text);
		if (!copy && text.p)
			return -ENOMEM;
		if (copy)
			to->items[to->n++] = copy;
	}
	return 0;
}

static int get_parts(struct timer_result *t, struct arena *a, struct str list)
{
	size_t n = 0;
	struct str name;
	double seconds;
	for (struct str l = list; batch_pair_next(&l, &name, &seconds);)
		n++;
	t->parts = n ? arena_array(a, n, sizeof *t->parts) : NULL;
	if (n && !t->parts)
		return -ENOMEM;
	while (batch_pair_next(&list, &name, &seconds)) {
		char *copy = arena_str(a, name);
		if (!copy && name.p)
			return -ENOMEM;
		if (copy)
			t->parts[t->n_parts++] =
				(struct timer_part){ .name = copy, .seconds = seconds };
	}
	return 0;
}

static int get_timer(struct observed *ret, struct arena *a, const struct frame_execution_end *f)
{
	if (f->timer != YES)
		return 0;
	struct timer_result *t = arena_alloc(a, sizeof *t);
	if (!t)
		return -ENOMEM;
	/* A timer that says neither that it was found nor why not was not found. */
	*t = (struct timer_result){ .rc = f->timer_rc == 0 ? 0 : -ENOENT,
				    .why = arena_str(a, f->timer_why),
				    .wall_s = f->timer_wall_s,
				    .steps = f->timer_steps,
				    .excluded_s = f->timer_excluded_s,
				    .setup_s = f->timer_setup_s };
	if (t->rc && !t->why)
		t->why = "the timer was not found";
	ret->timer = t;
	return get_parts(t, a, f->timer_parts);
}

static struct metric metric_of(uint64_t status, double value)
{
	return (struct metric){ .status = (enum metric_status)status,
				.value = status == METRIC_OK ? value : (double)NAN };
}

int observed_get(struct observed *ret, struct arena *a, const struct frame_execution_end *f,
		 struct err *err)
{
	*ret = (struct observed){ .start_real_ns = f->start_real_ns,
				  .end_real_ns = f->end_real_ns };
	if (f->end > END_NOT_STARTED || f->fom_status > METRIC_TOO_COSTLY ||
	    f->own_timer_status > METRIC_TOO_COSTLY ||
	    (f->fom_status == METRIC_OK && !known(f->fom)) ||
	    (f->own_timer_status == METRIC_OK && !known(f->own_timer_s)))
		return err_set(err, -EBADMSG, "the end of an execution says what can't be");
	ret->end = (enum end)f->end;
	ret->fom = metric_of(f->fom_status, f->fom);
	ret->own_timer = metric_of(f->own_timer_status, f->own_timer_s);
	int rc = block_get(a, &execution_block, &ret->row, f->row.p ? f->row.p : "", f->row.n, err);
	if (!rc && !ret->row.name)
		rc = err_set(err, -EBADMSG, "the end of an execution does not say of which");
	if (rc)
		return rc;
	rc = get_notes(&ret->notes, a, f->notes);
	if (!rc)
		rc = get_timer(ret, a, f);
	return rc ? err_set(err, rc, "the end of an execution: out of memory") : 0;
}
