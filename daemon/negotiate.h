/* What a client takes: Accept, Accept-Encoding, If-None-Match. Pure; a header that is absent is
 * NULL, one that is nonsense counts for what can be read in it. */
#ifndef DAEMON_NEGOTIATE_H
#define DAEMON_NEGOTIATE_H

#include <stdbool.h>

enum media {
	MEDIA_NONE = 0,
	MEDIA_JSON = 1,
	MEDIA_CSV = 2,
	MEDIA_TEXT = 4, /* Prometheus */
	MEDIA_HTML = 8,
	MEDIA_SCRIPT = 16,
	MEDIA_STYLE = 32,
	MEDIA_EVENTS = 64,
	MEDIA_PROBLEM = 128,
};

/* "text/csv; charset=utf-8; header=present" */
const char *media_type(enum media m);

/* The one of offers (a set) that the client likes most; the first in the order above where it
 * likes several the same. MEDIA_NONE: none of them. */
enum media negotiate_media(const char *accept, unsigned offers);

/* Is this coding ("gzip", "br") acceptable? Without the header it is not: nobody asked. */
bool negotiate_coding(const char *accept_encoding, const char *coding);

/* Does the list of entity tags hold this one (given without quotes), in any coding ("-gzip",
 * "-br")? */
bool negotiate_match(const char *if_none_match, const char *etag);

#endif
