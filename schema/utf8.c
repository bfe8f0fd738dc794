/* UTF-8, by the table of well-formed sequences in the Unicode standard (table 3-7). */
#include "schema/utf8.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character at p, of which n are there; 0 if it is none. */
static size_t one(const unsigned char *p, size_t n)
{
	unsigned char c = p[0];
	if (c < 0x80)
		return c != 0;
	size_t len = c >= 0xc2 && c <= 0xdf   ? 2
		     : c >= 0xe0 && c <= 0xef ? 3
		     : c >= 0xf0 && c <= 0xf4 ? 4
					      : 0;
	if (!len || len > n)
		return 0;
	unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (p[i] < 0x80 || p[i] > 0xbf)
			return 0;
	return len;
}

/* How many bytes from here on are plain ASCII without a NUL, eight at a time: nearly all are. */
static size_t plain(const unsigned char *p, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t w;
		memcpy(&w, p + i, 8);
		/* A byte that is 0 borrows from its own high bit. */
		if ((w | (w - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080))
			break;
	}
	return i;
}

bool utf8_valid(const char *text, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i = plain(p, bytes);
	while (i < bytes) {
		size_t len = one(p + i, bytes - i);
		if (!len)
			return false;
		i += len;
	}
	return true;
}

size_t utf8_clean(char *out, const char *text, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t to = 0;
	for (size_t i = 0; i < bytes;) {
		size_t len = one(p + i, bytes - i);
		const char *from = len ? text + i : "\xef\xbf\xbd";
		size_t put = len ? len : 3;
		if (out)
			memcpy(out + to, from, put);
		to += put;
		i += len ? len : 1;
	}
	if (out)
		out[to] = 0;
	return to;
}
