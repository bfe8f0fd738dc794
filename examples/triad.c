/* a = b + factor * c over long arrays, again and again: how fast memory is. With OpenMP.
 *
 *   triad [ELEMENTS [ROUNDS]]          doubles in each of the three arrays, passes over them
 *
 * Without ROUNDS there are as many as make about 500 million results.
 * Small arrays stay in the caches, large ones show the memory. The rate counts two reads and one
 * write of 8 bytes for each element, as STREAM does. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "roimeter.h"

/* The arrays change roles from round to round, so that no compiler can leave a round out, and so
 * that the last array depends on every round. */
static void triad(double *restrict a, const double *restrict b, const double *restrict c,
		  double factor, size_t n)
{
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + factor * c[i];
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 4000000;
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : -1;
	if (argc < 3 && n > 0)
		rounds = 1 + (long)(500000000 / n);
	if (n < 1 || n > (size_t)1 << 40 || rounds < 1 || rounds > 1000000) {
		fprintf(stderr, "usage: triad [ELEMENTS [ROUNDS]], at most 1000000 rounds\n");
		return 2;
	}
	double *all = malloc(3 * n * sizeof *all);
	if (!all) {
		fprintf(stderr, "triad: no memory for 3 arrays of %zu doubles\n", n);
		return 2;
	}
	double *array[3] = { all, all + n, all + 2 * n };
	printf("triad: %zu elements, %ld rounds, %d threads\n", n, rounds, omp_get_max_threads());

	/* Every element of an array is the same, so that one number follows each array along. */
	double wanted[3] = { 0, 1, 2 };
	const double factor = 1e-3; /* numbers stay small over any number of rounds */
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			array[k][i] = wanted[k];

	(void)omp_get_wtime(); /* the first look at a clock is slow: its code must be brought in */
	ROIMETER_BEGIN();
	double start_s = omp_get_wtime();
	for (long round = 0; round < rounds; round++) {
		long k = round % 3;
		triad(array[k], array[(k + 1) % 3], array[(k + 2) % 3], factor, n);
		ROIMETER_STEP();
	}
	double region_s = omp_get_wtime() - start_s;
	ROIMETER_END();

	for (long round = 0; round < rounds; round++) {
		long k = round % 3;
		wanted[k] = wanted[(k + 1) % 3] + factor * wanted[(k + 2) % 3];
	}
	size_t bad = 0;
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < n; i++)
			bad += !(fabs(array[k][i] - wanted[k]) <= 1e-12 * fabs(wanted[k]));
	printf("check: %zu of %zu elements differ: %s\n", bad, 3 * n, bad ? "WRONG" : "good");
	printf("rate: %.3f GB/s\n", 24.0 * (double)n * (double)rounds / region_s / 1e9);
	printf("region time: %.9f s\n", region_s);
	free(all);
	return bad ? 1 : 0;
}
