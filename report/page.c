/* Puts title, hash and data into the page, which report/page_data.S holds in four pieces. */
#include "report/page.h"

#include <errno.h>
#include <stdint.h>

/* Between two of these lies one piece of the page. At the last stands whether there is a page. */
extern const char report_page_0[], report_page_1[], report_page_2[], report_page_3[],
	report_page_4[];

bool report_has_page(void)
{
	return report_page_4[0] != 0;
}

/* As numbers, since they are arrays of their own to the compiler. */
static void put_piece(struct buf *b, const char *from, const char *to)
{
	buf_put(b, from, (size_t)((uintptr_t)to - (uintptr_t)from));
}

static void put_html(struct buf *b, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			buf_puts(b, "&amp;");
			break;
		case '<':
			buf_puts(b, "&lt;");
			break;
		case '>':
			buf_puts(b, "&gt;");
			break;
		case '"':
			buf_puts(b, "&quot;");
			break;
		default:
			buf_put(b, text, 1);
		}
}

/* "<" stands only in strings of JSON; as an escape it can end no element and begin none. */
static void put_json(struct buf *b, const char *text, size_t n)
{
	size_t start = 0;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '<') {
			buf_put(b, text + start, i - start);
			buf_puts(b, "\\u003c");
			start = i + 1;
		}
	buf_put(b, text + start, n - start);
}

int report_page(struct buf *out, const struct buf *grid, const struct buf *details,
		const char *title, const char *hash, struct err *err)
{
	if (!report_has_page())
		return err_set(err, -ENOTSUP,
			       "this program was built without Node.js and has no page; "
			       "report.md and report.json have the same numbers");
	put_piece(out, report_page_0, report_page_1);
	put_html(out, hash);
	put_piece(out, report_page_1, report_page_2);
	put_html(out, title);
	put_piece(out, report_page_2, report_page_3);
	put_json(out, grid->data, grid->len);
	put_json(out, details->data, details->len);
	put_piece(out, report_page_3, report_page_4);
	return out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}
