/* When a run did its I/O, and whether that comes again and again: the question and the answer that
 * roimeter period, the daemon and the page share. docs/period.md */
#ifndef REPORT_PERIOD_H
#define REPORT_PERIOD_H

#include <jansson.h>

#include "core/period_flow.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "schema/record.h"

/* The series that a run may have, in the order in which one is taken where none is asked for.
 * FIRST and NEXT get a name each. */
#define REPORT_PERIOD_SOURCES(FIRST, NEXT)                                                         \
	FIRST("program") NEXT("posix") NEXT("mpiio") NEXT("stdio") NEXT("aio") NEXT("uring")

/* All of them, for a line of help. */
#define REPORT_PERIOD_NAME(name) name
#define REPORT_PERIOD_COMMA_NAME(name) ", " name
#define REPORT_PERIOD_SOURCES_TEXT                                                                 \
	REPORT_PERIOD_SOURCES(REPORT_PERIOD_NAME, REPORT_PERIOD_COMMA_NAME)

/* Whether these may be asked for; source may be NULL. -EINVAL, and the sentence says what may. */
int report_period_check(const char *direction, const char *source, struct err *err);

/* What is asked about. All-zero is a valid empty one. */
struct report_period_input {
	struct flow flow;
	double resolution_s; /* width of the bins that it came in; 0: none */
	struct buf of;       /* run id, or the files */
	struct buf aside;    /* a sentence about what came in */
	char source[32];     /* of a run's series; empty: it has none, or these are files */
};

/* The bytes over time of one source of a record; wanted NULL: of the first it has of
 * REPORT_PERIOD_SOURCES. -ENOMEM. */
int report_period_series(struct report_period_input *in, const struct record_body *r,
			 const char *wanted, struct err *err);
void report_period_input_done(struct report_period_input *in);

/* What there is to say of a record without a series. */
#define REPORT_PERIOD_UNSEEN "bytes over time are not in this record"

struct report_period_question {
	const char *direction; /* read, write, both */
	double from_s, to_s;   /* -INFINITY, INFINITY: all of it */
	const double *rates_hz;
	size_t n_rates;
};

struct period_answer {
	const char *of;        /* run id, or the files */
	const char *direction; /* read, write, both */
	const char *source;    /* of a run's series: program, posix, ...; NULL for files */
	const char *aside;     /* a sentence about what came in, or NULL */
	const struct period *p;
	const struct period
		*alone[2]; /* reads, writes by themselves; NULL where there's nothing to tell */
};

/* Not to be copied: the answer points into it. */
struct report_period {
	struct period all, alone[2];
	struct period_answer answer; /* borrows from input and question */
};

/* -EINVAL for a series that is none, -ENOMEM. To be done with in any case. */
int report_period_ask(struct report_period *ret, const struct report_period_input *in,
		      const struct report_period_question *q, struct err *err);
void report_period_done(struct report_period *p);

/* period_s, frequency_hz, error_s, confidence, why_not. NULL: out of memory. */
json_t *report_period_short(const struct period *p);
json_t *report_period_json(const struct period_answer *a); /* NULL: out of memory */

#endif
