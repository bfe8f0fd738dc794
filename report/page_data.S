/* The pieces of the page, as web/build.mjs cut them; the assembler finds them by -I. HAVE_PAGE is
 * not defined when there was no Node.js to make them. */
#ifdef HAVE_PAGE
#define BYTES(name) .incbin name
#else
#define BYTES(name)
#endif
#define PIECE(symbol, name) \
	.globl symbol; .hidden symbol; \
symbol: BYTES(name)

	.section .rodata
	PIECE(report_page_0, "page.0")
	PIECE(report_page_1, "page.1")
	PIECE(report_page_2, "page.2")
	PIECE(report_page_3, "page.3")
	.globl report_page_4
	.hidden report_page_4
report_page_4:
#ifdef HAVE_PAGE
	.byte 1
#else
	.byte 0
#endif
	.section .note.GNU-stack, "", %progbits
