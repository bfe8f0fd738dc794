/* roimeter import darshan --totals: everything added up under Darshan's own names. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/darshan.h"
#include "import/darshan_total.h"

/* The first thing that is wrong is told; the rest of the log may still be whole. */
struct reading {
	struct darshan_log *log;
	json_t *out, *total, *ids, *dxt, *damaged;
	struct err first;
	int rc;
};

static int nomem(struct reading *r)
{
	return err_set(&r->first, r->rc = -ENOMEM, "out of memory");
}

static int set(struct reading *r, json_t *to, const char *key, json_t *value_taken)
{
	return json_object_set_new(to, key, value_taken) ? nomem(r) : 0;
}

/* As Darshan prints them. */
static double six_digits(double x)
{
	return isfinite(x) ? round(x * 1e6) / 1e6 : 0;
}

static void tell_damage(struct reading *r, enum darshan_module m, int rc, const struct err *err)
{
	if (rc == -ENOMEM) {
		(void)nomem(r);
		return;
	}
	json_t *one = json_pack("{s:s, s:s}", "module", darshan_module_name(m), "why", err->text);
	if (!one || json_array_append_new(r->damaged, one))
		(void)nomem(r);
	if (!r->rc) {
		r->rc = rc;
		r->first = *err;
	}
}

static void put_ids(struct reading *r, enum darshan_module m, const struct darshan_ids *ids)
{
	(void)set(r, r->ids, darshan_module_name(m), json_integer((json_int_t)darshan_ids_count(ids)));
}

static void put_counters(struct reading *r, enum darshan_module m, const struct darshan_total *t)
{
	const struct darshan_counters *c = darshan_counters_of(m);
	for (size_t i = 0; i < c->n_whole; i++)
		(void)set(r, r->total, c->whole[i].name, json_integer(t->whole[i]));
	for (size_t i = 0; i < c->n_times; i++)
		(void)set(r, r->total, c->times[i].name, json_real(six_digits(t->times[i])));
}

static int read_counters(struct reading *r, enum darshan_module m, struct darshan_total *t,
			 struct darshan_ids *ids, struct err *err)
{
	struct darshan_records *records;
	struct darshan_record rec;
	int rc = darshan_records_open(&records, r->log, m, err);
	if (rc)
		return rc;
	while ((rc = darshan_records_next(records, &rec, err)) == 1) {
		darshan_total_add(t, m, &rec);
		if (darshan_ids_add(ids, rec.id) < 0) {
			rc = -ENOMEM;
			break;
		}
	}
	darshan_records_close(records);
	return rc;
}

static void add_counters(struct reading *r, enum darshan_module m)
{
	struct darshan_total t = { 0 };
	struct darshan_ids ids = { 0 };
	struct err err = { 0 };
	if (!darshan_has(r->log, m))
		return;
	int rc = read_counters(r, m, &t, &ids, &err);
	if (rc) {
		tell_damage(r, m, rc, &err);
	} else {
		put_ids(r, m, &ids);
		if (t.records)
			put_counters(r, m, &t);
	}
	darshan_ids_done(&ids);
}

/* ---- DXT, HEATMAP, LUSTRE -----------------------------------------------------------------------
 */

struct dxt_sums {
	uint64_t segments[2], bytes[2]; /* reads, writes */
};

static int read_dxt(struct reading *r, enum darshan_module m, struct dxt_sums *sums,
		    struct darshan_ids *ids, struct err *err)
{
	struct darshan_dxt *d;
	struct darshan_dxt_file file;
	struct darshan_segment s;
	int rc = darshan_dxt_open(&d, r->log, m, err);
	if (rc)
		return rc;
	while ((rc = darshan_dxt_file(d, &file, err)) == 1) {
		if (darshan_ids_add(ids, file.id) < 0) {
			rc = -ENOMEM;
			break;
		}
		while ((rc = darshan_dxt_segment(d, &s, err)) == 1) {
			sums->segments[s.write]++;
			sums->bytes[s.write] += (uint64_t)s.bytes;
		}
		if (rc)
			break;
	}
	darshan_dxt_close(d);
	return rc;
}

static void add_dxt(struct reading *r, enum darshan_module m, const char *name)
{
	struct dxt_sums sums = { 0 };
	struct darshan_ids ids = { 0 };
	struct err err = { 0 };
	if (!darshan_has(r->log, m))
		return;
	int rc = read_dxt(r, m, &sums, &ids, &err);
	if (rc)
		tell_damage(r, m, rc, &err);
	for (int write = 0; write < 2 && !rc; write++) {
		char key[32];
		(void)snprintf(key, sizeof key, "%s.%s", name, write ? "write" : "read");
		if (sums.segments[write])
			(void)set(r, r->dxt, key,
				  json_pack("{s:I, s:I}", "segments",
					    (json_int_t)sums.segments[write], "bytes",
					    (json_int_t)sums.bytes[write]));
	}
	if (!rc)
		put_ids(r, m, &ids);
	darshan_ids_done(&ids);
}

struct heat_sums {
	uint64_t records, bins, read, written;
	double bin_s;
};

