/* Records as rows of a CSV file (RFC 4180). A column's name is the path of its field
 * ("roi.wall_s"). Lists of numbers are joined by ";", lists of texts are JSON, caveats are their
 * codes joined by ";", and of any other list of blocks the number of items is given. */
#include "schema/codec.h"

#include <errno.h>
#include <stdio.h>

#include "lib/num.h"
#include "schema/walk.h"

/* ---- order: new columns only at the end ------------------------------------------------------------
 *
 * A field that is appended to a block in the middle of the record would move every column after
 * it. So the columns go by release: first the fields that the first release had, then those that
 * the second one added, and so on. A block that is not listed was new as a whole. */
struct released {
	const char *block;
	size_t fields;
};

static size_t fields_at(const struct block *block, int release)
{
	(void)release;
	return block->count;
}
