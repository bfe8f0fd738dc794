/* What runs, what is left, and how long: one line that is written over on a terminal, a line for
 * each case elsewhere. On standard error. */
#ifndef CLI_RUN_PROGRESS_H
#define CLI_RUN_PROGRESS_H

#include <stdbool.h>

#include "run/sweep.h"

struct run_progress {
	bool tty, shown;
	char line[256], told[256];
	double eta_s;
};

void run_progress_start(struct run_progress *p);
void run_progress_step(struct run_progress *p, const struct sweep_step *step);

/* A struct run_progress, elapsed time of the execution. */
void run_progress_tick(void *progress, double elapsed_s);

/* Before something else is written. */
void run_progress_clear(struct run_progress *p);

#endif
