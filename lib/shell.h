/* Words as a shell takes them. */
#ifndef LIB_SHELL_H
#define LIB_SHELL_H

#include "lib/buf.h"

/* In quotes, unless it is plain. Control characters can be seen, in $'...' of bash and zsh. */
void shell_word(struct buf *b, const char *word);

/* NAME=VALUE, its value as a word. */
void shell_assignment(struct buf *b, const char *assignment);

#endif
