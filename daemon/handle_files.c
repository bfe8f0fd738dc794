/* More of what a run did to its files: the capture that belongs to it, and its period. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/route.h"
#include "daemon/values.h"
#include "lib/num.h"
#include "report/capture.h"
#include "report/period.h"

#define FILES_MAX 4096               /* that are looked at */
#define BYTES_MAX ((size_t)64 << 20) /* of them together */

static int get(const struct call *c, struct record *rec, struct err *err)
{
	int rc = store_get_run(c->store, c->id, rec, err);
	return rc == -ENOENT ? err_set(err, rc, "there is no run \"%.60s\"", c->id) : rc;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* ---- the capture -------------------------------------------------------------------------------
 *
 * Records come from agents, too, so the folder that one names is not to be trusted: only plain
 * files of captures in it are opened, no more of them than there is room for, and what they tell is
 * only passed on where it is the capture that the record was made with. Errors of the system are
 * not: they would tell what else there is. */

static bool ends_with(const char *name, size_t n, const char *end)
{
	size_t m = strlen(end);
	return n > m && strcmp(name + n - m, end) == 0;
}

/* A file of a capture, and one of those that are there while its process runs. */
static bool is_ours(const char *name, bool *ret_open)
{
	size_t n = strlen(name);
	*ret_open = ends_with(name, n, IOCAP_SUFFIX "-open0") ||
		    ends_with(name, n, IOCAP_SUFFIX "-open1");
	return *ret_open || ends_with(name, n, IOCAP_SUFFIX);
}

/* NULL, or why what is in the folder is not opened. */
static const char *fault_within(DIR *d, double *ret_bytes)
{
	double all = 0;
	size_t n = 0;
	*ret_bytes = 0;
	for (struct dirent *e; (e = readdir(d));) {
		struct stat st;
		bool open;
		if (!is_ours(e->d_name, &open))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			return "something in the folder is no plain file";
		all += (double)st.st_size;
		*ret_bytes += open ? 0 : (double)st.st_size;
		if (++n > FILES_MAX || all > (double)BYTES_MAX)
			return "it is larger than what the daemon looks at; roimeter capture "
			       "--show prints it";
	}
	return n ? NULL : "there is no capture in the folder";
}

static const char *fault_of(const struct io *io)
{
	double bytes;
	if (!io->capture)
		return "no capture belongs to this run";
	int fd = io->capture[0] == '/'
			 ? open(io->capture, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
			 : -1;
	if (fd < 0)
		return "the folder is not on the machine of this daemon, or it may not read it";
	DIR *d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return "there is no memory to look at it";
	}
	const char *fault = fault_within(d, &bytes);
	(void)closedir(d);
	if (!fault && !(bytes == io->capture_bytes))
		fault = "what is in the folder is not what the record was made with";
	return fault;
}

static bool is_of(const struct iocap *c, const struct io *io)
{
	size_t unfinished;
	const struct iocap_sums all = report_capture_sums(c, &unfinished);
	return (double)all.bytes == io->capture_bytes &&
	       (!known(io->capture_events) || (double)all.events == io->capture_events);
}

/* One at a time: reading takes memory. */
static json_t *summary(const struct io *io, const char **ret_why)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct iocap *c = NULL;
	json_t *o = NULL;
	(void)pthread_mutex_lock(&one);
	*ret_why = fault_of(io);
	if (!*ret_why && iocap_open_within(&c, io->capture, BYTES_MAX, NULL))
		*ret_why = "what is in the folder can't be read as a capture";
	if (!*ret_why && !is_of(c, io))
		*ret_why = "what is in the folder is not what the record was made with";
	if (!*ret_why)
		o = report_capture(c, io->capture);
	iocap_close(c);
	(void)pthread_mutex_unlock(&one);
	return o;
}

int handle_run_capture(const struct call *c, struct answer *a, struct err *err)
{
	struct record rec;
	const char *why = NULL;
	int rc = get(c, &rec, err);
	if (!rc) {
		const struct io *io = &rec.body.io;
		json_t *of = summary(io, &why);
		json_t *complete = io->capture_complete == UNKNOWN
					   ? json_null()
					   : json_boolean(io->capture_complete == YES);
		rc = answer_json_take(
			a,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "run_id", rec.body.run_id,
				  "capture", text_or_null(io->capture), "execution",
				  text_or_null(io->execution), "complete", complete, "summary",
				  of ? of : json_null(), "reason", text_or_null(why)),
			err);
	}
	record_done(&rec);
	return rc;
}

/* ---- the period ------------------------------------------------------------------------------ */

int handle_run_period(const struct call *c, struct answer *a, struct err *err)
{
	const char *direction = target_param(c->target, "direction"),
		   *source = target_param(c->target, "source");
	struct report_period_input in = { 0 };
	struct report_period found = { 0 };
	struct record rec;
	const struct report_period_question q = { .direction = direction ? direction : "both",
						  .from_s = -INFINITY,
						  .to_s = INFINITY };
	int rc = report_period_check(q.direction, source, err);
	if (rc)
		return rc;
	rc = get(c, &rec, err);
	if (!rc) {
		buf_puts(&in.of, rec.body.run_id);
		rc = report_period_series(&in, &rec.body, source, err);
	}
	if (!rc)
		rc = report_period_ask(&found, &in, &q, err);
	if (!rc) {
		json_t *o = report_period_json(&found.answer);
		if (o && !in.source[0]) { /* not seen is not the same as nothing */
			(void)json_object_set_new(o, "why_not", json_string(REPORT_PERIOD_UNSEEN));
			(void)json_object_set_new(o, "bytes", json_null());
		}
		rc = answer_json_take(a, o, err);
	}
	report_period_done(&found);
	report_period_input_done(&in);
	record_done(&rec);
	return rc;
}
