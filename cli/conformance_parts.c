/* The parts, one after the other: each a run of the probe, and its checks. */
#define _GNU_SOURCE
#include "cli/conformance_parts.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/file.h"
#include "lib/num.h"
#include "schema/picture.h"

/* A region that only a busy machine made longer is shorter the next time. */
#define TRIES 5
/* Collectors write down every second what they have. */
#define SETTLE "--kill-wait=2.5"
#define SMALL "--elements=65536", "--repeat=16" /* where the amount of work does not matter */

static const struct part {
	const char *name;
	const char *args[CONFORMANCE_ARGS];
	enum conform_end end;
	bool device; /* without a collector there is nothing in it to see */
} parts[CONFORMANCE_PARTS] = {
	{ "split", { NULL }, CONFORM_ENDS, false },
	{ "processes", { SMALL, "--processes=3" }, CONFORM_ENDS, false },
	{ "forks", { SMALL, "--processes=2", "--fork" }, CONFORM_ENDS, false },
	{ "queues", { SMALL, "--queues=4" }, CONFORM_ENDS, true },
	{ "graph", { SMALL, "--graph" }, CONFORM_ENDS, true },
	{ "regions", { SMALL, "--regions=2" }, CONFORM_ENDS, false },
	{ "exclude-copy", { SMALL, "--exclude-copy" }, CONFORM_ENDS, true },
	{ "killed", { SMALL, "--kill-at=7", SETTLE }, CONFORM_KILLED, false },
	{ "killed-at-once", { SMALL, "--kill-at=7" }, CONFORM_KILLED_AT_ONCE, true },
	{ "killed-after", { SMALL, "--kill-at=21", SETTLE }, CONFORM_KILLED_AFTER, false },
	{ "cut", { SMALL }, CONFORM_ENDS, false },
};

static bool is_none(const struct conformance_lab *lab)
{
	return strcmp(lab->collector, "none") == 0;
}

/* ---- which ---- */

static int unknown_part(const char *word, struct err *err)
{
	struct buf names = { 0 };
	for (size_t i = 0; i < CONFORMANCE_PARTS; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", parts[i].name);
	int rc = err_set(err, -EINVAL, "--part %s: expected base, hard, all or some of %s", word,
			 names.data ? names.data : "the parts");
	buf_done(&names);
	return rc;
}

int conformance_choose(bool ret_chosen[CONFORMANCE_PARTS], const struct opt_list *words,
		       struct err *err)
{
	for (size_t i = 0; i < CONFORMANCE_PARTS; i++)
		ret_chosen[i] = words->n == 0;
	for (size_t k = 0; k < words->n; k++) {
		const char *w = words->items[k];
		bool all = strcmp(w, "all") == 0, base = strcmp(w, "base") == 0,
		     hard = strcmp(w, "hard") == 0, found = false;
		for (size_t i = 0; i < CONFORMANCE_PARTS; i++) {
			bool is = i == CONFORMANCE_BASE ? base : hard;
			if (!all && !is && strcmp(w, parts[i].name) != 0)
				continue;
			ret_chosen[i] = found = true;
		}
		if (!found)
			return unknown_part(w, err);
	}
	return 0;
}

/* ---- one part ---- */

static struct conformance_order order_of(const struct conformance_lab *lab, const struct part *p)
{
	struct conformance_order o = { .name = p->name, .cleans = 1 };
	bool killed = p->end != CONFORM_ENDS;
	size_t n = 0;
	for (size_t i = 0; i < CONFORMANCE_ARGS && p->args[i]; i++)
		/* marks are kept at any instruction, and need no time for it */
		if (!is_none(lab) || strcmp(p->args[i], SETTLE) != 0)
			o.args[n++] = p->args[i];
	if (killed && !is_none(lab) && n < CONFORMANCE_ARGS) /* the clean one gives the headline */
		o.args[n++] = "--kill-in=profiled";
	if (p == &parts[CONFORMANCE_BASE]) {
		o.warmups = 1;
		o.cleans = 3;
		if (strcmp(lab->collector, "cupti") != 0) /* a processor may have to do it */
			o.args[n++] = "--repeat=64";
	}
	return o;
}

static double least(double a, double b)
{
	return !known(a) || b < a ? b : a;
}

static double most(double a, double b)
{
	return !known(a) || b > a ? b : a;
}

/* The split is measured again while its times are wrong: the shortest ones count, of the
 * clean executions and of those under the collector alike. */
static int make_split(struct conformance_lab *lab, const struct part *p, struct conform *c,
		      struct conformance_measured *m, struct err *err)
{
	const struct conformance_order o = order_of(lab, p);
	struct conform_seen seen = { .part = p->name,
				     .collector = lab->collector,
				     .times = true,
				     .clean_s = NAN,
				     .clean_most_s = NAN,
				     .profiled_s = NAN };
	size_t before = c->n;
	int rc = 0;
	for (int i = 0; !rc && i < TRIES; i++) {
		if (i)
			conformance_measured_done(m);
		rc = conformance_measure(lab, &o, m, err);
		if (rc || m->cannot)
			break;
		seen.record = &m->rec.body;
		const struct execution *e = conform_execution(&seen);
		seen.clean_s = least(seen.clean_s, m->rec.body.roi.min_s);
		seen.clean_most_s = most(seen.clean_most_s, m->rec.body.roi.max_s);
		seen.profiled_s = least(seen.profiled_s, e ? e->roi_s : (double)NAN);
		c->n = before;
		conform_part(c, &seen, &m->want);
		if (!conform_times_failed(c, p->name))
			break;
	}
	if (!rc && m->cannot)
		return err_set(err, -ENODEV, "the probe can't work here: %s", m->cannot);
	return rc;
}

/* ---- cut files ---- */

struct files {
	struct conform_file items[32];
	struct buf bytes[32];
	size_t n;
};

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);
	return n > k && strcmp(name + n - k, suffix) == 0;
}

