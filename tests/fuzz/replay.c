/* Runs a fuzz entry over files and folders of inputs, without a fuzzer: every input that ever
 * broke a parser is kept and comes by here in make check. Damages each a little, too, in a way
 * that is the same every time. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static unsigned inputs;

static void one(const uint8_t *data, size_t n)
{
	/* A copy of exactly this size, so that reading past it is seen by a sanitizer. */
	uint8_t *copy = malloc(n ? n : 1);
	if (!copy)
		abort();
	if (n)
		memcpy(copy, data, n);
	(void)LLVMFuzzerTestOneInput(copy, n);
	free(copy);
	inputs++;
}

static void damaged(const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	uint64_t seed = n * 2654435761u + 1;
	if (!copy)
		abort();
	for (int round = 0; round < 64 && n; round++) {
		memcpy(copy, data, n);
		size_t cut = n;
		for (int k = 0; k <= round % 4; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			size_t at = (size_t)(seed >> 33) % n;
			if (round % 5 == 4)
				cut = at;
			else
				copy[at] = round % 3 ? (uint8_t)(seed >> 24) : (uint8_t)(copy[at] ^ 1u << (k + 1));
		}
		one(copy, cut);
	}
	free(copy);
}

static void file(const char *path)
{
	FILE *in = fopen(path, "rb");
	if (!in) {
		perror(path);
		exit(1);
	}
	uint8_t *data = NULL;
	size_t n = 0, got;
	do {
		data = realloc(data, n + 65536);
		if (!data)
			abort();
		got = fread(data + n, 1, 65536, in);
		n += got;
	} while (got);
	(void)fclose(in);
	one(data, n);
	damaged(data, n);
	free(data);
}

static void walk(const char *path)
{
	struct stat st;
	if (stat(path, &st)) {
		perror(path);
		exit(1);
	}
	if (!S_ISDIR(st.st_mode)) {
		file(path);
		return;
	}
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char below[4096];
		if (names[i]->d_name[0] != '.') {
			(void)snprintf(below, sizeof below, "%s/%s", path, names[i]->d_name);
			walk(below);
		}
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		walk(argv[i]);
	(void)printf("%u inputs\n", inputs);
	return inputs == 0;
}
