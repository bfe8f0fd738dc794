/* Output of programs, read by every definition that there is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "schema/utf8.h"
#include "timer/timer.h"

static const char *const names[] = { "cp2k",      "dftfe", "exaca",   "gromacs",          "lammps",
				     "nekrs",     "nyx",   "qmcpack", "quantum-espresso", "sparta",
				     "specfem3d", "warpx" };
#define COUNT (sizeof names / sizeof *names)

static struct timer_def *defs[COUNT];

static void load(void)
{
	for (size_t i = 0; i < COUNT; i++)
		if (!defs[i] && timer_def_load(&defs[i], names[i], "suites/timers", NULL))
			abort();
}

/* The definitions are kept from one input to the next, and given back at the end. */
static void unload(void)
{
	for (size_t i = 0; i < COUNT; i++)
		timer_def_free(defs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!defs[0]) {
		load();
		(void)atexit(unload);
	}
	const char *text = (const char *)data;
	const struct timer_file files[] = { { "run.log", text, n },
					    { "md.log", text, n },
					    { "x-1.ener", text, n },
					    { "a/OUTPUT_FILES/output_solver.txt", text, n } };
	for (size_t i = 0; i < COUNT; i++) {
		struct arena a = { 0 };
		struct timer_result r;
		timer_read(defs[i], &a, files, 4, &r);
		if (r.rc ? !r.why || known(r.wall_s) : !(r.wall_s >= 0))
			abort();
		if (r.why && !utf8_valid(r.why, strlen(r.why)))
			abort(); /* it goes into a record */
		for (size_t p = 0; p < r.n_parts; p++)
			if (!utf8_valid(r.parts[p].name, strlen(r.parts[p].name)))
				abort();
		arena_free(&a);
	}
	struct arena a = { 0 };
	const char *line;
	signed char ok;
	launcher_audit(&a, text, n, &line, &ok);
	if (line && !utf8_valid(line, strlen(line)))
		abort();
	arena_free(&a);
	return 0;
}
