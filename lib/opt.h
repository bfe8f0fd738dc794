/* Options of one command, as a table: it parses, and it prints --help. GNU style, long options
 * only where a letter would need a legend. */
#ifndef LIB_OPT_H
#define LIB_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

/* What the process answers; see the contract. */
enum exit_code {
	EXIT_GOOD = 0,
	EXIT_BAD = 1,         /* done, and the answer is bad */
	EXIT_WRONG = 2,       /* the call or a file is wrong */
	EXIT_UNREACHABLE = 3, /* daemon or agent can't be reached */
	EXIT_NOTHING = 4,     /* done, but nothing can be said */
};

enum opt_type {
	OPT_FLAG,   /* bool * */
	OPT_TEXT,   /* const char ** */
	OPT_COUNT,  /* long *, 0 or more */
	OPT_NUMBER, /* double *, above 0 */
	OPT_LIST,   /* struct opt_list *; may be given several times, and with commas; no word is
		       empty */
	OPT_EACH,   /* the same, but commas are part of the text */
};

struct opt_list {
	const char **items; /* freed by opt_done */
	size_t n;
};

struct opt {
	const char *name; /* without the dashes */
	enum opt_type type;
	void *into;
	const char *arg;  /* "N", "FILE"; NULL for flags */
	const char *help; /* one line */
};

struct opt_table {
	const char *command;  /* "roimeter run" */
	const char *synopsis; /* "[OPTIONS] SELECTOR..." ; may have several lines */
	const char *about;    /* a paragraph */
	const struct opt *opts;
	size_t n;
	const char *epilog; /* examples, or NULL */
};

/* Fills the options and leaves in argv[*ret_first...] what is not an option. Everything after
 * "--" stays. Returns 0 to go on; 1 when --help or --version was printed (exit with 0); -EINVAL. */
int opt_parse(const struct opt_table *t, int argc, char **argv, int *ret_first, struct err *err);
void opt_done(const struct opt_table *t);

/* "roimeter run: <sentence>" on standard error; the exit code for this errno. */
int opt_fail(const char *command, int rc, const struct err *err);

#endif
