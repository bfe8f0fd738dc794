/* What a program's file is, as far as it matters to libraries that are preloaded into it. Reads the
 * file's first bytes and its table of segments, and those of its interpreter; runs nothing. */
#ifndef NODE_PROGRAM_H
#define NODE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum program_kind {
	PROGRAM_UNKNOWN, /* can't be read, or is neither of these */
	PROGRAM_DYNAMIC, /* asks for a loader: LD_PRELOAD works */
	PROGRAM_STATIC,  /* an ELF file that asks for none: nothing can be preloaded into it */
	PROGRAM_SCRIPT,  /* begins with "#!": its interpreter counts (program_unreachable) */
	PROGRAM_SETUID,  /* dynamic, and runs as somebody else: the loader preloads nothing of ours
			  */
};

/* path as given, no search in PATH. */
enum program_kind program_kind_of(const char *path);

/* Where the file itself, or that of the interpreter it asks for, is why nothing is preloaded into it:
 * true, with "PATH is linked statically: ..." in ret. */
bool program_unreachable(char *ret, size_t n, const char *path);

#endif
