/* Each application's timer on output like its own, and on output that must not give a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/num.h"
#include "timer/timer.h"

struct reading {
	struct timer_def *def;
	struct arena arena;
	struct timer_result result;
};

static void read_files(struct reading *r, const char *app, const struct timer_file *files, size_t n)
{
	*r = (struct reading){ 0 };
	struct err err = { 0 };
	if (timer_def_load(&r->def, app, "suites/timers", &err))
		fail_msg("%s: %s", app, err.text);
	timer_read(r->def, &r->arena, files, n, &r->result);
}

static void read_output(struct reading *r, const char *app, const char *text)
{
	const struct timer_file file = { "run.log", text, strlen(text) };
	read_files(r, app, &file, 1);
}

static void done(struct reading *r)
{
	arena_free(&r->arena);
	timer_def_free(r->def);
}

/* NAN: must not be known. */
static void same(const char *what, double got, double want)
{
	if (known(want) ? got != want : known(got))
		fail_msg("%s: %.17g, and should be %.17g", what, got, want);
}

static void is(const char *app, const char *text, double wall_s, double steps)
{
	struct reading r;
	read_output(&r, app, text);
	if (r.result.rc)
		fail_msg("%s: %s", app, r.result.why);
	same(app, r.result.wall_s, wall_s);
	same("steps", r.result.steps, steps);
	assert_null(r.result.why);
	done(&r);
}

/* Missing, with these words in the sentence. */
static void is_missing(const char *app, const char *text, const char *words)
{
	struct reading r;
	read_output(&r, app, text);
	assert_int_equal(r.result.rc, -ENOENT);
	same(app, r.result.wall_s, NAN);
	same("steps", r.result.steps, NAN);
	assert_int_equal(r.result.n_parts, 0);
	if (!strstr(r.result.why, words))
		fail_msg("%s: \"%s\", and should say \"%s\"", app, r.result.why, words);
	done(&r);
}

static double part(const struct timer_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_parts; i++)
		if (strcmp(r->parts[i].name, name) == 0)
			return r->parts[i].seconds;
	return NAN;
}

static const char lammps_log[] =
	"LAMMPS (29 Sep 2021)\n"
	"Loop time of 0.5 on 1 procs for 100 steps with 500 atoms\n\n"
	"MPI task timing breakdown:\n"
	"Pair    | 9.99       | 9.99       | 9.99       |   0.0 | 99.00\n\n"
	"Loop time of 1.25 on 2 procs for 250 steps with 500 atoms\n\n"
	"Performance: 17280.0 tau/day, 200.000 timesteps/s, 100.000 katom-step/s\n"
	"99.6% CPU use with 2 MPI tasks x 1 OpenMP threads\n\n"
	"MPI task timing breakdown:\n"
	"Section |  min time  |  avg time  |  max time  |%varavg| %total\n"
	"---------------------------------------------------------------\n"
	"Pair    | 1.01       | 1.02       | 1.03       |   0.5 | 81.60\n"
	"Neigh   | 0.11       | 0.11       | 0.12       |   0.1 |  8.80\n"
	"Other   |            | 0.01       |            |       |  0.80\n\n"
	"Nlocal:        250 ave         252 max         248 min\n"
	"Total wall time: 0:00:01\n";

static void lammps(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "lammps", lammps_log);
	assert_int_equal(r.result.rc, 0);
	same("wall", r.result.wall_s, 1.25);
	same("steps", r.result.steps, 250);
	same("setup", r.result.setup_s, NAN);
	same("excluded", r.result.excluded_s, NAN);
	assert_int_equal(r.result.n_parts, 3);
	same("Pair", part(&r.result, "Pair"), 1.02);
	same("Other", part(&r.result, "Other"), 0.01);
	done(&r);

	is_missing("lammps", "", "run.log has no line that matches '^Loop time of");
	is_missing("lammps", "Loop time of 3.25 on 4 procs for 200 st",
		   "no run command came to its end");
	is_missing("lammps", "Loop time of nan on 4 procs for 200 steps with 1 atoms\n",
		   "run.log:1: \"nan\" is not a number");
	is_missing("lammps", "\nLoop time of -1.5 on 4 procs for 200 steps with 1 atoms\n",
		   "run.log:2: \"-1.5\" is negative");
	is_missing("lammps", "Loop time of 1e400 on 4 procs for 200 steps with 1 atoms\n",
		   "is not a number");
	is_missing("lammps", "Loop time of ***** on 4 procs for 2 steps with 1 atoms\n",
		   "did not fit into its field");
	is_missing("lammps",
		   "Loop time of 1 on 4 procs for 2 steps with 1 atoms\nERROR: Lost atoms\n",
		   "LAMMPS: the run is incomplete: LAMMPS stopped before its last step");
	is_missing("lammps",
		   "Fix halt condition for fix-id 1 met on step 5 with value 1\n"
		   "Loop time of 1 on 4 procs for 5 steps with 1 atoms\n",
		   "incomplete");
	is_missing("lammps", "Loop time of \xff\x1b[2J on 4 procs for 2 steps with 1 atoms\n",
		   "\"\xef\xbf\xbd?[2J\" is not a number"); /* what is cited is text again */
	is("lammps", "Loop time of .5 on 4 procs for 2 steps with 1 atoms", 0.5, 2);
}

