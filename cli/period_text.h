/* What roimeter period answers, for people and for programs. */
#ifndef CLI_PERIOD_TEXT_H
#define CLI_PERIOD_TEXT_H

#include "lib/buf.h"
#include "report/period.h"

void period_text(struct buf *b, const struct period_answer *a);
void period_csv(struct buf *b, const struct period_answer *a); /* the phases */

#endif
