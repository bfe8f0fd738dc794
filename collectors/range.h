/* Ranges of a program that nobody marked, as its region: NVTX and ROCTX ranges whose name fits the
 * pattern in ROIMETER_RANGE are marks of libroimeter. No collector: it is in clean executions, too,
 * and does nothing at all where ROIMETER_RANGE is not set.
 *
 * All calls are thread-safe, keep errno, and never wait for anything but libroimeter. */
#ifndef COLLECTORS_RANGE_H
#define COLLECTORS_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

/* Done once when this is loaded: to look at each range would be slow, and another thread of the
 * program may be changing its environment. */
void range_read_pattern(void);

/* Is a range asked for in this process? */
bool range_wanted(void);

/* Does a range of this name belong to the region? A name is told (NULL is none): where nothing
 * fits, the person reads what there was. */
bool range_fits(const char *name);

/* Ranges that are pushed belong to their thread, and to a domain (NULL: the default one), as in
 * NVTX: a pop ends the last one of both. They answer the level, which begins with 0; a pop without
 * a push -1. */
int range_push(const void *domain, bool fits);
int range_pop(const void *domain);

/* Ranges that end by their number, on any thread. Never 0. */
uint64_t range_start(bool fits);
void range_end(uint64_t number);

/* A wide name as UTF-8, cut where the room ends; to where room is. NULL is NULL. */
#define RANGE_NAME_BYTES 512
const char *range_narrow(char room[RANGE_NAME_BYTES], const wchar_t *name);

#endif
