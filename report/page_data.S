/* The pieces of the page, as web/build.mjs cut them. PAGE_DIR is where they lie; it is not
 * defined when there was no Node.js to make them. */
	.section .rodata
#ifdef PAGE_DIR
#define PIECE(n) .globl report_page_##n; .hidden report_page_##n; report_page_##n: .incbin PAGE_DIR "/page." #n
#else
#define PIECE(n) .globl report_page_##n; .hidden report_page_##n; report_page_##n:
#endif
	PIECE(0)
	PIECE(1)
	PIECE(2)
	PIECE(3)
	.globl report_page_4
	.hidden report_page_4
report_page_4:
#ifdef PAGE_DIR
	.byte 1
#else
	.byte 0
#endif
	.section .note.GNU-stack, "", %progbits
