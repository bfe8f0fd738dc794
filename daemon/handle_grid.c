/* The grid as a table; and what the daemon says of itself. */
#include <jansson.h>
#include <math.h>

#include "daemon/csv.h"
#include "daemon/route.h"
#include "lib/version.h"

int handle_health(const struct call *c, struct answer *a, struct err *err)
{
	(void)c;
	return answer_json_take(
		a, json_pack("{s:s, s:s}", "status", "ok", "version", ROIMETER_VERSION_TEXT), err);
}

/* ---- report -------------------------------------------------------------------------------- */

static int csv_cell(void *arg, const struct cell *cell)
{
	struct buf *b = arg;
	const struct run_row *ok = &cell->ok;
	bool any = ok->run_id;
	csv_text(b, cell->suite);
	csv_text(b, cell->app);
	csv_text(b, cell->case_);
	csv_text(b, cell->platform);
	csv_text(b, any ? ok->run_id : NULL);
	csv_text(b, any ? ok->utc : NULL);
	csv_number(b, any ? ok->wall_s : (double)NAN);
	csv_number(b, any ? ok->min_s : (double)NAN);
	csv_number(b, any ? ok->max_s : (double)NAN);
	csv_number(b, any ? ok->cv : (double)NAN);
	csv_number(b, any ? ok->samples : (double)NAN);
	csv_number(b, (double)cell->runs);
	csv_text(b, cell->last.run_id);
	csv_text(b, cell->last.status);
	csv_end(b);
	return 0;
}

/* As a table; the JSON is the reporter's. */
int handle_report(const struct call *c, struct answer *a, struct err *err)
{
	buf_puts(&a->body, "suite,app,case,platform,run_id,utc,wall_s,min_s,max_s,cv,samples,"
			   "runs,last_run_id,last_status\r\n");
	return store_each_cell(c->store, target_param(c->target, "suite"), NULL, csv_cell, &a->body,
			       err);
}
