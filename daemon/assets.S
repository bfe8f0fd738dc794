/* The page's files, as web/build.mjs wrote them; the assembler finds them by -I. */
#ifdef HAVE_PAGE
#define BYTES(name) .incbin name
#else
#define BYTES(name)
#endif
#define FILE(symbol, name) \
	.globl asset_##symbol; .hidden asset_##symbol; \
	asset_##symbol: BYTES(name); \
	.globl asset_##symbol##_end; .hidden asset_##symbol##_end; \
	asset_##symbol##_end: .byte 0

	.section .rodata
	FILE(page, "live.html")
	FILE(page_gz, "live.html.gz")
	FILE(page_br, "live.html.br")
	FILE(script, "app.js")
	FILE(script_gz, "app.js.gz")
	FILE(script_br, "app.js.br")
	FILE(style, "app.css")
	FILE(style_gz, "app.css.gz")
	FILE(style_br, "app.css.br")
	.section .note.GNU-stack, "", %progbits
