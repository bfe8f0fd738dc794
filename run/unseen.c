/* See unseen.h. */
#define _GNU_SOURCE
#include "run/unseen.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "node/program.h"
#include "schema/picture_name.h"
#include "schema/roilog.h"

#define TOLD_MAX 8 /* programs */

static bool is_io(const struct blob *b)
{
	return b->kind == BLOB_PICTURE && picture_ends_with(b->name, IOPICTURE_SUFFIX);
}

/* stream: of a process; NULL: any will do. */
static bool has_picture(const struct capture *c, const char *stream)
{
	size_t n = stream ? strlen(stream) : 0;
	for (size_t i = 0; i < c->n_blobs; i++) {
		const char *name = c->blobs[i].name;
		if (is_io(&c->blobs[i]) &&
		    (!stream || (strncmp(name, stream, n) == 0 && name[n] == '.')))
			return true;
	}
	return false;
}

static int note(struct capture *c, const char *path)
{
	char why[2 * PATH_MAX + 256];
	size_t told = 0;
	if (!path || !program_unreachable(why, sizeof why, path))
		return 0;
	const char *text = arena_printf(&c->arena, NOTE_PROGRAM "%s", why);
	for (size_t i = 0; text && i < c->notes.n; i++) {
		told += strncmp(c->notes.items[i], NOTE_PROGRAM, strlen(NOTE_PROGRAM)) == 0;
		if (strcmp(c->notes.items[i], text) == 0)
			return 0;
	}
	if (told >= TOLD_MAX)
		return 0;
	return text ? capture_note(c, text) : -ENOMEM;
}

int unseen_note(struct capture *c, const struct command *command)
{
	struct roi_logs logs = { 0 };
	int rc = 0;
	for (size_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].kind == BLOB_LOG)
			(void)roilog_parse(&logs, c->blobs[i].name, c->blobs[i].data, c->blobs[i].n,
					   NULL);
	for (size_t i = 0; !rc && i < logs.n; i++)
		if (logs.items[i]->stream && !has_picture(c, logs.items[i]->stream))
			rc = note(c, logs.items[i]->exe);
	roilogs_done(&logs);
	if (!rc && !has_picture(c, NULL)) {
		rc = note(c, command->path);
		if (!rc)
			rc = note(c, command->exe);
	}
	return rc;
}
