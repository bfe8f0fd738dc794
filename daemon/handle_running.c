/* Runs in progress, all at once: for a page that opens, before events tell it the rest. */
#include <errno.h>
#include <jansson.h>

#include "daemon/progress.h"
#include "daemon/route.h"

static int add(void *arg, const struct gather_running *r)
{
	return json_array_append_new(arg, progress_json(r)) ? -ENOMEM : 0;
}

int handle_running(const struct call *c, struct answer *a, struct err *err)
{
	json_t *rows = json_array();
	int rc = rows ? gather_each_running(c->store, NULL, add, rows, err) : -ENOMEM;
	if (rc == -ENOMEM)
		rc = err_set(err, rc, "out of memory");
	if (!rc)
		rc = answer_json_take(a, json_pack("{s:O}", "runs", rows), err);
	json_decref(rows);
	return rc;
}
