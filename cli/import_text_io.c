/* Imported results about files as text. */
#include <math.h>
#include <string.h>

#include "cli/import_text.h"
#include "cli/table.h"
#include "cli/words.h"
#include "lib/num.h"

#define FILES_SHOWN 10

static void cell_bytes(struct text_table *t, double bytes)
{
	char a[32];
	if (known(bytes))
		text_cellf(t, "%s%s", num_si(a, bytes), bytes >= 999.5 ? "B" : " B");
	else
		text_cell(t, NULL);
}

static void cell_count(struct text_table *t, double count)
{
	if (known(count))
		text_cellf(t, "%.15g", count);
	else
		text_cell(t, NULL);
}

static void cells_of(struct text_table *t, const struct io_sums *s)
{
	char a[32];
	cell_bytes(t, s->read_bytes);
	cell_count(t, s->read_ops);
	cell_bytes(t, s->write_bytes);
	cell_count(t, s->write_ops);
	double time_s = s->read_s + s->write_s + s->meta_s;
	text_cell(t, known(time_s) ? num_duration(a, time_s) : NULL);
}

#define SUMS_COLUMNS                                                                               \
	{ "READ", true }, { "READS", true }, { "WRITTEN", true }, { "WRITES", true }, { "TIME", true }

static void put_interfaces(struct buf *b, const struct io *io)
{
	static const struct text_column columns[] = { { "INTERFACE", false }, SUMS_COLUMNS };
	struct text_table t = { .columns = columns, .n_columns = 6 };
	for (size_t i = 0; i < io->interfaces.n; i++) {
		const struct io_by_interface *row = &io->interfaces.items[i];
		text_cellf(&t, "%s%s%s", row->name, row->within ? " within " : "",
			   row->within ? row->within : "");
		cells_of(&t, &row->whole);
	}
	text_cell(&t, "the program's own");
	cells_of(&t, &io->whole);
	text_table_put(&t, "  ", b);
}

static void put_files(struct buf *b, const struct io *io)
{
	static const struct text_column columns[] = {
		{ "FILE", false }, { "BY", false }, { "PROCESSES", true }, SUMS_COLUMNS
	};
	struct text_table t = { .columns = columns, .n_columns = 8 };
	for (size_t i = 0; i < io->files.n && i < FILES_SHOWN; i++) {
		const struct io_file *f = &io->files.items[i];
		struct buf name = { 0 };
		if (f->name)
			words_plain(&name, f->name, strlen(f->name));
		text_cell(&t, name.failed ? NULL : name.data);
		text_cell(&t, f->interface);
		cell_count(&t, f->processes);
		cells_of(&t, &f->whole);
		buf_done(&name);
	}
	text_table_put(&t, "  ", b);
	double shown = io->files.n < FILES_SHOWN ? (double)io->files.n : FILES_SHOWN;
	double more = (double)io->files.n - shown + (io->files_folded > 0 ? io->files_folded : 0);
	if (more > 0)
		buf_printf(b, "  and %.15g files more\n", more);
}

void import_text_io(struct buf *b, const struct record *rec)
{
	const struct record_body *r = &rec->body;
	char a[32];
	buf_printf(b, "%s/%s on %s, %s\n", r->app, r->case_, r->platform,
		   r->provenance.imported_from);
	if (r->inputs.argv.n) {
		buf_puts(b, "  command    ");
		words_command(b, &r->inputs.argv);
		buf_puts(b, "\n");
	}
	buf_printf(b, "  ran        %s", num_duration(a, r->context.process_wall_s));
	if (known(r->io.processes))
		buf_printf(b, ", %.15g process%s", r->io.processes, r->io.processes == 1 ? "" : "es");
	buf_puts(b, "\n");
	put_interfaces(b, &r->io);
	if (r->io.files.n)
		put_files(b, &r->io);
	for (size_t i = 0; i < r->caveats.n; i++)
		words_wrapped(b, "  note: ", "    ", r->caveats.items[i].text);
	buf_puts(b, "\n");
}
