/* What the outbox loses, by the kinds of its frames. */
#include <string.h>

#include "agent/outbox_impl.h"

void outbox_frame_times(const struct frame *f, int64_t *ret_from, int64_t *ret_to)
{
	int64_t from = ROI_UNKNOWN, to = ROI_UNKNOWN;
	switch (f->type) {
	case FRAME_RUN_ANNOUNCE:
		from = f->as.run_announce.real_ns;
		break;
	case FRAME_EXECUTION_START:
		from = f->as.execution_start.real_ns;
		break;
	case FRAME_EXECUTION_END:
		from = f->as.execution_end.start_real_ns;
		to = f->as.execution_end.end_real_ns;
		break;
	case FRAME_PROCESS:
		from = f->as.process.real_ns;
		break;
	case FRAME_RUN_END:
		from = f->as.run_end.real_ns;
		break;
	case FRAME_CONTEXT:
		from = f->as.context.real_ns;
		break;
	case FRAME_LOSS:
		from = f->as.loss.from_real_ns;
		to = f->as.loss.to_real_ns;
		break;
	case FRAME_GAP:
		from = f->as.gap.from_real_ns;
		to = f->as.gap.to_real_ns;
		break;
	case FRAME_AGENT:
		from = f->as.agent.real_ns;
		break;
	case FRAME_NODE:
		from = f->as.node.real_ns;
		break;
	case FRAME_PICTURE:
		from = f->as.picture.real_ns;
		break;
	case FRAME_DECLARE:
		from = f->as.declare.real_ns;
		break;
	case FRAME_CONFORMANCE:
		from = f->as.conformance.real_ns;
		break;
	case FRAME_TYPES:
		break;
	}
	*ret_from = from == ROI_UNKNOWN ? to : from;
	*ret_to = to == ROI_UNKNOWN ? from : to;
}

/* What a frame is, for whoever reads of its loss, and whose it is. */
static const char *what_of(const struct frame *f, struct str *ret_run, struct str *ret_exec,
			   uint64_t *ret_bytes)
{
	switch (f->type) {
	case FRAME_RUN_ANNOUNCE:
		*ret_run = f->as.run_announce.run;
		*ret_bytes = f->as.run_announce.record.n;
		return "run";
	case FRAME_EXECUTION_START:
		*ret_run = f->as.execution_start.run;
		*ret_exec = f->as.execution_start.exec;
		return "run";
	case FRAME_EXECUTION_END:
		*ret_run = f->as.execution_end.run;
		*ret_exec = f->as.execution_end.exec;
		*ret_bytes = f->as.execution_end.row.n;
		return "run";
	case FRAME_RUN_END:
		*ret_run = f->as.run_end.run;
		*ret_bytes = f->as.run_end.record.n;
		return "run";
	case FRAME_PROCESS:
		*ret_run = f->as.process.run;
		*ret_exec = f->as.process.exec;
		*ret_bytes = f->as.process.data.n;
		return "process";
	case FRAME_CONTEXT:
		*ret_run = f->as.context.run;
		*ret_exec = f->as.context.exec;
		*ret_bytes = f->as.context.values.n;
		return "context";
	case FRAME_PICTURE:
		*ret_run = f->as.picture.run;
		*ret_exec = f->as.picture.exec;
		*ret_bytes = f->as.picture.data.n;
		return "picture";
	case FRAME_DECLARE:
		*ret_bytes = f->as.declare.cases.n;
		return "declare";
	case FRAME_CONFORMANCE:
		*ret_bytes = f->as.conformance.result.n;
		return "conformance";
	default:
		return "agent";
	}
}

void outbox_lose(struct outbox *o, const struct outbox_loss *loss)
{
	losses_add(o->losses, loss);
	o->losses_dirty = true;
	if (o->changed)
		o->changed(o->changed_arg);
}

void outbox_lose_frame(struct outbox *o, const struct frame *f, const char *why, const char *text)
{
	if (f->type == FRAME_LOSS) { /* its line says it all once more, later */
		losses_untold(o->losses);
		return;
	}
	if (f->type == FRAME_GAP)
		return;
	struct outbox_loss loss = { .why = why, .count = 1, .text = text };
	loss.what = what_of(f, &loss.run, &loss.exec, &loss.bytes);
	outbox_frame_times(f, &loss.from_real_ns, &loss.to_real_ns);
	outbox_lose(o, &loss);
}

void outbox_lose_batch(struct outbox *o, const void *bytes, size_t n, const char *why,
		       const char *text)
{
	struct frame f;
	int rc = batch_open(&o->in, bytes, n, NULL);
	while (!rc && batch_next(&o->in, &f, NULL) == 1)
		outbox_lose_frame(o, &f, why, text);
	if (!rc)
		return;
	/* Not even its frames can be told apart (no memory): one loss of this size. */
	outbox_lose(o, &(struct outbox_loss){ .what = "marks",
					      .why = why,
					      .count = 1,
					      .bytes = n,
					      .from_real_ns = ROI_UNKNOWN,
					      .to_real_ns = ROI_UNKNOWN,
					      .text = text });
}
