/* The checks of what a probe did to its files: sums inside of the region and of whole processes,
 * each file by itself, each interface, and that nothing is missing. */
#include <math.h>
#include <string.h>

#include "core/conform.h"
#include "lib/num.h"

const char *const conform_sums[CONFORM_SUMS] = { "read_bytes", "write_bytes", "read_ops",
						 "write_ops",  "open_ops",    "seek_ops",
						 "sync_ops",   "meta_ops",    "failed_ops" };
static const char *const whole_names[CONFORM_SUMS] = {
	"whole_read_bytes", "whole_write_bytes", "whole_read_ops",
	"whole_write_ops",  "whole_open_ops",    "whole_seek_ops",
	"whole_sync_ops",   "whole_meta_ops",    "whole_failed_ops",
};

static void take(double ret[CONFORM_SUMS], const struct io_sums *s)
{
	const double all[CONFORM_SUMS] = { s->read_bytes, s->write_bytes, s->read_ops,
					   s->write_ops,  s->open_ops,    s->seek_ops,
					   s->sync_ops,   s->meta_ops,    s->failed_ops };
	memcpy(ret, all, sizeof all);
}

/* ---- files ---- */

static bool same(const double *want, const struct io_sums *s)
{
	double got[CONFORM_SUMS];
	take(got, s);
	for (size_t i = 0; i < CONFORM_ACCESSES; i++)
		if (!(got[i] == want[i]))
			return false;
	return true;
}

static bool is_exact(const struct io *io, const struct conform_file_want *w)
{
	for (size_t i = 0; i < io->files.n; i++) {
		const struct io_file *f = &io->files.items[i];
		if (f->name && strcmp(f->name, w->name) == 0)
			return f->interface && strcmp(f->interface, w->interface) == 0 &&
			       same(w->inside, &f->roi) && same(w->whole, &f->whole);
	}
	return false;
}

static void each_file(struct conform *c, const struct conform_seen *seen,
		      const struct conform_want *want)
{
	double exact = 0;
	const char *wrong = NULL;
	for (size_t i = 0; i < want->n_files; i++) {
		bool good = is_exact(&seen->record->io, &want->files[i]);
		exact += good;
		if (!good && !wrong)
			wrong = want->files[i].name;
	}
	const char *detail =
		wrong ? arena_printf(c->arena,
				     "files whose bytes and calls are exact, inside and in whole; "
				     "the first that is not: %s",
				     wrong)
		      : "files whose bytes and calls are exact, inside and in whole";
	conform_near(c, seen, "files", "1", exact, want->n_files ? (double)want->n_files : NAN, 0,
		     detail ? detail : "");
}

/* ---- interfaces: what goes through one must not be told of another ---- */

static double wanted_of(const struct conform_want *want, const char *interface)
{
	double bytes = want->n_files ? 0 : NAN;
	for (size_t i = 0; i < want->n_files; i++)
		if (strcmp(want->files[i].interface, interface) == 0)
			bytes += want->files[i].whole[0] + want->files[i].whole[1];
	return bytes;
}

static double seen_of(const struct io *io, const char *interface)
{
	for (size_t i = 0; i < io->interfaces.n; i++) {
		const struct io_by_interface *x = &io->interfaces.items[i];
		if (!x->within && x->name && strcmp(x->name, interface) == 0)
			return x->whole.read_bytes + x->whole.write_bytes;
	}
	return NAN;
}

static void each_interface(struct conform *c, const struct conform_seen *seen,
			   const struct conform_want *want)
{
	conform_near(c, seen, "posix_bytes", "B", seen_of(&seen->record->io, "posix"),
		     wanted_of(want, "posix"), 0, "bytes that the program's calls of POSIX moved");
	conform_near(c, seen, "stdio_bytes", "B", seen_of(&seen->record->io, "stdio"),
		     wanted_of(want, "stdio"), 0, "bytes that its calls of stdio moved");
}

/* ---- all ---- */

void conform_files(struct conform *c, const struct conform_seen *seen,
		   const struct conform_want *want)
{
	const struct io *io = &seen->record->io;
	double inside[CONFORM_SUMS], whole[CONFORM_SUMS];
	take(inside, &io->roi);
	take(whole, &io->whole);
	conform_counts(c, seen, inside, want->files_inside, conform_sums, CONFORM_SUMS,
		       "inside the region");
	conform_counts(c, seen, whole, want->files_whole, whole_names, CONFORM_SUMS,
		       "of whole processes");
	if (seen->end == CONFORM_KILLED_AT_ONCE)
		return; /* what is left of that is no exact number */
	each_file(c, seen, want);
	each_interface(c, seen, want);
	conform_near(c, seen, "io_processes", "1", io->processes, want->processes, 0,
		     "processes whose calls about files were seen");
	conform_near(c, seen, "lost", "1", io->dropped_ops, 0, 0,
		     "calls that were seen and could not be counted");
	if (seen->end == CONFORM_ENDS && io->incomplete != NO && c->n) {
		struct check *k = &c->items[c->n - 1];
		conform_verdict(k, false);
		k->detail = "the record says that it is incomplete; its caveats say how";
	}
}
