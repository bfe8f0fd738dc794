#include <string.h>

#include "collectors/live.h"

/* ROIMETER_COLLECT: names of collectors with commas between them. */
static bool names(const char *list, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = list; *at; at += at[0] == ',') {
		size_t part = strcspn(at, ",");
		if (part == n && memcmp(at, name, n) == 0)
			return true;
		at += part;
	}
	return false;
}

bool live_wanted(const char *collect, const char *name)
{
	return !collect || !*collect || names(collect, name);
}
