/* Files that are cut: what a full disk, a killed copy or a broken network leaves. Each is cut at
 * many places, and goes the way that whole ones go. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/conform.h"
#include "core/finish.h"
#include "lib/num.h"

enum { CUTS = 256 }; /* of a file; where it is shorter, each of its bytes */

struct cutting {
	const struct conform_file *files;
	size_t n;
	const char *execution; /* name that the files are taken to be of */
	double cuts, silent;   /* of pictures: all, and those whose record does not tell */
	double log_cuts, log_wrong;
};

static size_t place_of(const struct conform_file *f, size_t i)
{
	return f->n <= CUTS ? i : (size_t)((double)f->n * (double)i / CUTS);
}

/* ---- pictures ---- */

static int gather(struct cutting *t, struct observed *seen, struct roi_logs *logs, struct arena *a,
		  size_t which, size_t length)
{
	struct carried_log *marks = arena_array(a, t->n + 1, sizeof *marks);
	struct carried_picture *pictures = arena_array(a, t->n + 1, sizeof *pictures);
	size_t n_marks = 0, n_pictures = 0;
	if (!marks || !pictures)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		const struct conform_file *f = &t->files[i];
		if (f->picture)
			pictures[n_pictures++] = (struct carried_picture){
				.file = f->name, .bytes = f->bytes, .n = i == which ? length : f->n
			};
		else
			marks[n_marks++] = (struct carried_log){ .file = f->name,
								 .bytes = f->bytes,
								 .n = f->n,
								 .threads = (double)NAN };
	}
	int rc = observed_logs(seen, logs, a, marks, n_marks, NULL);
	return rc ? rc : observed_pictures(seen, a, pictures, n_pictures, NULL);
}

/* Does the record say nothing, or a number that only the lost picture could have told? */
static bool is_wrong(const struct record_body *r)
{
	return known(r->device.compute_ops) || known(r->device.busy_s) ||
	       known(r->context.whole_process.compute_ops) || known(r->io.whole.write_ops) ||
	       known(r->io.read_bytes) || r->io.files.n || !conform_said(r, "picture_unreadable");
}

static int cut_picture(struct cutting *t, size_t which, size_t length)
{
	struct arena a = { 0 };
	struct record rec;
	struct roi_logs logs = { 0 };
	struct observed seen = { .end = END_EXITED,
				 .start_real_ns = ROI_UNKNOWN,
				 .end_real_ns = ROI_UNKNOWN };
	record_init(&rec);
	block_clear(&execution_block, &seen.row);
	seen.row.name = t->execution;
	seen.row.exit_code = 0;
	rec.body.measurement.region = "markers";
	int rc = gather(t, &seen, &logs, &a, which, length);
	if (!rc)
		rc = assemble(&rec, &seen, 1, NULL);
	t->cuts++;
	t->silent += !rc && is_wrong(&rec.body);
	record_done(&rec);
	roilogs_done(&logs);
	arena_free(&a);
	return rc;
}

/* ---- logs of marks ---- */

static bool same_entry(const struct roi_entry *a, const struct roi_entry *b)
{
	return a->begin_ns == b->begin_ns && a->end_ns == b->end_ns &&
	       a->excluded_ns == b->excluded_ns;
}

/* Each entry of a cut log is one of the whole. That there are fewer is said; where only unused room
 * at the end is missing, there is nothing to say. */
static bool is_part(const struct roi_log *cut, const struct roi_log *whole)
{
	bool all = cut->begun == whole->begun && cut->open == whole->open &&
		   cut->n_entries == whole->n_entries && cut->steps == whole->steps;
	if ((!cut->damage && !all) || cut->begun > whole->begun || cut->steps > whole->steps)
		return false;
	for (size_t i = 0; i < cut->n_entries; i++) {
		bool found = false;
		for (size_t k = 0; k < whole->n_entries && !found; k++)
			found = same_entry(&cut->entries[i], &whole->entries[k]);
		if (!found)
			return false;
	}
	return true;
}

static int cut_log(struct cutting *t, const struct conform_file *f, size_t length)
{
	struct roi_logs whole = { 0 }, cut = { 0 };
	int rc = roilog_parse(&whole, f->name, f->bytes, f->n, NULL);
	int rc_cut = roilog_parse(&cut, f->name, f->bytes, length, NULL);
	if (rc != -ENOMEM && rc_cut != -ENOMEM) {
		t->log_cuts++;
		t->log_wrong += rc || whole.n != 1 ||
				(!rc_cut && !(cut.n == 1 && is_part(cut.items[0], whole.items[0])));
	}
	roilogs_done(&whole);
	roilogs_done(&cut);
	return rc == -ENOMEM || rc_cut == -ENOMEM ? -ENOMEM : 0;
}

/* ---- together ---- */

static void put(struct conform *c, const char *name, double wrong, double cuts, const char *text)
{
	char *detail = arena_printf(c->arena, "%.0f cuts of the files: %s", cuts, text);
	struct check *k =
		conform_add(c, "cut", name, cuts > 0 ? detail : "there was no file to cut");
	k->unit = "1";
	k->value = wrong;
	k->expected = 0;
	k->tolerance = 0;
	conform_verdict(k, cuts > 0 && wrong == 0);
}

int conform_cut(struct conform *c, const struct conform_file *files, size_t n,
		const char *collector, struct err *err)
{
	bool none = strcmp(collector, "none") == 0;
	struct cutting t = { .files = files, .n = n };
	t.execution = arena_printf(c->arena, "profiled.%s", collector);
	int rc = t.execution ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		for (size_t k = 0; !rc && k < CUTS && k < files[i].n; k++) {
			size_t length = place_of(&files[i], k);
			rc = files[i].picture ? cut_picture(&t, i, length)
					      : cut_log(&t, &files[i], length);
		}
	if (rc)
		return err_set(err, rc, "out of memory while files are cut");
	put(c, "marks", t.log_wrong, t.log_cuts,
	    "logs of marks that were taken without a word, or with a number that is not theirs");
	if (none)
		conform_add(c, "cut", "picture", "no collector was used, and only one leaves these")
			->verdict = "skipped";
	else
		put(c, "picture", t.silent, t.cuts,
		    "pictures that were taken, or whose record does not say what is missing");
	return 0;
}
