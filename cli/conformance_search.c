/* Is what the caller had in its environment anywhere in what was written? */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/conformance_run.h"
#include "cli/db.h"
#include "lib/file.h"
#include "schema/codec.h"

static void look(struct conformance_lab *lab, const struct buf *b, const char *where)
{
	if (b->len && memmem(b->data, b->len, lab->sentinel, strlen(lab->sentinel)))
		(void)snprintf(lab->found, sizeof lab->found,
			       "the value of a variable of the caller is in %.400s", where);
}

/* Every file below. */
static int search(struct conformance_lab *lab, const char *folder, struct err *err)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	int rc = d ? 0 : err_set(err, -errno, "%s: %s", folder, strerror(errno));
	while (!rc && (e = readdir(d))) {
		char path[4096];
		struct stat st;
		struct buf b = { 0 };
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		if (n < 0 || (size_t)n >= sizeof path)
			rc = err_set(err, -ENAMETOOLONG, "%s: too long", folder);
		else if (lstat(path, &st))
			rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
		else if (S_ISDIR(st.st_mode))
			rc = search(lab, path, err);
		else if (S_ISREG(st.st_mode))
			rc = file_read(&b, path, err);
		look(lab, &b, path + strlen(lab->scratch.path) + 1);
		buf_done(&b);
	}
	if (d)
		(void)closedir(d);
	return rc;
}

/* The database keeps a record packed: as it comes back is as it can be read. */
static int search_stored(struct conformance_lab *lab, struct err *err)
{
	char path[SCRATCH_PATH_BYTES + 16];
	struct store *db = NULL;
	(void)snprintf(path, sizeof path, "%s/runs.db", lab->scratch.path);
	int rc = lab->n_runs ? cli_open_store(&db, path, STORE_READ, err) : 0;
	for (size_t i = 0; !rc && i < lab->n_runs; i++) {
		struct record rec;
		struct buf b = { 0 };
		rc = store_get_run(db, lab->runs[i], &rec, err);
		json_t *json = rc ? NULL : record_to_json(&rec);
		if (!rc && (!json || json_text(&b, json)))
			rc = err_set(err, -ENOMEM, "out of memory");
		if (!rc)
			look(lab, &b, "a record in the database");
		json_decref(json);
		buf_done(&b);
		record_done(&rec);
	}
	store_close(db);
	return rc;
}

int conformance_search(struct conformance_lab *lab, struct err *err)
{
	lab->found[0] = 0;
	int rc = search_stored(lab, err); /* the files have their names, which tell more */
	return rc ? rc : search(lab, lab->scratch.path, err);
}