static int read_heatmap(struct reading *r, struct heat_sums *sums, struct darshan_ids *ids,
			struct err *err)
{
	struct darshan_heats *h;
	struct darshan_heat heat;
	int rc = darshan_heats_open(&h, r->log, err);
	if (rc)
		return rc;
	while ((rc = darshan_heats_next(h, &heat, err)) == 1) {
		sums->records++;
		sums->bin_s = heat.bin_s;
		sums->bins = heat.bins > sums->bins ? heat.bins : sums->bins;
		for (size_t i = 0; i < heat.bins; i++) {
			sums->read += (uint64_t)heat.read[i];
			sums->written += (uint64_t)heat.write[i];
		}
		if (darshan_ids_add(ids, heat.id) < 0) {
			rc = -ENOMEM;
			break;
		}
	}
	darshan_heats_close(h);
	return rc;
}

static void add_heatmap(struct reading *r)
{
	struct heat_sums sums = { 0 };
	struct darshan_ids ids = { 0 };
	struct err err = { 0 };
	if (!darshan_has(r->log, DARSHAN_HEATMAP))
		return;
	int rc = read_heatmap(r, &sums, &ids, &err);
	if (rc) {
		tell_damage(r, DARSHAN_HEATMAP, rc, &err);
	} else {
		(void)set(r, r->out, "heatmap_sum",
			  json_pack("{s:f, s:I, s:I, s:I, s:I}", "bin", sums.bin_s, "nbins",
				    (json_int_t)sums.bins, "records", (json_int_t)sums.records, "r",
				    (json_int_t)sums.read, "w", (json_int_t)sums.written));
		put_ids(r, DARSHAN_HEATMAP, &ids);
	}
	darshan_ids_done(&ids);
}

static void add_lustre(struct reading *r)
{
	struct darshan_lustre *l;
	struct darshan_stripes stripes;
	struct darshan_ids ids = { 0 };
	struct err err = { 0 };
	if (!darshan_has(r->log, DARSHAN_LUSTRE))
		return;
	int rc = darshan_lustre_open(&l, r->log, &err);
	if (!rc) {
		while ((rc = darshan_lustre_next(l, &stripes, &err)) == 1)
			if (darshan_ids_add(&ids, stripes.id) < 0) {
				rc = -ENOMEM;
				break;
			}
		darshan_lustre_close(l);
	}
	if (rc)
		tell_damage(r, DARSHAN_LUSTRE, rc, &err);
	else
		put_ids(r, DARSHAN_LUSTRE, &ids);
	darshan_ids_done(&ids);
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static void put_head(struct reading *r)
{
	static const char *const packings[] = { "zlib", "bzip2", "none" };
	const struct darshan_log *log = r->log;
	const struct darshan_job *job = &log->job;
	json_t *modules = json_object();
	(void)set(r, r->out, "file", json_string(log->path));
	(void)set(r, r->out, "bytes", json_integer((json_int_t)log->bytes));
	(void)set(r, r->out, "log_version", json_string(log->version));
	(void)set(r, r->out, "endian", json_string(log->big ? "big" : "little"));
	(void)set(r, r->out, "compression", json_string(packings[log->packing]));
	(void)set(r, r->out, "nprocs", json_integer(job->ranks));
	(void)set(r, r->out, "start_time", json_integer(job->begin_s));
	(void)set(r, r->out, "end_time", json_integer(job->end_s));
	(void)set(r, r->out, "run_time", json_real(round(darshan_run_s(log) * 1e4) / 1e4));
	for (unsigned m = 0; m < DARSHAN_MODULES; m++) {
		char number[24];
		const char *name = darshan_module_name(m);
		(void)snprintf(number, sizeof number, "module %u", m);
		if (log->modules[m].bytes)
			(void)set(r, modules, name ? name : number,
				  json_pack("{s:I, s:b}", "ver", (json_int_t)log->modules[m].version,
					    "partial", log->modules[m].partial));
	}
	(void)set(r, r->out, "modules", modules);
}

static void read_modules(struct reading *r)
{
	add_counters(r, DARSHAN_POSIX);
	add_counters(r, DARSHAN_MPIIO);
	add_counters(r, DARSHAN_STDIO);
	add_dxt(r, DARSHAN_DXT_POSIX, "X_POSIX");
	add_dxt(r, DARSHAN_DXT_MPIIO, "X_MPIIO");
	add_heatmap(r);
	add_lustre(r);
}

int darshan_totals(json_t **ret, const char *path, struct err *err)
{
	struct reading r = { .out = json_object(), .total = json_object(), .ids = json_object(),
			     .dxt = json_object(), .damaged = json_array() };
	int rc = darshan_open(&r.log, path, err);
	*ret = NULL;
	if (!rc) {
		put_head(&r);
		read_modules(&r);
		(void)set(&r, r.out, "total", json_incref(r.total));
		(void)set(&r, r.out, "dxt", json_incref(r.dxt));
		(void)set(&r, r.out, "distinct_record_ids", json_incref(r.ids));
		(void)set(&r, r.out, "damaged", json_incref(r.damaged));
		rc = r.rc;
		if (rc && err)
			*err = r.first;
		if (rc != -ENOMEM)
			*ret = json_incref(r.out);
		darshan_close(r.log);
	}
	json_decref(r.out);
	json_decref(r.total);
	json_decref(r.ids);
	json_decref(r.dxt);
	json_decref(r.damaged);
	return rc;
}
