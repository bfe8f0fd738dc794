/* Names of suites, applications and cases: part of paths, addresses and tables. */
#ifndef LIB_NAME_H
#define LIB_NAME_H

#include "lib/str.h"

#define NAME_MAX_CHARS 64

/* NULL, or what is wrong with it: "is empty". p NULL is empty, too. */
const char *name_fault(struct str name);

#endif