static void sparta(void **state)
{
	(void)state;
	is("sparta", "Loop time of 2.5 on 4 procs for 1000 steps with 45000 particles\r\n", 2.5,
	   1000);
	is_missing("sparta", "Loop time of 2.5 on 4 procs for 1000 steps with 45000 atoms\n",
		   "no line");
	is_missing(
		"sparta",
		"Loop time of 2.5 on 4 procs for 1000 steps with 45 particles\nERROR on proc 0\n",
		"stopped");
}

static void warpx(void **state)
{
	(void)state;
	static const char log[] =
		"STEP 1 starts ...\nSTEP 1 ends. TIME = 0 DT = 0\n"
		"Evolve time = 0.5 s; This step = 0.5 s; Avg. per step = 0.5 s\n"
		"STEP 2 starts ...\nSTEP 2 ends. TIME = 0 DT = 0\n"
		"Evolve time = 0.75 s; This step = 0.25 s; Avg. per step = 0.375 s\n"
		"Total Time                     : 1.5\n";
	struct reading r;
	read_output(&r, "warpx", log);
	assert_int_equal(r.result.rc, 0);
	same("wall", r.result.wall_s, 0.75);
	same("steps", r.result.steps, 2);
	same("first", part(&r.result, "first step"), 0.5);
	same("total", part(&r.result, "total with initialisation and output"), 1.5);
	done(&r);
	/* without STEP lines the reports are the steps */
	is("warpx", "Evolve time = 1 s; This step = 1 s;\nEvolve time = 2 s; This step = 1 s;\n", 2,
	   2);
	is_missing("warpx",
		   "STEP 1 starts ...\nSTEP 1 ends. T\nEvolve time = 1 s; This step = 1 s;\nSTEP 2 "
		   "starts ...\n",
		   "a step began and did not end (1 is less than 2)");
	is_missing("warpx", "STEP 1 ends.\n", "warpx.verbose must be at least 1");
}

static void nyx(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "nyx",
		    "[STEP 5] Coarse TimeStep time: 0.5\ncheckPoint() time = 0.25 secs.\n"
		    "[STEP 6] Coarse TimeStep time: 0.75\nWrite plotfile time = 0.125  "
		    "seconds\nRun time = 3\n");
	assert_int_equal(r.result.rc, 0);
	same("wall", r.result.wall_s, 1.25);
	same("steps", r.result.steps, 2);
	same("excluded", r.result.excluded_s, 0.375);
	same("first", part(&r.result, "first step"), 0.5);
	done(&r);
	read_output(&r, "nyx", "[STEP 1] Coarse TimeStep time: 0.5\n");
	same("nothing was written", r.result.excluded_s, 0);
	done(&r);
	/* a step that can't be read is never left out of the sum */
	is_missing("nyx",
		   "[STEP 1] Coarse TimeStep time: 0.5\n[STEP 2] Coarse TimeStep time: nan\n"
		   "[STEP 3] Coarse TimeStep time: 0.5\n",
		   "run.log:2: \"nan\" is not a number");
	is_missing("nyx",
		   "[STEP 1] Coarse TimeStep time: 0.5\n[STEP 3] Coarse TimeStep time: 0.5\n",
		   "the time of a step is not in the output (run.log:2: 3 comes after 1)");
	is_missing("nyx", "[STEP 1] Coarse TimeStep time: -0.5\n", "negative");
	is_missing("nyx", "Run time = 3\n", "amr.v must be at least 1");
}

