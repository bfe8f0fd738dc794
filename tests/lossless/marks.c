/* A marked program whose truth is known: it counts each finished entry and step in a file of its
 * own, by a store behind the mark, so that whoever kills it knows what was marked, to one.
 *
 *     marks TRUTH ENTRIES STEPS PAUSE_US [ANYTHING...] */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "roimeter.h"

struct truth {
	uint64_t begun, ended, steps, finished; /* finished: 1 when the program came to its end */
};

static void rest(long us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000 };
	if (us > 0)
		(void)nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		(void)fprintf(stderr, "usage: marks TRUTH ENTRIES STEPS PAUSE_US\n");
		return 2;
	}
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096)) {
		perror(argv[1]);
		return 2;
	}
	volatile struct truth *t = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	const uint64_t entries = strtoull(argv[2], NULL, 10), steps = strtoull(argv[3], NULL, 10);
	const long pause_us = strtol(argv[4], NULL, 10);
	for (uint64_t i = 0; i < entries; i++) {
		ROIMETER_BEGIN();
		t->begun = i + 1;
		for (uint64_t k = 0; k < steps; k++) {
			ROIMETER_STEP();
			t->steps++;
		}
		rest(pause_us);
		ROIMETER_END();
		t->ended = i + 1;
	}
	t->finished = 1;
	return 0;
}
