/* Where libroimeter.so is, for programs that are measured. */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include "lib/arena.h"

/* The configured one, else the one of the same build or installation. NULL: it is not there. */
const char *library_of_marks(struct arena *a, const char *configured);

#endif