static const char nekrs_log[] =
	"initialization took 43.5 s\n"
	">>> runtime statistics (step= 10  totalElapsed= 5.0s):\n  solve  1.0e+00s  100.0\n\n"
	"step= 11 t= 1\n"
	">>> runtime statistics (step= 30  totalElapsed= 44.2363s):\n"
	"name                    time          abs%  rel%  calls\n"
	"  setup                 4.30000e+01s   10.0\n"
	"  solve                 8.50000e-01s  100.0\n"
	"    min                 2.50000e-02s\n"
	"    max                 6.40000e-02s\n"
	"    flops/rank          2.60077e+10\n"
	"    checkpointing       1.00000e-01s   12.0\n"
	"      solve             9.00000e+00s   12.0\n"
	"\n"
	"  solve                 7.00000e+00s  100.0\n";

static void nekrs(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "nekrs", nekrs_log);
	assert_int_equal(r.result.rc, 0);
	same("wall", r.result.wall_s, 0.75);
	same("steps", r.result.steps, 30);
	same("excluded", r.result.excluded_s, 0.1);
	same("setup", r.result.setup_s, 43.5);
	same("shortest", part(&r.result, "shortest step"), 0.025);
	same("setup row", part(&r.result, "setup"), 43);
	done(&r);
	is("nekrs", ">>> runtime statistics (step= 3  totalElapsed= 1s):\n  solve  2.5s", 2.5, 3);
	is_missing("nekrs", "  solve  2.5s\n", "does not have the block");
	is_missing("nekrs",
		   ">>> runtime statistics (step= 3  totalElapsed= 1s):\n\n  solve  2.5s\n",
		   "no line");
	is_missing("nekrs",
		   ">>> runtime statistics (step= 3  totalElapsed= 1s):\n       solve  2.5s\n",
		   "no line");
	is_missing("nekrs",
		   ">>> runtime statistics (step= 3  totalElapsed= 1s):\n  solve  0.5s 1\n    "
		   "checkpointing 1.0s 2\n",
		   "longer than the whole");
}

static void one_file(const char *app, const char *name, const char *text, double wall_s,
		     double steps, const char *words)
{
	const struct timer_file files[] = { { "run.log", "", 0 }, { name, text, strlen(text) } };
	struct reading r;
	read_files(&r, app, files, 2);
	if (known(wall_s) && r.result.rc)
		fail_msg("%s: %s", app, r.result.why);
	same(app, r.result.wall_s, wall_s);
	same("steps", r.result.steps, steps);
	if (words && (!r.result.why || !strstr(r.result.why, words)))
		fail_msg("%s: \"%s\", and should say \"%s\"", app,
			 r.result.why ? r.result.why : "(nothing)", words);
	if (!words && r.result.rc)
		fail_msg("%s: %s", app, r.result.why);
	done(&r);
}

static void specfem3d(void **state)
{
	(void)state;
	static const char file[] = "OUTPUT_FILES/output_solver.txt";
	one_file("specfem3d", file,
		 " Time steps done =           10  out of          400\n Elapsed time in seconds = "
		 "  0.01\n"
		 " Time steps done =          400  out of          400\n Elapsed time in seconds = "
		 "  2.5\n",
		 2.5, 400, NULL);
	one_file("specfem3d", "a/b/OUTPUT_FILES/output_solver.txt",
		 " Time steps done = 4 out of 4\n Elapsed time in seconds = 1.5\n", 1.5, 4, NULL);
	one_file("specfem3d", file,
		 " Time steps done = 10 out of 400\n Elapsed time in seconds = 1.5\n", NAN, NAN,
		 "the last report is not at the last step (10 is not 400)");
	one_file("specfem3d", file,
		 " Time steps done = 4 out of 4\n Elapsed time in seconds = 1.5\n Time steps done "
		 "= 4 out of 4\n",
		 NAN, NAN, "a report is cut off (1 is not 2)");
	one_file("specfem3d", file, " Elapsed time in seconds = 1.5\n", NAN, NAN,
		 "a report is cut off");
	one_file("specfem3d", "output_solver.txt",
		 " Time steps done = 4 out of 4\n Elapsed time in seconds = 1.5\n", NAN, NAN,
		 "there is no file OUTPUT_FILES/output_solver.txt");
	const struct timer_file two[] = { { "r1/OUTPUT_FILES/output_solver.txt", "", 0 },
					  { "OUTPUT_FILES/output_solver.txt", "", 0 } };
	struct reading r;
	read_files(&r, "specfem3d", two, 2);
	assert_int_equal(r.result.rc, -ENOENT);
	assert_non_null(strstr(r.result.why, "2 files match OUTPUT_FILES/output_solver.txt"));
	done(&r);
}

