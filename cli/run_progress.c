/* The progress line. */
#include "cli/run_progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/num.h"

void run_progress_start(struct run_progress *p)
{
	*p = (struct run_progress){ .tty = isatty(STDERR_FILENO) == 1, .eta_s = NAN };
}

void run_progress_clear(struct run_progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = false;
}

void run_progress_step(struct run_progress *p, const struct sweep_step *step)
{
	char name[128];
	(void)snprintf(name, sizeof name, "%.60s/%.60s", step->app, step->name);
	p->eta_s = step->eta_s;
	if (!p->tty) {
		if (strcmp(name, p->told) != 0)
			(void)fprintf(stderr, "info  measuring %s, %zu of %zu executions done\n",
				      name, step->done, step->total);
		(void)snprintf(p->told, sizeof p->told, "%s", name);
		return;
	}
	(void)snprintf(p->line, sizeof p->line, "[%zu/%zu] %s %.20s", step->done + 1, step->total,
		       name, step->execution);
	run_progress_tick(p, 0);
}

/* Nobody reads tenths from a line that moves. */
static const char *whole(char text[32], double seconds)
{
	if (seconds < 120)
		(void)snprintf(text, 32, "%.0f s", seconds);
	else
		(void)snprintf(text, 32, "%.0f min", ceil(seconds / 60));
	return text;
}

/* Characters of a line; a longer one would stay on the terminal, since only its last row is
 * wiped. */
static int width(void)
{
	struct winsize size;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1
									       : 79;
}

void run_progress_tick(void *progress, double elapsed_s)
{
	struct run_progress *p = progress;
	char text[32];
	if (!p->tty)
		return;
	struct buf b = { 0 };
	buf_puts(&b, p->line);
	if (elapsed_s >= 1)
		buf_printf(&b, "  %s", whole(text, floor(elapsed_s)));
	if (known(p->eta_s))
		buf_printf(&b, "  about %s left", whole(text, ceil(fmax(p->eta_s - elapsed_s, 1))));
	(void)fprintf(stderr, "\r\033[K%.*s", width(), b.data ? b.data : "");
	buf_done(&b);
	(void)fflush(stderr);
	p->shown = true;
}
