/* A store of as many cells as the largest report that is promised: applications by inputs by
 * platforms, a realistic record (bench/record.json) in each, with numbers of its own. */
#ifndef BENCH_FILL_REPORT_H
#define BENCH_FILL_REPORT_H

#include <stdio.h>
#include <stdlib.h>

#include "lib/file.h"
#include "schema/codec.h"
#include "store/store.h"

#define FILL_BATCH 5000

static inline void fill_die(const char *what, const char *why)
{
	(void)fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static inline struct record fill_template(void)
{
	struct err err = { { 0 } };
	struct buf b = { 0 };
	struct record rec;
	json_t *json = NULL;
	if (file_read(&b, "bench/record.json", &err) ||
	    json_parse(&json, b.data, b.len, "bench/record.json", &err) ||
	    record_from_json(&rec, json, &err))
		fill_die("bench/record.json", err.text);
	json_decref(json);
	buf_done(&b);
	return rec;
}

/* Pseudo-random, in 0 to 1. */
static inline double fill_random(unsigned long long *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / 9007199254740992.0;
}

/* Texts and numbers of run i of the cell; the rest of the template stays. */
static inline void fill_one(struct store *s, struct record *rec, unsigned long run, unsigned app,
			    unsigned input, unsigned platform, struct err *err)
{
	unsigned long long state = run * 77 + 1;
	char id[40], utc[32], app_name[32], case_name[32], platform_name[40];
	struct record_body *b = &rec->body;
	unsigned long s0 = run % 60, m0 = run / 60 % 60, h0 = run / 3600 % 24,
		      d0 = 1 + run / 86400 % 28;
	(void)snprintf(id, sizeof id, "202609%02luT%02lu%02lu%02luZ-%08lx", d0, h0, m0, s0,
		       (run * 2654435761u) & 0xffffffff);
	(void)snprintf(utc, sizeof utc, "2026-09-%02luT%02lu:%02lu:%02luZ", d0, h0, m0, s0);
	(void)snprintf(app_name, sizeof app_name, "app%04u", app);
	(void)snprintf(case_name, sizeof case_name, "n%u", 64u << input);
	(void)snprintf(platform_name, sizeof platform_name, "nvidia-b%u00.cuda13.2", platform + 1);
	b->run_id = id;
	b->utc = utc;
	b->suite = "large";
	b->app = app_name;
	b->case_ = case_name;
	b->platform = platform_name;
	double wall = 0.001 + fill_random(&state) * 20;
	b->roi.wall_s = wall;
	b->roi.min_s = wall * (1 - 0.02 * fill_random(&state));
	b->roi.max_s = wall * (1 + 0.02 * fill_random(&state));
	b->roi.spread = (b->roi.max_s - b->roi.min_s) / wall;
	for (size_t i = 0; i < b->roi.runs_s.n; i++)
		b->roi.runs_s.items[i] = wall * (0.98 + 0.04 * fill_random(&state));
	b->context.process_wall_s = wall * (1.1 + fill_random(&state));
	for (size_t i = 0; i < b->executions.n; i++)
		b->executions.items[i].roi_s = wall * (0.98 + 0.04 * fill_random(&state));
	if (store_add_run(s, rec, err))
		fill_die("add", err->text);
}

static inline void fill_store(const char *path, unsigned apps, unsigned inputs, unsigned platforms)
{
	struct err err = { { 0 } };
	struct store *s;
	struct record rec = fill_template();
	unsigned long n = 0, all = (unsigned long)apps * inputs * platforms;
	if (store_open(&s, path, STORE_WRITE, &err))
		fill_die("open", err.text);
	for (unsigned a = 0; a < apps; a++)
		for (unsigned i = 0; i < inputs; i++)
			for (unsigned p = 0; p < platforms; p++, n++) {
				if (n % FILL_BATCH == 0 && store_begin(s, &err))
					fill_die("begin", err.text);
				fill_one(s, &rec, n, a, i, p, &err);
				if ((n + 1) % FILL_BATCH == 0 || n + 1 == all)
					if (store_commit(s, &err))
						fill_die("commit", err.text);
			}
	record_done(&rec);
	store_close(s);
}

#endif