static void exaca(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "exaca",
		    "Time spent initializing data = 0.5 s\nTime spent performing CA calculations = "
		    "1.75 s\n"
		    "Time spent collecting and printing output data = 0.25 s\n\n"
		    "Max/min rank time initializing data  = 0.5 / 0.4 s\n"
		    "Max/min rank time in CA nucleation   = 0.125 / 0.1 s\n");
	assert_int_equal(r.result.rc, 0);
	same("wall", r.result.wall_s, 1.75);
	same("steps", r.result.steps, NAN);
	same("setup", r.result.setup_s, 0.5);
	same("nucleation", part(&r.result, "nucleation"), 0.125);
	same("output", part(&r.result, "final output"), 0.25);
	done(&r);
	is_missing("exaca", "Time spent initializing data = 0.5 s\n", "no line");
}

static void cp2k(void **state)
{
	(void)state;
	static const char head[] =
		"#     Step Nr.          Time[fs]        Kin.[a.u.]  UsedTime[s]\n";
	char text[1024];
	(void)snprintf(text, sizeof text,
		       "%s 0 0.0 0.1 0.0\n 1 0.5 0.1 20.0\n 2 1.0 0.1 4.5\n 3 1.5 0.1 4.25\n",
		       head);
	one_file("cp2k", "H2O-1.ener", text, 8.75, 2, NULL);
	const struct timer_file planned[] = {
		{ "run.log", " MD_PAR| Number of time steps                  5\n", 49 },
		{ "run/H2O-1.ener", text, strlen(text) }
	};
	struct reading r;
	read_files(&r, "cp2k", planned, 2);
	assert_int_equal(r.result.rc, -ENOENT);
	assert_non_null(strstr(r.result.why, "the run did not make all its steps (3 is not 5)"));
	done(&r);
	/* a restart counts on: its first step is left out, too */
	one_file("cp2k", "H2O-1.ener", " 101 0.5 0.1 20.0\n 102 1.0 0.1 4.5\n", 4.5, 1, NULL);
	one_file("cp2k", "H2O-1.ener", " 0 0.0 0.0\n 1 0.5 20.0\n", NAN, NAN,
		 "at least two MD steps");
	one_file("cp2k", "H2O-1.ener", " 1 0.5 20.0\n 2 1.0 nan\n 3 1 1\n", NAN, NAN,
		 "H2O-1.ener:2: \"nan\"");
	one_file("cp2k", "H2O-1.ener", " 1 0.5 20.0\n 2 1.0 *****\n", NAN, NAN, "did not fit");
	one_file("cp2k", "H2O-1.ener", " 1 0.5 20.0\n 2 1.0 4.0\n 4 1.5 4.0\n", NAN, NAN,
		 "4 comes after 2");
	one_file("cp2k", "H2O-1.ener", " 1 0.5 20.0\n 2 1.0 4.0\nxx 1.5 4.0\n", NAN, NAN,
		 "a row of the table is not a step");
	one_file("cp2k", "H2O-2.ener", text, NAN, NAN, "there is no file *-1.ener");
}

static const char qmcpack_log[] =
	"Flat profile\nStack timer profile\nTimer Inclusive_time Exclusive_time Calls "
	"Time_per_call\n"
	"Total          100.0     1.0              1     100.0\n"
	"  VMCBatched   10.0     1.0              1     10.0\n"
	"    VMCBatched::Production   9.0     2.0              1     9.0\n"
	"  DMCBatched   80.0     1.0              1     80.0\n"
	"    DMCBatched::Production   75.0     2.0              1     75.0\n"
	"      DMCBatched::RunSteps   70.0     10.0           600     0.1\n"
	"        DMCBatched::Hamiltonian  30.0   30.0   600  0.05\n"
	"      DMCBatched::Estimators   3.0     3.0           10     0.3\n"
	"    DMCBatched::Startup   4.0     4.0    1     4.0\n"
	"  Startup        5.0     5.0              1       5.0\n"
	"\n"
	"    DMCBatched::Production   1.0     2.0              1     1.0\n";

