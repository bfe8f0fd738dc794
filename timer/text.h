/* Pieces of a program's output on their way into records and onto terminals. */
#ifndef TIMER_TEXT_H
#define TIMER_TEXT_H

#include <stddef.h>

#include "lib/arena.h"

/* A copy that is UTF-8 and has no control characters: those become "?". NULL: out of memory. */
char *text_clean(struct arena *a, const char *text, size_t n);

#endif
