/* A suite from its file. The work is in check.c (what may be said) and expand.c (what it means). */
#define _GNU_SOURCE
#include "suite/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "suite/reader.h"

/* The folder of the file, absolute where it exists: cases start in folders of their own. */
static const char *folder_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path))
			  : arena_strdup(a, ".");
	char *real = dir ? realpath(dir, NULL) : NULL;
	const char *result = real ? arena_strdup(a, real) : dir;
	free(real);
	return result;
}

static const char *hash_of(struct arena *a, const void *bytes, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(bytes, n);
	return arena_printf(a, "%016llx%016llx", (unsigned long long)h.high64,
			    (unsigned long long)h.low64);
}

int suite_parse_with(struct suite *ret, const char *path, const void *bytes, size_t n,
		     const struct env_pair *vars, size_t n_vars, struct err *err)
{
	*ret = (struct suite){ .arena = { .max_bytes = (size_t)512 << 20 } };
	ret->file = arena_strdup(&ret->arena, path);
	ret->dir = folder_of(&ret->arena, path);
	ret->hash = hash_of(&ret->arena, bytes, n);
	struct suite_reader r = { .suite = ret, .vars = vars, .n_vars = n_vars, .err = err };
	int rc = ret->file && ret->dir && ret->hash ? 0 : err_set(err, -ENOMEM, "out of memory");
	struct doc_node *root = NULL;
	if (!rc)
		rc = doc_parse(&ret->arena, ret->file, bytes, n, &root, err);
	if (!rc)
		rc = suite_check(&r, root);
	if (!rc)
		rc = suite_expand(&r, root);
	if (rc)
		suite_done(ret);
	return rc;
}

int suite_parse(struct suite *ret, const char *path, const void *bytes, size_t n, struct err *err)
{
	return suite_parse_with(ret, path, bytes, n, NULL, 0, err);
}

int suite_load_with(struct suite *ret, const char *path, const struct env_pair *vars, size_t n_vars,
		    struct err *err)
{
	*ret = (struct suite){ 0 };
	struct buf text = { .max = DOC_MAX_BYTES };
	int rc = file_read(&text, path, err);
	if (!rc)
		rc = suite_parse_with(ret, path, text.data ? text.data : "", text.len, vars, n_vars,
				      err);
	buf_done(&text);
	return rc;
}

int suite_load(struct suite *ret, const char *path, struct err *err)
{
	return suite_load_with(ret, path, NULL, 0, err);
}

void suite_done(struct suite *s)
{
	if (!s)
		return;
	arena_free(&s->arena);
	*s = (struct suite){ 0 };
}
