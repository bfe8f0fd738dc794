/* One writer after the other. */
#define _GNU_SOURCE
#include "import/io_capture.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"
#include "lib/num.h"
#include "schema/iocap.h"

static bool is_empty(const char *folder)
{
	DIR *dir = opendir(folder);
	bool empty = true;
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			empty = false;
	if (dir)
		(void)closedir(dir);
	return empty;
}

int io_capture_open(struct io_capture *c, const char *folder, struct err *err)
{
	struct stat st;
	memset(c, 0, sizeof *c);
	if (strlen(folder) >= sizeof c->folder)
		return err_set(err, -ENAMETOOLONG, "--capture: the folder's name is too long");
	memcpy(c->folder, folder, strlen(folder) + 1);
	bool there = stat(folder, &st) == 0;
	if (there && (!S_ISDIR(st.st_mode) || !is_empty(folder)))
		return err_set(err, -EEXIST, "--capture %s: something is there already; name a new folder",
			       folder);
	int rc = file_mkdirs(folder, err);
	c->made = !rc && !there;
	return rc;
}

int io_capture_begin(struct io_capture *c, const struct iocap_process *p, struct err *err)
{
	char name[48];
	(void)snprintf(name, sizeof name, "rank-%06lld", (long long)p->rank);
	int rc = iocap_file_open(&c->file, c->folder, name);
	if (rc)
		return err_set(err, rc, "write %s/%s: %s", c->folder, name, strerror(-rc));
	c->open = true;
	struct iocap_sink sink = { .append = iocap_file_append, .self = &c->file };
	rc = iocap_writer_new(&c->writer, p, &sink);
	if (rc)
		return err_set(err, rc, "out of memory");
	c->processes++;
	return 0;
}

int io_capture_end(struct io_capture *c, struct err *err)
{
	int rc = iocap_finish(c->writer);
	iocap_writer_free(c->writer);
	c->writer = NULL;
	/* Nothing is under way any more, so what would hold it goes. */
	(void)iocap_file_replace(&c->file, "", 0);
	iocap_file_close(&c->file);
	c->open = false;
	return rc ? err_set(err, rc, "write %s: %s", c->folder, strerror(-rc)) : 0;
}

int io_capture_close(struct io_capture *c, struct record *rec, struct err *err)
{
	struct io *io = &rec->body.io;
	struct iocap *capture;
	double bytes = 0, events = 0, rules = 0;
	int rc = iocap_open(&capture, c->folder, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < iocap_processes(capture); i++) {
		const struct iocap_sums *s = iocap_sums(capture, i);
		bytes += (double)s->bytes;
		events += (double)s->events;
		rules += (double)s->rules;
	}
	iocap_close(capture);
	char *absolute = realpath(c->folder, NULL);
	const char *folder = absolute ? absolute : c->folder;
	io->capture = record_text(rec, folder, strlen(folder));
	free(absolute);
	io->capture_bytes = num15(bytes);
	io->capture_events = num15(events);
	io->capture_rules = num15(rules);
	return io->capture ? 0 : err_set(err, -ENOMEM, "out of memory");
}

void io_capture_drop(struct io_capture *c)
{
	iocap_writer_free(c->writer);
	c->writer = NULL;
	if (c->open)
		iocap_file_close(&c->file);
	if (c->made)
		(void)file_remove_tree(c->folder, NULL);
}