static void qmcpack(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "qmcpack", qmcpack_log);
	if (r.result.rc)
		fail_msg("%s", r.result.why);
	same("wall", r.result.wall_s, 75);
	same("steps", r.result.steps, 600);
	same("setup", r.result.setup_s, 5);
	same("run steps", part(&r.result, "DMCBatched::RunSteps"), 70);
	same("estimators", part(&r.result, "DMCBatched::Estimators"), 3);
	same("inside", part(&r.result, "DMCBatched::Hamiltonian"), 30);
	same("before", part(&r.result, "VMCBatched::Production, before"), 9);
	same("not inside", part(&r.result, "DMCBatched::Startup"), NAN);
	done(&r);
	is_missing("qmcpack", "DMCBatched::Production 1 1 1 1\n", "does not have the block");
	is_missing("qmcpack", "Stack timer profile\nTimer\nTotal 1 1 1 1\n",
		   "--enable-timers=medium");
	is_missing("qmcpack",
		   "Stack timer profile\nTotal 1 1 1 1\n  DMCBatched::Production 1 1 1 1\n  "
		   "DMCBatched::Production 1 1 1 1\n",
		   "2 lines");
}

static void dftfe(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "dftfe",
		    "Wall time for the above scf iteration: 50 seconds\n"
		    "---------------MD STEP 0 ------------------\n"
		    "Time taken for updateAtomPositionsAndMoveMesh: 4.0\n"
		    "Wall time for the above scf iteration: 1.5 seconds\n");
	assert_int_equal(r.result.rc, 0);
	same("wall", r.result.wall_s, 5.5);
	same("steps", r.result.steps, 1);
	same("ground state", part(&r.result, "ground state before"), 50);
	done(&r);
	is_missing("dftfe", "---MD STEP 0\nWall time for the above scf iteration: 1.5 seconds\n",
		   "no step of molecular dynamics");
	is_missing("dftfe", "---MD STEP 0\nTime taken for updateAtomPositionsAndMoveMesh: 4.0\n",
		   "VERBOSITY must be at least 1");
	is_missing("dftfe",
		   "---MD STEP 0\nTime taken for updateAtomPositionsAndMoveMesh: 4.0\n"
		   "Wall time for the above scf iteration: nan seconds\n",
		   "is not a number");
}

#define GROMACS_END                                                                                \
	"           Step           Time\n            500      1.00000\n\n"                         \
	"\tStatistics over 501 steps using 51 frames\n\n"                                          \
	"               Core t (s)   Wall t (s)        (%)\n"                                      \
	"       Time:       83.292       10.412      800.0\n"                                      \
	"                 (ns/day)    (hour/ns)\n"                                                 \
	"Performance:       21.224        1.131\n"                                                 \
	"Finished mdrun on rank 0 Wed Jun  3 17:18:58 2020\n"

#define MD_INPUT                                                                                   \
	"   integrator                     = md\n   dt                             = 0.002\n"

static void gromacs(void **state)
{
	(void)state;
	static const char head[] = MD_INPUT
		"   nsteps                         = 500\n   init-step                      = 0\n";
	char text[2048];
	(void)snprintf(text, sizeof text, "%s%s", head, GROMACS_END);
	one_file("gromacs", "work/md.log", text, 10.412, 501, NULL);
	(void)snprintf(text, sizeof text, "%sstep 100: resetting all time and cycle counters\n%s",
		       head, GROMACS_END);
	one_file("gromacs", "md.log", text, 10.412, NAN, NULL);
	(void)snprintf(text, sizeof text,
		       MD_INPUT
		       "   nsteps                         = 900\n   init-step                      "
		       "= 0\n%s",
		       GROMACS_END);
	one_file("gromacs", "md.log", text, NAN, NAN,
		 "mdrun did not make all its steps (900 is not 500)");
	(void)snprintf(
		text, sizeof text,
		MD_INPUT
		"   nsteps                         = 900\n   init-step                      = 0\n"
		"Overriding nsteps with value passed on the command line: 500 steps, 1 ps\n%s",
		GROMACS_END);
	one_file("gromacs", "md.log", text, 10.412, 501, NULL);
	(void)snprintf(text, sizeof text,
		       "%s\nStep 300: Run time exceeded 0.050 hours, will terminate the run within "
		       "200 steps\n%s",
		       head, GROMACS_END);
	one_file("gromacs", "md.log", text, NAN, NAN, "its own limit (-maxh)");
	(void)snprintf(text, sizeof text,
		       "%sReceived the TERM signal, stopping within 100 steps\n%s", head,
		       GROMACS_END);
	one_file("gromacs", "md.log", text, NAN, NAN, "stopped by a signal");
	(void)snprintf(text, sizeof text, "%s%.*s", head, (int)(sizeof GROMACS_END - 60),
		       GROMACS_END);
	one_file("gromacs", "md.log", text, NAN, NAN, "mdrun did not come to its end");
	/* a minimisation that converged is complete */
	(void)snprintf(text, sizeof text,
		       "   integrator                     = steep\n   dt                           "
		       "  = 0.002\n"
		       "   nsteps                         = 900\n   init-step                      "
		       "= 0\n%s",
		       GROMACS_END);
	one_file("gromacs", "em.log", text, 10.412, 501, NULL);
}

