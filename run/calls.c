#define _GNU_SOURCE
#include "run/calls.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/num.h"
#include "schema/iocap.h"
#include "schema/iocap_alike.h"

bool calls_are_there(const char *folder)
{
	DIR *d = opendir(folder);
	bool there = false;
	for (struct dirent *e; d && !there && (e = readdir(d));)
		there = strstr(e->d_name, IOCAP_SUFFIX) != NULL;
	if (d)
		(void)closedir(d);
	return there;
}

int calls_check(const char *folder, struct err *err)
{
	if (!calls_are_there(folder))
		return 0;
	return err_set(err, -EEXIST,
		       "%s: there is a capture in it already; name another folder, or remove this "
		       "one",
		       folder);
}

int calls_make_folder(const char *folder, struct err *err)
{
	int rc = file_mkdirs(folder, err);
	if (!rc && access(folder, W_OK | X_OK) != 0)
		rc = err_set(err, -errno, "%s: no capture can be written into it: %s", folder,
			     strerror(errno));
	return rc;
}

void calls_variables(const char *folder, const char *step, struct env_pair *own, size_t *n)
{
	own[(*n)++] = (struct env_pair){ "ROIMETER_CAPTURE", folder };
	own[(*n)++] = (struct env_pair){ "ROIMETER_CAPTURE_STEP", step };
}

static void add_up(struct io_kept *ret, const struct iocap *c)
{
	ret->bytes = ret->calls = ret->events = ret->rules = ret->symbols = 0;
	ret->dropped_ops = ret->unfinished = 0;
	ret->processes = (double)iocap_processes(c);
	for (size_t i = 0; i < iocap_processes(c); i++) {
		const struct iocap_sums *s = iocap_sums(c, i);
		ret->bytes += (double)s->bytes;
		ret->calls += (double)s->calls;
		ret->events += (double)s->events;
		ret->rules += (double)s->rules;
		ret->symbols += (double)s->symbols;
		ret->dropped_ops += (double)s->dropped;
		ret->unfinished += !s->finished || s->damaged;
	}
}

int calls_sum_up(struct io_kept *ret, struct arena *a, const char *folder)
{
	struct iocap *c = NULL;
	struct err why = { "" };
	block_clear(&io_kept_block, ret);
	ret->folder = arena_strdup(a, folder);
	if (!ret->folder)
		return -ENOMEM;
	if (!calls_are_there(folder)) {
		ret->why = "no process wrote into it";
		return 0;
	}
	(void)iocap_alike_folder(folder);
	if (iocap_open(&c, folder, &why)) {
		ret->why = arena_strdup(a, why.text);
		return ret->why ? 0 : -ENOMEM;
	}
	add_up(ret, c);
	iocap_close(c);
	return 0;
}
