/* Cleaning what was printed by somebody. */
#include "timer/text.h"

#include "schema/utf8.h"

char *text_clean(struct arena *a, const char *text, size_t n)
{
	size_t len = utf8_clean(NULL, text, n);
	char *copy = arena_alloc(a, len + 1);
	if (!copy)
		return NULL;
	(void)utf8_clean(copy, text, n);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
			copy[i] = '?';
	return copy;
}
