/* SI prefixes in a program's output that follow the size of the number: 114.3 katom-step/s on one
 * machine, 1.312 Gatom-step/s on the next. */
#ifndef TIMER_UNIT_H
#define TIMER_UNIT_H

#include "lib/arena.h"

/* The end of the first group in a pattern's text, just behind its ")", or NULL. begin is where
 * its "(" stands. */
const char *unit_group_end(const char *pattern, const char **ret_begin);

/* Where the declared unit, or else a rate ("Matom-step/s", for a unit in other words or none),
 * stands literally behind the group: the pattern that also takes other prefixes of it, in ret_text;
 * NULL where it does not stand there or has nothing to fold. Group "prefix", if it took part, is
 * the one found (with an "i" where ret_binary); group "more" is one found before the whole declared
 * unit. ret_exponent: the power of ten of the declared prefix. ret_binary: prefixes are powers of
 * 1024 (GiB). -ENOMEM. */
int unit_folding(struct arena *a, const char *pattern, const char *unit, const char **ret_text,
		 int *ret_exponent, int *ret_binary);

/* The power of ten of a prefix: "k" 3, "" 0, "m" -3. */
int unit_prefix_exponent(const char *prefix, size_t n);

#endif
