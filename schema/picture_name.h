/* How the files are called that collectors leave of a process. */
#ifndef SCHEMA_PICTURE_NAME_H
#define SCHEMA_PICTURE_NAME_H

#include <stdbool.h>
#include <string.h>

#define PICTURE_SUFFIX ".roipic"  /* of a device: schema/picture.h */
#define IOPICTURE_SUFFIX ".roiio" /* of files: schema/iopicture.h */

static inline bool picture_ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* Is it one of them? */
static inline bool picture_is_name(const char *name)
{
	return picture_ends_with(name, PICTURE_SUFFIX) ||
	       picture_ends_with(name, IOPICTURE_SUFFIX);
}

#endif