static const char pw_log[] =
	"     iteration #  1     ecut=    25.00 Ry     beta= 0.70\n"
	"     iteration #  2     ecut=    25.00 Ry     beta= 0.70\n"
	"     init_run     :      0.41s CPU      0.52s WALL (       1 calls)\n"
	"     electrons    :     61.40s CPU     66.25s WALL (       2 calls)\n"
	"     update_pot   :      0.25s CPU      0.50s WALL (       1 calls)\n"
	"     forces       :      1.00s CPU      1.25s WALL (       2 calls)\n\n"
	"     Called by electrons:\n"
	"     c_bands      :      5.31s CPU      5.75s WALL (       9 calls)\n\n"
	"     PWSCF        :  1m 3.40s CPU      1m 9.01s WALL\n\n"
	"   This run was terminated on:  10:21:11  29Sep2026\n"
	"=------------------------------------------------------------------------------=\n"
	"   JOB DONE.\n";

static void quantum_espresso(void **state)
{
	(void)state;
	struct reading r;
	read_output(&r, "quantum-espresso", pw_log);
	if (r.result.rc)
		fail_msg("%s", r.result.why);
	same("wall", r.result.wall_s, 68);
	same("steps", r.result.steps, 2);
	same("setup", r.result.setup_s, 0.52);
	same("c_bands", part(&r.result, "c_bands"), 5.75);
	same("program", part(&r.result, "program"), 69.01);
	done(&r);
	is("quantum-espresso",
	   "     electrons    :      1.40s CPU      1.50s WALL (       1 calls)\n   JOB DONE.\n",
	   1.5, NAN);
	is_missing("quantum-espresso",
		   "     electrons    :      1.40s CPU      1.50s WALL (       1 calls)\n",
		   "did not come to its end");
	is_missing("quantum-espresso",
		   "     electrons    : *********s CPU *********s WALL (       1 calls)\n   JOB "
		   "DONE.\n",
		   "did not fit into its field");
	is_missing("quantum-espresso",
		   "     Maximum CPU time exceeded\n"
		   "     electrons    :      1.40s CPU      1.50s WALL (       1 calls)\n   JOB "
		   "DONE.\n",
		   "max_seconds");
	is_missing("quantum-espresso", "   JOB DONE.\n", "did not come to its clocks");
}

static void every_definition_says_what_it_is(void **state)
{
	(void)state;
	DIR *dir = opendir("suites/timers");
	assert_non_null(dir);
	int n = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		char name[128];
		size_t len = strlen(e->d_name);
		if (len < 6 || len >= sizeof name || strcmp(e->d_name + len - 5, ".yaml") != 0)
			continue;
		(void)snprintf(name, sizeof name, "%.*s", (int)len - 5, e->d_name);
		struct timer_def *def = NULL;
		struct err err = { 0 };
		if (timer_def_load(&def, name, "/nowhere:suites/timers", &err))
			fail_msg("%s", err.text);
		assert_true(strlen(timer_def_covers(def)) > 20);
		assert_true(strlen(timer_def_source(def)) > 20);
		assert_true(strlen(timer_def_ranks(def)) > 2);
		assert_true(timer_def_files(def).n >= 1);
		assert_in_range(timer_def_device_sync(def) + 1, 0, 2);
		if (timer_def_device_sync(def) == UNKNOWN)
			assert_non_null(timer_def_caveat(def));
		/* Nothing at all is a missing timer, and so is a folder without the file. */
		struct arena a = { 0 };
		struct timer_result r;
		timer_read(def, &a, NULL, 0, &r);
		assert_int_equal(r.rc, -ENOENT);
		assert_non_null(strstr(r.why, "there is no file"));
		arena_free(&a);
		timer_def_free(def);
		n++;
	}
	(void)closedir(dir);
	assert_int_equal(n, 12);
}

