/* Run ids sort by time: "20260929T045201Z-0123abcd". As a number they sort the same way, and are
 * a table's key in eight bytes. */
#ifndef SCHEMA_RUNID_H
#define SCHEMA_RUNID_H

#include <stdbool.h>
#include <stdint.h>

#define RUNID_BYTES 26 /* with the NUL */

/* False if it is no run id: wrong shape, no such day, or not in the years 1970 to 2105. */
bool runid_key(const char *run_id, int64_t *ret_key);

/* A new one. Within its second it sorts by 1/1024 s, the upper ten bits of the digits, so that of
 * runs that take milliseconds the latest is the last; the other 22 bits are those of random, so
 * that many nodes may begin together. Returns text. */
const char *runid_make(char text[RUNID_BYTES], int64_t second, int64_t ns, uint32_t random);

/* The run id of a key; returns text. */
const char *runid_text(char text[RUNID_BYTES], int64_t key);

#endif
