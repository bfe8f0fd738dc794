/* See layouts.h. */
#include "run/layouts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "core/assemble.h"
#include "core/layout.h"

#define FIELD "io.files.layout"

static bool has_layout(const struct io_file *f)
{
	return f->filesystem && strcmp(f->filesystem, "lustre") == 0 && f->name && f->name[0] == '/';
}

/* 1: looked up; 0: the file is not there any more, or tells nothing. */
static int look(struct record *rec, struct io_file *f, const char *attribute)
{
	char bytes[64 << 10]; /* the most that an attribute has */
	struct layout l;
	ssize_t n = getxattr(f->name, attribute, bytes, sizeof bytes);
	if (n < 0 || layout_of_lustre(&l, bytes, (size_t)n))
		return 0;
	int rc = layout_put(rec, &f->layout, &l);
	return rc ? rc : 1;
}

/* The reason that was given before anybody could look is no longer true. */
static void forget_reason(struct record_body *b)
{
	size_t kept = 0;
	for (size_t i = 0; i < b->nulls.n; i++)
		if (strcmp(b->nulls.items[i].field, FIELD) != 0)
			b->nulls.items[kept++] = b->nulls.items[i];
	b->nulls.n = kept;
}

int layouts_look(struct record *rec, const char *attribute)
{
	struct io *io = &rec->body.io;
	size_t lost = 0, asked = 0;
	for (size_t i = 0; i < io->files.n; i++) {
		if (!has_layout(&io->files.items[i]))
			continue;
		int rc = look(rec, &io->files.items[i], attribute);
		if (rc < 0)
			return rc;
		lost += rc == 0;
		asked++;
	}
	if (!asked)
		return 0;
	forget_reason(&rec->body);
	int rc = record_null(rec, FIELD, lost ? "lost" : "not_supported");
	return rc ? rc : record_explain_nulls(rec);
}
