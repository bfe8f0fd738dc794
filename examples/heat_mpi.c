/* The heat equation in a cube whose faces are kept cold, cut into slabs, one a process, with MPI.
 *
 *   mpirun -n 2 heat_mpi [CELLS [STEPS [RATIO]]]    inner cells per side, steps, alpha dt / h^2
 *
 * Without STEPS there are as many as make about 200 million updates of a cell.
 * Each step exchanges one plane with either neighbour ("exchange") and then computes ("update").
 * The cube starts as one product of sines, of which each step makes a known multiple: the answer
 * is checked to rounding. Unstable, and so wrong, for a RATIO above 1/6. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "roimeter.h"

struct slab {
	int rank, ranks;
	int below, above;      /* neighbours, or MPI_PROC_NULL */
	size_t cells;          /* inner cells per side of the whole cube */
	size_t first, planes;  /* this process has inner planes first .. first + planes - 1, from 1 */
	double ratio;          /* alpha dt / h^2 */
	double *now, *next;    /* planes + 2 planes of (cells + 2)^2 */
};

static const double pi = 3.14159265358979323846;

static size_t plane_size(const struct slab *s)
{
	return (s->cells + 2) * (s->cells + 2);
}

static void cut(struct slab *s)
{
	size_t each = s->cells / (size_t)s->ranks, rest = s->cells % (size_t)s->ranks;
	size_t rank = (size_t)s->rank;

	s->planes = each + (rank < rest);
	s->first = 1 + rank * each + (rank < rest ? rank : rest);
	s->below = s->rank > 0 ? s->rank - 1 : MPI_PROC_NULL;
	s->above = s->rank < s->ranks - 1 ? s->rank + 1 : MPI_PROC_NULL;
}

/* The sines once per coordinate, from the rim's 0 to the other rim's 0. */
static double *sines(const struct slab *s)
{
	double *wave = calloc(s->cells + 2, sizeof *wave);
	for (size_t i = 1; wave && i <= s->cells; i++)
		wave[i] = sin(pi * (double)i / (double)(s->cells + 1));
	return wave;
}

static void fill(struct slab *s, const double *wave)
{
	size_t side = s->cells + 2, i = 0;

	for (size_t z = s->first - 1; z <= s->first + s->planes; z++)
		for (size_t y = 0; y < side; y++)
			for (size_t x = 0; x < side; x++, i++) {
				s->now[i] = wave[z] * wave[y] * wave[x];
				s->next[i] = 0;
			}
}

/* My lowest plane becomes the neighbour's upper halo, and so on. */
static void exchange(struct slab *s)
{
	int n = (int)plane_size(s);
	double *lowest = s->now + n, *highest = s->now + s->planes * plane_size(s);

	MPI_Sendrecv(lowest, n, MPI_DOUBLE, s->below, 0, highest + n, n, MPI_DOUBLE, s->above, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(highest, n, MPI_DOUBLE, s->above, 1, s->now, n, MPI_DOUBLE, s->below, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void update(struct slab *s)
{
	size_t side = s->cells + 2, plane = plane_size(s);
	double r = s->ratio;

	for (size_t z = 1; z <= s->planes; z++)
		for (size_t y = 1; y <= s->cells; y++) {
			const double *u = s->now + z * plane + y * side;
			double *out = s->next + z * plane + y * side;
			for (size_t x = 1; x <= s->cells; x++)
				out[x] = u[x] + r * (u[x - 1] + u[x + 1] + u[x - side] + u[x + side] +
						     u[x - plane] + u[x + plane] - 6 * u[x]);
		}
	double *old = s->now;
	s->now = s->next;
	s->next = old;
}

/* Of all processes, in each. */
static double largest_error(const struct slab *s, const double *wave, long steps)
{
	double half = sin(pi / (double)(s->cells + 1) / 2);
	double factor = pow(1 - 12 * s->ratio * half * half, (double)steps), worst = 0;
	size_t side = s->cells + 2;

	for (size_t z = 1; z <= s->planes; z++)
		for (size_t y = 1; y <= s->cells; y++)
			for (size_t x = 1; x <= s->cells; x++) {
				double got = s->now[z * plane_size(s) + y * side + x];
				double wanted = factor * wave[s->first + z - 1] * wave[y] * wave[x];
				double error = fabs(got - wanted);
				if (!(error <= worst)) /* so that a NaN is an error too */
					worst = isnan(error) ? HUGE_VAL : error;
			}
	MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return worst;
}

/* The marked loop; the seconds that it took here. */
static double run(struct slab *s, long steps)
{
	(void)MPI_Wtime(); /* the first look at a clock is slow: its code must be brought in */

	/* All start together; who waits for whom before that is no part of the region. */
	MPI_Barrier(MPI_COMM_WORLD);
	ROIMETER_BEGIN();
	double start_s = MPI_Wtime();
	for (long i = 0; i < steps; i++) {
		ROIMETER_PHASE_BEGIN("exchange");
		exchange(s);
		ROIMETER_PHASE_END();
		ROIMETER_PHASE_BEGIN("update");
		update(s);
		ROIMETER_PHASE_END();
		ROIMETER_STEP();
	}
	double region_s = MPI_Wtime() - start_s;
	ROIMETER_END();
	return region_s;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	struct slab s = {
		.cells = argc > 1 ? strtoul(argv[1], NULL, 10) : 96,
		.ratio = argc > 3 ? strtod(argv[3], NULL) : 0.15,
	};
	long steps = argc > 2 ? strtol(argv[2], NULL, 10) : -1;
	if (argc < 3 && s.cells > 0)
		steps = 1 + (long)(200000000 / (s.cells * s.cells * s.cells));
	MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
	if (s.cells < (size_t)s.ranks || s.cells > 2000 || steps < 1) {
		if (s.rank == 0)
			fprintf(stderr, "usage: heat_mpi [CELLS [STEPS [RATIO]]], at least a plane "
					"for each process, at most 2000\n");
		MPI_Finalize();
		return 2;
	}
	cut(&s);
	size_t size = (s.planes + 2) * plane_size(&s) * sizeof *s.now;
	double *wave = sines(&s);
	s.now = malloc(size);
	s.next = malloc(size);
	if (!wave || !s.now || !s.next) {
		fprintf(stderr, "heat_mpi: rank %d: no memory for %zu planes\n", s.rank, s.planes);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (s.rank == 0)
		printf("heat_mpi: %zu^3 cells, %ld steps, %d processes\n", s.cells, steps, s.ranks);
	fill(&s, wave);

	double region_s = run(&s, steps);

	/* The slowest process is what the job takes. */
	MPI_Allreduce(MPI_IN_PLACE, &region_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	double error = largest_error(&s, wave, steps);
	int good = error < 1e-9;
	if (s.rank == 0) {
		double cells = pow((double)s.cells, 3) * (double)steps;
		printf("check: largest error %.3g, limit 1e-9: %s\n", error, good ? "good" : "WRONG");
		printf("rate: %.3f Mcell/s\n", cells / region_s / 1e6);
		printf("region time: %.9f s\n", region_s);
	}
	free(wave);
	free(s.now);
	free(s.next);
	MPI_Finalize();
	return good ? 0 : 1;
}
