/* Quoting. */
#include "lib/shell.h"

#include <string.h>

void shell_word(struct buf *b, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
	if (*word && !word[strspn(word, plain)]) {
		buf_puts(b, word);
		return;
	}
	bool control = false;
	for (const char *p = word; *p; p++)
		control |= (unsigned char)*p < ' ' || *p == 127;
	buf_puts(b, control ? "$'" : "'");
	for (const char *p = word; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (control && (c < ' ' || c == 127))
			buf_printf(b, "\\%03o", c);
		else if (control && (c == '\'' || c == '\\'))
			buf_printf(b, "\\%c", c);
		else if (c == '\'')
			buf_puts(b, "'\\''");
		else
			buf_put(b, p, 1);
	}
	buf_puts(b, "'");
}

void shell_assignment(struct buf *b, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	size_t name = equals ? (size_t)(equals + 1 - assignment) : 0;
	buf_put(b, assignment, name);
	shell_word(b, assignment + name);
}
