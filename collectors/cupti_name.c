/* Names of kernels, as libcupti has them, to numbers of the flow. A record has the name's address,
 * which is good while the record is read: a module that is unloaded may leave it to another name.
 * So names are told apart by all of their characters, by a hash of 64 bits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti_impl.h"
#include "core/category.h"

#define SLOTS 8192 /* twice the names that a flow keeps */
#define UNNAMED "(unnamed kernel)"

static struct {
	uint64_t hash; /* 0: free */
	struct cupti_name name;
} table[SLOTS];
static unsigned used;

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const char *at)
{
	uint64_t w;
	memcpy(&w, at, sizeof w);
	return w;
}

/* 16 characters with each multiplication: names of templates have hundreds. */
static uint64_t hash_of(const char *s, size_t n)
{
	static const uint64_t k1 = 0x9e3779b97f4a7c15u, k2 = 0xbf58476d1ce4e5b9u;
	char few[16] = { 0 };
	uint64_t h = k2 ^ n;
	if (n < 16)
		s = memcpy(few, s, n);
	const char *last = n < 16 ? s : s + (n - 16); /* overlaps what was taken before */
	for (; s < last; s += 16)
		h = mix(word(s) ^ k1, word(s + 8) ^ h);
	h = mix(word(last) ^ k1, word(last + 8) ^ h);
	h = mix(h ^ k2, k1);
	return h ? h : 1;
}

/* The program's own demangler, where it has C++ in it; a program without gets names as they are. */
static char *demangled(const char *name)
{
	static bool asked;
	static char *(*demangle)(const char *, char *, size_t *, int *);
	int status = -1;
	if (strncmp(name, "_Z", 2) != 0)
		return NULL;
	if (!asked) {
		void *at = dlsym(RTLD_DEFAULT, "__cxa_demangle");
		void *h = at ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
		if (h)
			at = dlsym(h, "__cxa_demangle");
		memcpy(&demangle, &at, sizeof at);
		asked = true;
	}
	return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

static struct cupti_name new_name(struct flow *f, const char *name, size_t n)
{
	char *readable = demangled(name);
	const char *text = readable ? readable : name;
	int64_t number = flow_name(f, text, readable ? strlen(readable) : n);
	/* The C name is in both; a template's arguments are not the kernel's name. */
	struct cupti_name r = {
		.number = number < 0 ? 0 : (uint32_t)number,
		.category = kernel_category(str_of(text)),
	};
	free(readable);
	return r;
}

struct cupti_name cupti_kernel_name(struct flow *f, const char *name)
{
	if (!name || !*name)
		name = UNNAMED;
	size_t n = strlen(name);
	uint64_t hash = hash_of(name, n);
	for (size_t i = hash % SLOTS;; i = (i + 1) % SLOTS) {
		if (table[i].hash == hash)
			return table[i].name;
		if (table[i].hash)
			continue;
		struct cupti_name r = new_name(f, name, n);
		if (used < SLOTS * 3 / 4) {
			table[i].hash = hash;
			table[i].name = r;
			used++;
		}
		return r;
	}
}
