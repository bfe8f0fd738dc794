/* The bytes of a journal, without its file: pure. */
#ifndef RUN_JOURNAL_TEXT_H
#define RUN_JOURNAL_TEXT_H

#include "lib/buf.h"
#include "run/journal.h"

void journal_put_head(struct buf *b, const struct journal_case *cases, size_t n);
int journal_put_execution(struct buf *b, size_t i, const struct capture *c);

/* Executions in these bytes. */
size_t journal_count(const char *bytes, size_t n);

/* See journal_resume. *ret_good: how many bytes at the start are whole. A later head in the file
 * maps the numbers of the cases anew; executions before it stay with their cases. */
int journal_get(const char *bytes, size_t n, struct journal_case *cases, size_t n_cases,
		int (*each)(void *arg, size_t i, struct capture *c), void *arg, size_t *ret_good,
		struct err *err);

#endif
