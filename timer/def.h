/* A timer definition in memory; inside of timer/ only. docs/timers.md tells what each key means. */
#ifndef TIMER_DEF_H
#define TIMER_DEF_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "suite/doc.h"
#include "suite/pattern.h"
#include "timer/timer.h"

enum timer_take { TAKE_LAST, TAKE_FIRST, TAKE_ONLY, TAKE_SUM, TAKE_COUNT, TAKE_EACH };

/* Which part of a file is looked at. Each may be NULL. */
struct timer_scope {
	struct pattern *from, *until, *below;
	bool from_first; /* the first match of from, not the last */
	bool children;   /* below: lines one level deeper only */
};

/* One number out of one file. */
struct timer_term {
	const char *name; /* of a part */
	const char *file; /* a glob; "run.log" is the output */
	const char *text; /* the pattern's text, for sentences */
	struct pattern *pattern;
	unsigned value_group, name_group;
	enum timer_take take;
	size_t skip;  /* so many of the first matches do not count */
	int exponent; /* power of ten of the unit */
	bool clock;   /* unit: clock */
	bool subtract;
	double if_absent; /* NAN: then the whole timer is missing */
	double constant;  /* NAN, or a plain number in place of a pattern */
	struct timer_scope scope;
	const char *missing; /* what to do about a miss, or NULL */
};

struct timer_terms {
	struct timer_term *items;
	size_t n;
};

enum timer_check { CHECK_EQUAL, CHECK_NO_LESS, CHECK_PRESENT, CHECK_ABSENT, CHECK_CONSECUTIVE };

struct timer_condition {
	enum timer_check check;
	struct timer_term a, b; /* b for equal and no_less */
	bool has_when;
	struct timer_term when; /* the condition holds only where this is there */
	const char *why;        /* what a run that breaks it is */
};

struct timer_def {
	struct arena arena;
	const char *name, *title, *source, *covers, *ranks, *caveat, *file;
	signed char device_sync;
	struct timer_terms region, steps, excluded, setup, parts;
	struct timer_condition *conditions;
	size_t n_conditions;
	struct pattern **patterns; /* all of them, to be freed */
	size_t n_patterns, patterns_room;
	struct txts files;
	size_t files_room;
};

#endif
