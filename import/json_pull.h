/* JSON that is read as it comes, value by value, in little memory whatever its size: for files too
 * large for a tree. The caller says what it expects next; what it does not care for is skipped.
 * Strict: what is no JSON, or is cut, is -EINVAL with the place. */
#ifndef IMPORT_JSON_PULL_H
#define IMPORT_JSON_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/str.h"

#define JSON_DEPTH 512

struct json_pull {
	int (*next)(void *arg, const char **ret, size_t *ret_n, struct err *err); /* n 0: the end */
	void *arg;
	const char *path; /* for sentences */
	struct err *err;
	int rc;              /* the first failure; all later calls answer it */
	const char *p, *end; /* not read yet of the current piece */
	uint64_t before;     /* bytes of the pieces before it */
	const char *piece;
	struct buf text, key; /* what json_string and json_key lend */
	unsigned depth;
	char closes[JSON_DEPTH];
	bool first[JSON_DEPTH]; /* no item of this level yet */
};

/* next, arg, path and err are set, the rest is zero. */
void json_pull_done(struct json_pull *j);

/* What comes: '{' '[' '"' 't' 'f' 'n' '0' (a number), 0 at the end, or negative. */
int json_peek(struct json_pull *j);
int json_enter(struct json_pull *j, char what); /* '{' or '[': 0, or -EINVAL if it is another */
/* Inside: 1 there is one more (the key is lent until the next call), 0 it is closed now. */
int json_key(struct json_pull *j, struct str *ret);
int json_item(struct json_pull *j);
int json_int(struct json_pull *j, int64_t *ret); /* a whole number that fits, or -EINVAL */
/* *is: it is one. Any other value is skipped. */
int json_maybe_int(struct json_pull *j, int64_t *ret, bool *is);
int json_pull_text(struct json_pull *j,
		   struct str *ret); /* at most 16 MiB; lent until the next text */
int json_skip(struct json_pull *j);
/* For callers that look at p to end by themselves: 1 there are bytes, 0 the file has ended, negative a
 * failure. */
int json_more(struct json_pull *j);
/* Where the next byte stands in the file. */
uint64_t json_place(const struct json_pull *j);
/* Nothing but blanks may follow. */
int json_finish(struct json_pull *j);
int json_wrong(struct json_pull *j, const char *what); /* -EINVAL with the place */

#endif
