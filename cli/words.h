/* Texts of records on a terminal: it obeys control characters, and what programs print has them. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include "lib/buf.h"
#include "schema/record.h"

/* n bytes, each control character as a blank. */
void words_plain(struct buf *b, const char *text, size_t n);

/* Words as far as they fit on a line, which first and others begin; a longer word stands alone. */
void words_wrapped(struct buf *b, const char *first, const char *others, const char *text);

/* Lines, each behind "  | ". */
void words_quoted_lines(struct buf *b, const char *text);

/* A command as a shell takes it: what is no plain word stands in quotes. */
void words_command(struct buf *b, const struct txts *argv);

/* A share with at most three digits and never an exponent: "0.023", "17", "131", "4200". */
const char *words_percent(char text[32], double fraction);

#endif
