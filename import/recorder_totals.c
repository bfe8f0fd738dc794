/* roimeter import recorder --totals: what a trace has, counted call by call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/recorder.h"
#include "import/recorder_map.h"
#include "import/recorder_trace.h"

struct sums {
	uint64_t *functions; /* calls of each */
	uint64_t bytes[2];   /* of POSIX, whatever made the calls: read, written */
	uint64_t first, last;
};

static int direction_of(const char *function)
{
	static const char *const names[][4] = { { "read", "pread", "pread64", "" },
						{ "write", "pwrite", "pwrite64", "" } };
	for (int d = 0; d < 2; d++)
		for (size_t i = 0; i < 3; i++)
			if (strcmp(function, names[d][i]) == 0)
				return d;
	return -1;
}

static int read_rank(struct recorder *r, size_t rank, struct sums *s, struct err *err)
{
	struct recorder_cursor *c;
	struct recorder_call call;
	int rc = recorder_begin(&c, r, rank, err);
	if (rc)
		return rc;
	s->first = UINT64_MAX;
	s->last = 0;
	while ((rc = recorder_next(c, &call, err)) == 1) {
		s->functions[call.key->function]++;
		s->first = call.begin < s->first ? call.begin : s->first;
		s->last = call.end > s->last ? call.end : s->last;
		int direction = direction_of(call.function);
		int64_t bytes;
		if (direction >= 0 && recorder_number(recorder_arg(call.key, 2), &bytes) && bytes > 0)
			s->bytes[direction] += (uint64_t)bytes;
	}
	recorder_end(c);
	return rc;
}

static int put_rank(json_t *out, const struct recorder *r, size_t i, const struct sums *s)
{
	const struct recorder_rank *rank = &r->ranks[i];
	const struct recorder_grammar *g = rank->grammar;
	bool some = g && s->first != UINT64_MAX;
	json_t *values[] = {
		g ? json_integer((json_int_t)rank->events) : json_null(),
		some ? json_real((double)s->first * r->tick_s) : json_null(),
		some ? json_real((double)s->last * r->tick_s) : json_null(),
		g ? json_integer((json_int_t)rank->table->n) : json_null(),
		g ? json_pack("{s:I, s:I}", "rules", (json_int_t)g->n_rules, "symbols",
			      (json_int_t)g->n_symbols)
		  : json_null(),
	};
	static const char *const keys[] = { "events_per_rank", "first_start", "last_end", "cst_entries",
					    "grammar" };
	int rc = 0;
	for (size_t k = 0; k < 5; k++)
		if (json_array_append_new(json_object_get(out, keys[k]), values[k]))
			rc = -ENOMEM;
	if (rank->missing && json_object_set_new(json_object_get(out, "missing"), rank->missing,
						 json_integer((json_int_t)i)))
		rc = -ENOMEM;
	return rc;
}

static int put_all(json_t *out, struct recorder *r, struct err *err)
{
	struct sums s = { .functions = calloc(r->n_functions + 1, sizeof *s.functions) };
	json_t *functions = json_object_get(out, "functions");
	int rc = s.functions ? 0 : err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->n_ranks && !rc; i++) {
		if (r->ranks[i].grammar)
			rc = read_rank(r, i, &s, err);
		if (!rc && put_rank(out, r, i, &s))
			rc = err_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i <= r->n_functions && !rc; i++) {
		json_int_t before = json_integer_value(json_object_get(functions, r->functions[i]));
		if (s.functions[i] &&
		    json_object_set_new(functions, r->functions[i],
					json_integer(before + (json_int_t)s.functions[i])))
			rc = err_set(err, -ENOMEM, "out of memory");
	}
	if (!rc && (json_object_set_new(out, "posix_bytes_read", json_integer((json_int_t)s.bytes[0])) ||
		    json_object_set_new(out, "posix_bytes_written", json_integer((json_int_t)s.bytes[1]))))
		rc = err_set(err, -ENOMEM, "out of memory");
	free(s.functions);
	return rc;
}

int recorder_totals(json_t **ret, const char *path, struct err *err)
{
	struct recorder *r;
	*ret = NULL;
	int rc = recorder_open(&r, path, false, err);
	if (rc)
		return rc;
	json_t *out = json_pack("{s:s, s:s, s:I, s:f, s:[], s:[], s:[], s:[], s:[], s:{}, s:{}}", "file",
				path, "layout", r->merged ? "merged" : "perrank", "nprocs",
				(json_int_t)r->n_ranks, "time_resolution", r->tick_s, "events_per_rank",
				"first_start", "last_end", "cst_entries", "grammar", "functions", "missing");
	rc = out ? put_all(out, r, err) : err_set(err, -ENOMEM, "out of memory");
	recorder_close(r);
	if (rc)
		json_decref(out);
	else
		*ret = out;
	return rc;
}
