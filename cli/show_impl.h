/* Inside of show.c and show_device.c: a page that grows line by line. */
#ifndef CLI_SHOW_IMPL_H
#define CLI_SHOW_IMPL_H

#include "cli/show.h"
#include "cli/table.h"

struct page {
	struct buf *b;
	const struct record_body *r;
};

void show_heading(struct page *p, const char *title);
void show_line(struct page *p, const char *label, const char *value);

/* The reason in the record's nulls for a field, or for the block that it is in; or NULL. */
const char *show_why(const struct page *p, const char *field);

/* A line that says nothing ("-", "not observed"), with the reason of the field that it is about. */
void show_null(struct page *p, const char *nothing, const char *label, const char *field);
/* show_null where x is not known. */
void show_seconds(struct page *p, const char *nothing, const char *label, const char *field,
		  double x);

/* A line only where there is something to say. */
void show_maybe_count(struct page *p, const char *label, double x);
void show_maybe_seconds(struct page *p, const char *label, double x);

void show_cell_seconds(struct text_table *t, double x);

/* show_device.c: the device, what the host did meanwhile, the operations */
void show_device(struct page *p);

/* show_io.c: files */
void show_io(struct page *p);

#endif