/* The example of the document is a definition, and the document knows all that there are. */
static void the_document_is_in_step(void **state)
{
	(void)state;
	static const char *const names[] = { "cp2k",   "dftfe", "exaca",     "gromacs",
					     "lammps", "nekrs", "nyx",       "qmcpack",
					     "sparta", "warpx", "specfem3d", "quantum-espresso" };
	struct buf text = { 0 };
	assert_int_equal(file_read(&text, "docs/timers.md", NULL), 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char quoted[64];
		(void)snprintf(quoted, sizeof quoted, "`%s`", names[i]);
		if (!strstr(text.data, quoted))
			fail_msg("docs/timers.md does not tell about %s", quoted);
	}
	char *begin = strstr(text.data, "```yaml\n"),
	     *end = begin ? strstr(begin + 8, "```") : NULL;
	assert_non_null(end);
	struct reading r = { 0 };
	struct err err = { 0 };
	if (timer_def_parse(&r.def, "docs/timers.md", begin + 8, (size_t)(end - begin - 8), &err))
		fail_msg("%s", err.text);
	static const char log[] = "Loop: 2.5 s, 40 steps\nFinished\n";
	const struct timer_file file = { "run.log", log, sizeof log - 1 };
	timer_read(r.def, &r.arena, &file, 1, &r.result);
	same("wall", r.result.wall_s, 2.5);
	same("steps", r.result.steps, 40);
	done(&r);
	buf_done(&text);
}

static void one_that_is_not_there_names_the_others(void **state)
{
	(void)state;
	struct timer_def *def = NULL;
	struct err err = { 0 };
	assert_int_equal(timer_def_load(&def, "lamps", "suites/timers", &err), -ENOENT);
	assert_string_equal(err.text,
			    "there is no timer definition \"lamps\"; there are: cp2k, dftfe, "
			    "exaca, gromacs, lammps, "
			    "nekrs, nyx, qmcpack, quantum-espresso, sparta, specfem3d, warpx");
	assert_int_equal(timer_def_load(&def, "../timers/lammps", "suites/timers", &err), -ENOENT);
	assert_int_equal(timer_def_load(&def, "no-such", "/nowhere", &err), -ENOENT);
	assert_non_null(strstr(err.text, "there is no timer definition \"no-such\""));
	assert_null(def);
	timer_def_free(NULL);
}

