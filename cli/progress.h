/* How far a long command is: a line on standard error that rewrites itself, when that is a
 * terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stddef.h>

/* Call it as often as you like: it writes now and then only. done == all wipes the line. */
void progress(const char *what, size_t done, size_t all);

#endif
