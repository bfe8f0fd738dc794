/* Levenshtein's distance, in one row. */
#include "suite/near.h"

#include <string.h>

#define MAX_LETTERS 255

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

unsigned near_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	if (na > MAX_LETTERS || nb > MAX_LETTERS)
		return MAX_LETTERS;
	unsigned row[MAX_LETTERS + 1];
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned diagonal = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned above = row[j];
			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

const char *near_word(const char *word, const char *const *words, size_t n)
{
	const char *best = NULL;
	unsigned best_distance = (unsigned)strlen(word) / 2 + 1;
	for (size_t i = 0; i < n; i++) {
		unsigned d = near_distance(word, words[i]);
		if (d < best_distance) {
			best_distance = d;
			best = words[i];
		}
	}
	return best;
}
