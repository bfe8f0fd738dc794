/* errno to HTTP, in one table. */
#include "daemon/answer.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "report/data.h"
#include "schema/codec.h"

static const struct {
	int status;
	const char *title;
} titles[] = {
	{ 200, "OK" },
	{ 204, "No Content" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 421, "Misdirected Request" },
	{ 500, "Internal Server Error" },
	{ 503, "Service Unavailable" },
	{ 507, "Insufficient Storage" },
};

const char *status_title(int status)
{
	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

static const struct {
	int rc, status, retry_s;
	const char *detail; /* NULL: the sentence itself */
} failures[] = {
	{ -ENOENT, 404, 0, NULL },
	{ -EINVAL, 400, 0, NULL },
	{ -ENAMETOOLONG, 414, 0, NULL },
	{ -EBUSY, 503, 2, "the database is busy; try again" },
	{ -ENOMEM, 503, 5, "out of memory; try again" },
	{ -ENOSPC, 507, 0, "no space left for the database" },
};

void answer_done(struct answer *a)
{
	buf_done(&a->body);
}

void answer_tag(struct answer *a)
{
	report_hash(a->etag, &a->body);
}

void answer_problem(struct answer *a, int status, const char *detail, const char *instance)
{
	a->body.len = 0;
	a->status = status;
	a->media = MEDIA_PROBLEM;
	a->etag[0] = a->link[0] = 0;
	json_t *o = json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", "about:blank", "title",
			      status_title(status), "status", status, "detail", detail, "instance",
			      instance);
	if (!o || json_text(&a->body, o))
		buf_printf(&a->body, "{\"title\":\"%s\",\"status\":%d}", status_title(status),
			   status);
	buf_puts(&a->body, "\n");
	json_decref(o);
}

void answer_failure(struct answer *a, int rc, const struct err *err, const char *instance)
{
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		if (failures[i].rc != rc)
			continue;
		a->retry_s = failures[i].retry_s;
		answer_problem(a, failures[i].status,
			       failures[i].detail ? failures[i].detail : err->text, instance);
		return;
	}
	answer_problem(a, 500, "the daemon's log says more", instance);
}
