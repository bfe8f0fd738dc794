/* Wrapping, quoting, and nothing that moves a cursor. */
#include "cli/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_WIDTH 96

void words_plain(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		buf_put(b, c < ' ' || c == 127 ? " " : text + i, 1);
	}
}

void words_wrapped(struct buf *b, const char *first, const char *others, const char *text)
{
	size_t at = strlen(first);
	buf_puts(b, first);
	for (bool begun = false; *text; begun = true) {
		size_t n = strcspn(text, " \n");
		if (begun && at + 1 + n > LINE_WIDTH) {
			buf_printf(b, "\n%s", others);
			at = strlen(others);
		} else if (begun) {
			buf_puts(b, " ");
			at++;
		}
		words_plain(b, text, n);
		at += n;
		text += n;
		text += strspn(text, " \n");
	}
	buf_puts(b, "\n");
}

void words_quoted_lines(struct buf *b, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		buf_puts(b, "  | ");
		words_plain(b, text, n);
		buf_puts(b, "\n");
		text += n + (text[n] == '\n');
	}
}

/* $'...' is the one form in which a control character can be seen. */
static void put_word(struct buf *b, const char *word)
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

void words_command(struct buf *b, const struct txts *argv)
{
	for (size_t i = 0; i < argv->n; i++) {
		buf_puts(b, i ? " " : "");
		put_word(b, argv->items[i]);
	}
}

void words_assignment(struct buf *b, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	if (!equals)
		return;
	buf_put(b, assignment, (size_t)(equals + 1 - assignment));
	put_word(b, equals + 1);
	buf_puts(b, " ");
}

const char *words_percent(char text[32], double fraction)
{
	double percent = 100 * fraction;
	(void)snprintf(text, 32, fabs(percent) < 999.5 ? "%.3g" : "%.0f", percent);
	return text;
}
