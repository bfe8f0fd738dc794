/* Run ids sort by time: "20260929T045201Z-0123abcd". As a number they sort the same way, and are
 * a table's key in eight bytes. */
#ifndef SCHEMA_RUNID_H
#define SCHEMA_RUNID_H

#include <stdbool.h>
#include <stdint.h>

#define RUNID_BYTES 26 /* with the NUL */

/* False if it is no run id: wrong shape, no such day, or not in the years 1970 to 2105. */
bool runid_key(const char *run_id, int64_t *ret_key);

/* The run id of a key; returns text. */
const char *runid_text(char text[RUNID_BYTES], int64_t key);

#endif
