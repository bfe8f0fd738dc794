/* The wire form of protocol buffers, field by field over bytes in memory, with every length
 * checked. Groups (wire types 3 and 4) and what is no wire type are refused: nobody writes them any
 * more, and damaged files have them soon. */
#ifndef IMPORT_WIRE_SCAN_H
#define IMPORT_WIRE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/str.h"

struct wire {
	const uint8_t *p, *end;
	const char *fault; /* what is wrong at p; NULL: nothing */
};

struct wire_field {
	uint32_t number;
	uint32_t type; /* 0 a number, 1 and 5 eight and four bytes (in number, too), 2 bytes */
	uint64_t value;
	struct str bytes; /* of type 2; p is never NULL then */
};

static inline struct wire wire_of(struct str bytes)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	return (struct wire){ p, p + bytes.n, NULL };
}

/* False at the end and when something is wrong: see fault. */
bool wire_next(struct wire *w, struct wire_field *ret);

#endif
