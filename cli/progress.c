/* Counts, and no times: how long a run takes to store depends on the disk only. */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#define EACH 256 /* a terminal is slower than what is counted */

void progress(const char *what, size_t done, size_t all)
{
	if (all < EACH || (done != all && done % EACH) || !isatty(STDERR_FILENO))
		return;
	if (done == all)
		(void)fprintf(stderr, "\r\033[K");
	else
		(void)fprintf(stderr, "\r%s %zu of %zu (%zu %%)\033[K", what, done, all, done * 100 / all);
}
