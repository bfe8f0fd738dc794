/* Wrapping, quoting, and nothing that moves a cursor. */
#include "cli/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/shell.h"

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

void words_command(struct buf *b, const struct txts *argv)
{
	for (size_t i = 0; i < argv->n; i++) {
		buf_puts(b, i ? " " : "");
		shell_word(b, argv->items[i]);
	}
}

const char *words_percent(char text[32], double fraction)
{
	double percent = 100 * fraction;
	(void)snprintf(text, 32, fabs(percent) < 999.5 ? "%.3g" : "%.0f", percent);
	return text;
}
