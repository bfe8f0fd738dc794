/* What a program's file is, as far as it matters to libraries that are preloaded into it. Reads the
 * file's first bytes and its table of segments; runs nothing. */
#ifndef NODE_PROGRAM_H
#define NODE_PROGRAM_H

enum program_kind {
	PROGRAM_UNKNOWN, /* can't be read, or is neither of these */
	PROGRAM_DYNAMIC, /* asks for a loader: LD_PRELOAD works */
	PROGRAM_STATIC,  /* an ELF file that asks for none: nothing can be preloaded into it */
	PROGRAM_SCRIPT,  /* begins with "#!": its interpreter counts */
	PROGRAM_SETUID,  /* dynamic, and runs as somebody else: the loader preloads nothing of ours
			  */
};

/* path as given, no search in PATH. */
enum program_kind program_kind_of(const char *path);

#endif
