/* Addresses from anybody: no crash; what is accepted is UTF-8 without control characters, has no
 * dot segment, and finds its route or none. Headers that are negotiated on come behind a newline.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/negotiate.h"
#include "daemon/route.h"
#include "daemon/target.h"
#include "schema/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_text(const char *text)
{
	if (!utf8_valid(text, strlen(text)))
		abort();
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct target t;
	struct err err = { { 0 } };
	const struct route *r;
	char id[ROUTE_ID_BYTES], allow[64], *text = malloc(n + 1);
	if (!text)
		return 0;
	if (n)
		memcpy(text, data, n);
	text[n] = 0;
	char *header = strchr(text, '\n');
	if (header)
		*header++ = 0;
	(void)negotiate_media(header, MEDIA_JSON | MEDIA_CSV);
	(void)negotiate_coding(header, "gzip");
	(void)negotiate_match(header, "0123456789abcdef");
	int rc = target_parse(&t, text, &err);
	if (rc && !err.text[0])
		abort(); /* a refusal without a sentence */
	if (!rc) {
		check_text(t.path);
		if (strstr(t.path, "/../") || t.path[0] != '/')
			abort();
		for (size_t i = 0; i < t.n_params; i++) {
			check_text(t.params[i].name);
			check_text(t.params[i].value);
		}
		if (route_find("GET", t.path, &r, id, allow) == 0)
			(void)route_check(r, &t, &err);
	}
	free(text);
	return 0;
}
