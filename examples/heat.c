/* The heat equation on a square plate whose edges are kept cold, in explicit steps, with OpenMP.
 *
 *   heat [CELLS [STEPS [RATIO]]]       inner cells per side, steps, alpha dt / h^2
 *
 * Without STEPS there are as many as make about 200 million updates of a cell.
 * The plate starts as one product of sines. Each step multiplies that shape by a number that is
 * known exactly, also for the grid, so that the answer can be checked to rounding. The scheme is
 * unstable for a RATIO above 0.25; then the check fails. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "roimeter.h"

struct plate {
	size_t cells;    /* inner cells per side; a rim of zeros surrounds them */
	double ratio;    /* alpha dt / h^2 */
	double *now, *next;
};

static const double pi = 3.14159265358979323846;
enum { WAVES_X = 3, WAVES_Y = 2 };

static double shape(const struct plate *p, size_t row, size_t column)
{
	double h = 1.0 / (double)(p->cells + 1);
	return sin(WAVES_X * pi * h * (double)column) * sin(WAVES_Y * pi * h * (double)row);
}

/* What one step does to the shape: 1 - 4 r (sin^2(k pi h / 2) + sin^2(l pi h / 2)). */
static double growth(const struct plate *p)
{
	double h = 1.0 / (double)(p->cells + 1);
	double x = sin(WAVES_X * pi * h / 2), y = sin(WAVES_Y * pi * h / 2);
	return 1 - 4 * p->ratio * (x * x + y * y);
}

static void fill(struct plate *p)
{
	size_t side = p->cells + 2;

	/* In parallel like the steps: on a machine with several memories each page lands near the
	 * thread that will use it. */
#pragma omp parallel for schedule(static)
	for (size_t row = 0; row < side; row++)
		for (size_t column = 0; column < side; column++) {
			p->now[row * side + column] = shape(p, row, column);
			p->next[row * side + column] = 0;
		}
	/* sin(k pi) is not quite 0 in floating point; the rim is. */
	for (size_t i = 0; i < side; i++)
		p->now[i] = p->now[(side - 1) * side + i] = p->now[i * side] =
			p->now[i * side + side - 1] = 0;
}

static void step(struct plate *p)
{
	size_t side = p->cells + 2;
	double r = p->ratio;

#pragma omp parallel for schedule(static)
	for (size_t row = 1; row <= p->cells; row++) {
		const double *here = p->now + row * side;
		const double *above = here - side, *below = here + side;
		double *out = p->next + row * side;
		for (size_t i = 1; i <= p->cells; i++)
			out[i] = here[i] +
				 r * (here[i - 1] + here[i + 1] + above[i] + below[i] - 4 * here[i]);
	}
	double *old = p->now;
	p->now = p->next;
	p->next = old;
}

static double largest_error(const struct plate *p, long steps)
{
	double factor = pow(growth(p), (double)steps), worst = 0;
	size_t side = p->cells + 2;

	for (size_t row = 1; row <= p->cells; row++)
		for (size_t column = 1; column <= p->cells; column++) {
			double wanted = factor * shape(p, row, column);
			double error = fabs(p->now[row * side + column] - wanted);
			if (!(error <= worst)) /* so that a NaN is an error too */
				worst = error;
		}
	return worst;
}

int main(int argc, char **argv)
{
	struct plate p = {
		.cells = argc > 1 ? strtoul(argv[1], NULL, 10) : 512,
		.ratio = argc > 3 ? strtod(argv[3], NULL) : 0.2,
	};
	long steps = argc > 2 ? strtol(argv[2], NULL, 10) : -1;
	if (argc < 3 && p.cells > 0)
		steps = 1 + (long)(200000000 / (p.cells * p.cells));
	if (p.cells < 2 || p.cells > 30000 || steps < 1) {
		fprintf(stderr, "usage: heat [CELLS [STEPS [RATIO]]], 2 to 30000 cells\n");
		return 2;
	}
	size_t side = p.cells + 2;
	p.now = malloc(side * side * sizeof *p.now);
	p.next = malloc(side * side * sizeof *p.next);
	if (!p.now || !p.next) {
		fprintf(stderr, "heat: no memory for %zu x %zu cells\n", side, side);
		free(p.now);
		free(p.next);
		return 2;
	}
	printf("heat: %zu x %zu cells, %ld steps, %d threads\n", p.cells, p.cells, steps,
	       omp_get_max_threads());
	fill(&p);

	/* Set-up is done: from here to END it counts. */
	(void)omp_get_wtime(); /* the first look at a clock is slow: its code must be brought in */
	ROIMETER_BEGIN();
	double start_s = omp_get_wtime();
	for (long i = 0; i < steps; i++) {
		step(&p);
		ROIMETER_STEP();
	}
	double region_s = omp_get_wtime() - start_s;
	ROIMETER_END();

	/* The check and the output are no part of the region. */
	double error = largest_error(&p, steps);
	int good = error < 1e-9;
	double cells = (double)p.cells * (double)p.cells * (double)steps;
	printf("check: largest error %.3g, limit 1e-9: %s\n", error, good ? "good" : "WRONG");
	printf("rate: %.3f Mcell/s\n", cells / region_s / 1e6);
	printf("region time: %.9f s\n", region_s);
	free(p.now);
	free(p.next);
	return good ? 0 : 1;
}
