/* Unknown is null; times are those of the run's node. */
#include "daemon/progress.h"

#include <errno.h>

#include "daemon/values.h"
#include "schema/codec.h"

json_t *progress_json(const struct gather_running *r)
{
	return json_pack(
		"{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:s?, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:b, s:o}",
		"run_id", r->run, "suite", r->suite, "app", r->app, "case", r->case_, "platform",
		r->platform, "kind", r->kind, "user", r->user, "job", r->job, "announced",
		utc_json(r->announced_ns), "execution", r->exec, "execution_began",
		utc_json(r->exec_ns), "executions_done", number_json(r->done), "executions",
		number_json(r->planned), "steps", number_json(r->steps), "steps_expected",
		number_json(r->steps_expected), "processes", number_json(r->processes),
		"expected_s", number_json(r->expected_s), "ended", (int)r->ended, "expected_end",
		utc_json(r->end_ns));
}

int progress_text(struct buf *b, const struct gather_running *r)
{
	json_t *o = progress_json(r);
	int rc = o ? json_text(b, o) : -ENOMEM;
	json_decref(o);
	return rc || b->failed ? -ENOMEM : 0;
}
