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
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
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

struct failure {
	int rc, status, retry_s;
	const char *detail; /* NULL: the sentence itself */
};

static const struct failure failures[] = {
	{ -ENOENT, 404, 0, NULL },
	{ -EINVAL, 400, 0, NULL },
	{ -E2BIG, 413, 0, NULL },
	{ -ENAMETOOLONG, 414, 0, NULL },
	{ -EBUSY, 503, 2, "the database is busy; try again" },
	{ -ENOMEM, 503, 5, "out of memory; try again" },
	{ -ENOSPC, 507, 0, "no space left for the database" },
	{ 0, 500, 0, "the daemon's log says more" },
};

static const struct failure post_failures[] = {
	{ -EBADMSG, 400, 0, NULL },
	{ -EEXIST, 409, 0, NULL },
	{ -E2BIG, 413, 0, NULL },
	{ -EPROTONOSUPPORT, 415, 0, NULL },
	{ -EBUSY, 503, 2, "the database is busy; try again" },
	{ -ENOMEM, 503, 5, "out of memory; try again" },
	{ -ENOSPC, 503, 10, "no space left for the database; try again" },
	{ 0, 503, 10, "the database can't be written to; try again" },
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

/* The table ends with what stands for all others. */
static void answer_of(struct answer *a, const struct failure *f, int rc, const struct err *err,
		      const char *instance)
{
	while (f->rc && f->rc != rc)
		f++;
	a->retry_s = f->retry_s;
	answer_problem(a, f->status, f->detail ? f->detail : err->text, instance);
}

void answer_failure(struct answer *a, int rc, const struct err *err, const char *instance)
{
	answer_of(a, failures, rc, err, instance);
}

void answer_post_failure(struct answer *a, int rc, const struct err *err, const char *instance)
{
	answer_of(a, post_failures, rc, err, instance);
}
