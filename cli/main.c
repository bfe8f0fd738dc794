/* roimeter: the command a person or a CI job uses. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "lib/opt.h"
#include "lib/version.h"

static const struct command {
	const char *name, *about;
	int (*main)(int argc, char **argv);
} commands[] = {
	{ "run", "measure cases of a suite, or one command", cmd_run },
	{ "capture", "run a command and keep every call it makes about files", cmd_capture },
	{ "runs", "list stored runs, newest first", cmd_runs },
	{ "show", "print one stored run", cmd_show },
	{ "report", "write the inputs-by-platforms report as one HTML page and its Markdown twin",
	  cmd_report },
	{ "import", "store results that were measured elsewhere", cmd_import },
	{ "export", "write stored runs as JSON lines or CSV", cmd_export },
	{ "platform", "tell what this machine is called, and why", cmd_platform },
	{ "conformance", "test whether a collector on this platform is to be believed",
	  cmd_conformance },
	{ "period", "tell the phases of a run's I/O and their period", cmd_period },
	{ "log", "print the region logs of processes", cmd_log },
	{ "agent-status", "tell what the agent of this node holds", cmd_agent_status },
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static void usage(FILE *out)
{
	(void)fprintf(
		out,
		"Usage: roimeter COMMAND [OPTIONS] ...\n\n"
		"Measures the region of interest that an application marks, or times itself.\n\n"
		"Commands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		(void)fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].about);
	(void)fprintf(out,
		      "\nroimeter COMMAND --help tells more. First measurement:\n"
		      "  roimeter run --app mine --case first -- ./program\n"
		      "Exit codes: 0 good, 1 the answer is bad, 2 the call or a file is wrong,\n"
		      "3 daemon or agent not reachable, 4 nothing can be said.\n");
}

/* An answer that did not reach its reader is no good answer. */
static int printed(int code)
{
	bool before = ferror(stdout); /* then nobody knows any more why */
	if (fflush(stdout) == 0 && !before)
		return code;
	(void)fprintf(stderr, "roimeter: write to standard output: %s\n",
		      before ? "not all of it could be written; is a disk full?" : strerror(errno));
	return code == EXIT_GOOD ? EXIT_WRONG : code;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	if (name &&
	    (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)) {
		usage(stdout);
		return printed(EXIT_GOOD);
	}
	if (name && strcmp(name, "--version") == 0) {
		(void)puts("roimeter " ROIMETER_VERSION_TEXT);
		return printed(EXIT_GOOD);
	}
	for (size_t i = 0; name && i < N_COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0)
			return printed(commands[i].main(argc - 1, argv + 1));
	if (name)
		(void)fprintf(stderr, "roimeter: there is no command \"%s\"\n\n", name);
	usage(stderr);
	return EXIT_WRONG;
}