static void files_are_matched_by_name_or_by_the_end_of_the_path(void **state)
{
	(void)state;
	static const struct {
		const char *glob, *path;
		bool yes;
	} rows[] = {
		{ "*-1.ener", "a/b/H2O-1.ener", true },
		{ "*-1.ener", "H2O-1.ener", true },
		{ "*-1.ener", "H2O-1.ener/x", false },
		{ "O/x.txt", "a/O/x.txt", true },
		{ "O/x.txt", "O/x.txt", true },
		{ "O/x.txt", "NO/x.txt", false },
		{ "O/x.txt", "x.txt", false },
		{ "run.log", "run.log", true },
		{ "run.log", "a/run.log", false },
		{ "*.log", "run.log", false },
		{ "*.log", "md.log", true },
		{ "*.log", "a/md.log", true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (timer_file_matches(rows[i].glob, rows[i].path) != rows[i].yes)
			fail_msg("%s and %s", rows[i].glob, rows[i].path);
}

#define HEAD "name: x\ntitle: X\nsource: s\ncovers: c\nranks: max\ndevice_sync: no\n"

static void definitions_are_checked(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "", "x.yaml:1:1: the file is empty" },
		{ "name: x\n", "x.yaml:1:1: the definition has no \"title\"; add it" },
		{ HEAD, "x.yaml:1:1: the definition has no \"region\"; add it" },
		{ HEAD "region: '(a)'\nsteep: 1\n",
		  "x.yaml:8:1: unknown key \"steep\" in the definition; did you mean \"steps\"?" },
		{ HEAD "region: 'a'\n", "x.yaml:7:9: pattern 'a': needs one group around the "
					"number, or one named (?<value>...)" },
		{ HEAD "region: '(a'\n",
		  "x.yaml:7:9: pattern '(a', character 3: missing closing parenthesis" },
		{ HEAD "region: []\n", "x.yaml:7:9: region: is empty" },
		{ HEAD "region: {take: sum}\n",
		  "x.yaml:7:9: a term needs a pattern, or count with one" },
		{ HEAD "region: {pattern: '(a)', take: all}\n",
		  "x.yaml:7:32: take: \"all\" must be last, first, only, sum, count or each" },
		{ HEAD "region: {pattern: '(a)', unit: min}\n",
		  "x.yaml:7:32: unit: must be s, ms, us, ns or clock" },
		{ HEAD "region: {pattern: '(a)', absent: -1}\n",
		  "x.yaml:7:34: absent: must be a number from 0 on" },
		{ HEAD "region: {count: 'a'}\n", "x.yaml:7:9: region: a time is no count and no "
						 "list; take last, first, only or sum" },
		{ HEAD "region: '(a)'\nparts: '(b)'\n",
		  "x.yaml:8:8: parts: a part needs a name, or take: each with a group \"name\"" },
		{ HEAD "region: '(a)'\nparts: {pattern: '(b)', take: each}\n",
		  "x.yaml:8:18: pattern '(b)': take: each needs a group (?<name>...)" },
		{ HEAD "region: '(a)'\ncomplete: {present: a}\n",
		  "x.yaml:8:11: complete: must be a list of conditions" },
		{ HEAD "region: '(a)'\ncomplete: [{why: a}]\n",
		  "x.yaml:8:12: a condition is one of equal, no_less, present, absent, "
		  "consecutive" },
		{ HEAD "region: '(a)'\ncomplete: [{present: a}]\n",
		  "x.yaml:8:12: a condition has no \"why\"; say what a run that breaks it is" },
		{ HEAD "region: '(a)'\ncomplete: [{equal: ['(a)'], why: x}]\n",
		  "x.yaml:8:20: equal: must be a list of two" },
		{ HEAD "region: '(a)'\nranks: some\n",
		  "x.yaml:8:1: \"ranks\" is here twice, first at line 5, column 1; remove one" },
		{ "- a\n", "x.yaml:1:1: the definition must be a mapping of keys, this is a list" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct timer_def *def = NULL;
		struct err err = { 0 };
		int rc = timer_def_parse(&def, "x.yaml", rows[i][0], strlen(rows[i][0]), &err);
		if (rc != -EINVAL || def || strcmp(err.text, rows[i][1]) != 0)
			fail_msg("\"%s\", and should be \"%s\"", err.text, rows[i][1]);
	}
}

/* --read NAME FILE: what a definition makes of a real output, for the scripts in tests/system. */
static int print_reading(const char *name, const char *path)
{
	struct buf text = { 0 };
	if (file_read(&text, path, NULL))
		return 2;
	struct reading r;
	read_output(&r, name, text.data);
	if (r.result.rc)
		(void)printf("missing: %s\n", r.result.why);
	else
		(void)printf("wall %.15g steps %.15g\n", r.result.wall_s, r.result.steps);
	for (size_t i = 0; i < r.result.n_parts; i++)
		(void)printf("part %s %.15g\n", r.result.parts[i].name, r.result.parts[i].seconds);
	done(&r);
	buf_done(&text);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--read") == 0)
		return print_reading(argv[2], argv[3]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lammps),
		cmocka_unit_test(sparta),
		cmocka_unit_test(warpx),
		cmocka_unit_test(nyx),
		cmocka_unit_test(nekrs),
		cmocka_unit_test(specfem3d),
		cmocka_unit_test(exaca),
		cmocka_unit_test(cp2k),
		cmocka_unit_test(qmcpack),
		cmocka_unit_test(dftfe),
		cmocka_unit_test(gromacs),
		cmocka_unit_test(quantum_espresso),
		cmocka_unit_test(every_definition_says_what_it_is),
		cmocka_unit_test(the_document_is_in_step),
		cmocka_unit_test(one_that_is_not_there_names_the_others),
		cmocka_unit_test(files_are_matched_by_name_or_by_the_end_of_the_path),
		cmocka_unit_test(definitions_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