static int read_files(struct files *f, const char *folder, struct arena *a, struct err *err)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, NULL, alphasort);
	int rc = n < 0 ? err_set(err, -errno, "%s: %s", folder, strerror(errno)) : 0;
	for (int i = 0; i < n; i++) {
		char path[2048];
		const char *name = names[i]->d_name;
		bool picture = picture_is_name(name);
		(void)snprintf(path, sizeof path, "%s/%s", folder, name);
		if (!rc && (picture || ends_with(name, ".roilog")) &&
		    f->n < sizeof f->items / sizeof *f->items) {
			struct buf *b = &f->bytes[f->n];
			rc = file_read(b, path, err);
			f->items[f->n++] =
				(struct conform_file){ arena_strdup(a, name),
						       b->data ? b->data : "", b->len, picture };
		}
		free(names[i]);
	}
	free(names);
	return rc;
}

static int cut(struct conformance_lab *lab, struct conform *c, const struct conformance_measured *m,
	       struct err *err)
{
	struct files f = { .n = 0 };
	int rc = m->folder[0] ? read_files(&f, m->folder, &lab->arena, err) : 0;
	if (!rc)
		rc = conform_cut(c, f.items, f.n, lab->collector, err);
	for (size_t i = 0; i < f.n; i++)
		buf_done(&f.bytes[i]);
	return rc;
}

static int make_hard(struct conformance_lab *lab, const struct part *p, struct conform *c,
		     struct conformance_measured *m, struct err *err)
{
	const struct conformance_order o = order_of(lab, p);
	int rc = conformance_measure(lab, &o, m, err);
	if (rc)
		return rc;
	if (m->cannot) {
		conform_skip(c, p->name, m->cannot);
		return 0;
	}
	if (strcmp(p->name, "cut") == 0)
		return cut(lab, c, m, err);
	const struct conform_seen seen = { .part = p->name,
					   .record = &m->rec.body,
					   .collector = lab->collector,
					   .end = p->end,
					   .clean_s = NAN,
					   .clean_most_s = NAN,
					   .profiled_s = NAN };
	conform_part(c, &seen, &m->want);
	return 0;
}

/* Nothing but what was skipped is no answer. */
static int nothing_tested(const struct conform *c, struct err *err)
{
	const char *why = NULL;
	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->items[i].verdict, "skipped") != 0)
			return 0;
		if (strncmp(c->items[i].detail, "not asked for", 13) != 0)
			why = c->items[i].detail;
	}
	return err_set(err, -ENODATA, "nothing could be tested: %s", why ? why : "no part is left");
}

int conformance_make_parts(struct conformance_lab *lab, const bool chosen[CONFORMANCE_PARTS],
			   struct conform *c, struct conformance_measured *first, struct err *err)
{
	int rc = 0;
	bool have = false;
	for (size_t i = 0; !rc && i < CONFORMANCE_PARTS; i++) {
		const struct part *p = &parts[i];
		struct conformance_measured own = { .cannot = NULL }, *m = have ? &own : first;
		if (!chosen[i]) {
			conform_skip(c, p->name, "not asked for (--part)");
			continue;
		}
		if (is_none(lab) && p->device) {
			conform_skip(c, p->name,
				     "no collector was used, and only one can see this");
			continue;
		}
		rc = i == CONFORMANCE_BASE ? make_split(lab, p, c, m, err)
					   : make_hard(lab, p, c, m, err);
		if (have)
			conformance_measured_done(m);
		have = true;
	}
	return rc ? rc : nothing_tested(c, err);
}
