/* What roimeter period answers, for people and for programs. */
#ifndef CLI_PERIOD_TEXT_H
#define CLI_PERIOD_TEXT_H

#include <jansson.h>

#include "core/period.h"
#include "lib/buf.h"

struct period_answer {
	const char *of;        /* run id, or the files */
	const char *direction; /* read, write, both */
	const char *source;    /* of a run's series: program, posix, ...; NULL for files */
	const char *aside;     /* a sentence about what came in, or NULL */
	const struct period *p;
	const struct period
		*alone[2]; /* reads, writes by themselves; NULL where there's nothing to tell */
};

void period_text(struct buf *b, const struct period_answer *a);
json_t *period_json(const struct period_answer *a);            /* NULL: out of memory */
void period_csv(struct buf *b, const struct period_answer *a); /* the phases */

#endif
