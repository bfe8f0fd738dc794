/* One sentence about a failure, for a person: what, where, why, what to do. The number
 * that travels beside it is a negative errno. */
#ifndef LIB_ERR_H
#define LIB_ERR_H

#include <stdarg.h>

#define ERR_TEXT_BYTES 1024

struct err {
	char text[ERR_TEXT_BYTES]; /* empty when nothing went wrong; cut at the end if too long */
};

/* Write the sentence and return rc, so that a failure is one line. err may be NULL. */
int err_set(struct err *err, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Put context before what is already there: "suite demo.yaml: <old text>". Returns rc. */
int err_wrap(struct err *err, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
