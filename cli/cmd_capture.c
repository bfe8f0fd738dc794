/* roimeter capture: runs a command and keeps every call it makes that has to do with files; or
 * shows what was kept. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/capture_show.h"
#include "cli/cmd.h"
#include "cli/config.h"
#include "cli/library.h"
#include "lib/arena.h"
#include "lib/file.h"
#include "lib/opt.h"
#include "node/program.h"
#include "run/calls.h"
#include "run/collector.h"
#include "run/command.h"
#include "schema/iocap.h"
#include "schema/iocap_alike.h"
#include "schema/iocap_file.h"

#define COMMAND "roimeter capture"
#define OWN_VARIABLES 8

extern char **environ;

struct session {
	struct arena arena;
	struct config config;
	struct collector_lib io;
	const char *output, *show, *format, *config_file;
	bool events, no_time;
	long lossy_ns;
	char folder[PATH_MAX]; /* absolute */
	const char *logs;      /* of the marks, which nobody wants: removed at the end */
};

/* ---- the folder ---------------------------------------------------------------------------------
 */

static int make_folder(struct session *s, struct err *err)
{
	int rc = file_mkdirs(s->output, err);
	if (rc)
		return rc;
	rc = calls_check(s->output, err);
	if (rc)
		return rc;
	if (!realpath(s->output, s->folder))
		return err_set(err, -errno, "open %s: %s", s->output, strerror(errno));
	char *logs = arena_printf(&s->arena, "%s/.marks-XXXXXX", s->folder);
	if (!logs)
		return err_set(err, -ENOMEM, "out of memory");
	if (!mkdtemp(logs))
		return err_set(err, -errno, "make a folder in %s: %s", s->output, strerror(errno));
	s->logs = logs;
	return 0;
}

/* ---- the command --------------------------------------------------------------------------------
 */

static int set_environment(struct session *s, struct err *err)
{
	struct env_pair own[COLLECTOR_VARIABLES_MAX + OWN_VARIABLES];
	size_t n = 0;
	int rc = collector_variables(&s->io, &s->arena, environ, own, &n);
	if (rc)
		return err_set(err, rc, "out of memory");
	const char *library = library_of_marks(&s->arena, s->config.library);
	if (!library)
		return err_set(
			err, -ENOENT,
			"libroimeter.so is not beside roimeter; name it in [run] library of the "
			"configuration");
	own[n++] = (struct env_pair){ "ROIMETER_LIBRARY", library };
	own[n++] = (struct env_pair){ "ROIMETER_LOG", s->logs };
	own[n++] = (struct env_pair){ "ROIMETER_EXEC", IOCAP_EXEC_ALONE };
	calls_variables(s->folder,
			s->no_time ? "none"
				   : arena_printf(&s->arena, "%ld", s->lossy_ns ? s->lossy_ns : 1),
			own, &n);
	for (size_t i = 0; i < n; i++)
		if (!own[i].value || setenv(own[i].name, own[i].value, 1) != 0)
			return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* As a shell: what the terminal sends comes to the command, and we wait for what it does of it. */
static int run_command(struct session *s, char **argv, int *ret_status, struct err *err)
{
	(void)fflush(NULL);
	struct sigaction ignore = { .sa_handler = SIG_IGN }, on_int, on_quit;
	int go[2];
	if (pipe2(go, O_CLOEXEC) != 0)
		return err_set(err, -errno, "make a pipe: %s", strerror(errno));
	(void)sigaction(SIGINT, &ignore, &on_int);
	(void)sigaction(SIGQUIT, &ignore, &on_quit);
	pid_t child = fork();
	if (child == 0) {
		struct err why = { "" };
		(void)sigaction(SIGINT, &on_int, NULL);
		(void)sigaction(SIGQUIT, &on_quit, NULL);
		int rc = -set_environment(s, &why);
		if (!rc) {
			(void)execvp(argv[0], argv);
			rc = errno;
		} else {
			(void)fprintf(stderr, COMMAND ": %s\n", why.text);
		}
		(void)!write(go[1], &rc, sizeof rc);
		_exit(127);
	}
	int failed = child < 0 ? errno : 0;
	(void)close(go[1]);
	if (child > 0 && read(go[0], &failed, sizeof failed) != sizeof failed)
		failed = 0;
	(void)close(go[0]);
	while (child > 0 && waitpid(child, ret_status, 0) < 0 && errno == EINTR) {
	}
	(void)sigaction(SIGINT, &on_int, NULL);
	(void)sigaction(SIGQUIT, &on_quit, NULL);
	return failed ? err_set(err, -failed, "start %s: %s", argv[0], strerror(failed)) : 0;
}

static void tell_nothing(const struct session *s, const char *command)
{
	struct arena a = { 0 };
	char cwd[PATH_MAX], why[2 * PATH_MAX + 256];
	int missing;
	const char *path = getcwd(cwd, sizeof cwd)
				   ? command_find(&a, command, cwd, getenv("PATH"), &missing)
				   : NULL;
	if (path && program_unreachable(why, sizeof why, path))
		(void)fprintf(stderr, "warn  capture %s: nothing could be watched: %s\n", s->output,
			      why);
	else
		(void)fprintf(stderr,
			      "warn  capture %s: no process of the command could be watched; is "
			      "what it starts statically linked, or does it change its "
			      "privileges?\n",
			      s->output);
	arena_free(&a);
}

/* What came of it, in a line; the command's own answer is passed on. */
static int tell(struct session *s, const char *command, int status)
{
	struct iocap *c = NULL;
	struct err err = { "" };
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!calls_are_there(s->folder)) {
		tell_nothing(s, command);
		return code ? code : EXIT_NOTHING;
	}
	(void)iocap_alike_folder(s->folder);
	if (iocap_open(&c, s->folder, &err)) {
		(void)fprintf(stderr, "warn  capture %s: %s\n", s->output, err.text);
		return code ? code : EXIT_WRONG;
	}
	uint64_t calls = 0, bytes = 0, dropped = 0;
	size_t open = 0;
	for (size_t p = 0; p < iocap_processes(c); p++) {
		const struct iocap_sums *sums = iocap_sums(c, p);
		calls += sums->calls;
		bytes += sums->bytes;
		dropped += sums->dropped;
		open += !sums->finished || sums->damaged;
	}
	(void)fprintf(stderr, "info  capture %s: %llu calls of %zu process%s in %llu bytes\n",
		      s->output, (unsigned long long)calls, iocap_processes(c),
		      iocap_processes(c) == 1 ? "" : "es", (unsigned long long)bytes);
	if (dropped)
		(void)fprintf(stderr, "warn  capture %s: %llu more calls could not be kept\n",
			      s->output, (unsigned long long)dropped);
	if (open)
		(void)fprintf(stderr,
			      "warn  capture %s: %zu of the processes were killed, are still "
			      "running, or could not write: of these something is missing\n",
			      s->output, open);
	iocap_close(c);
	return code;
}

static int capture(struct session *s, char **argv, int *ret_code, struct err *err)
{
	int rc = config_load(&s->config, s->config_file, err), status = 0;
	const char *told = getenv("ROIMETER_COLLECTORS");
	if (!rc)
		rc = collector_open(&s->io, &s->arena, "io",
				    told && *told ? told : s->config.collectors, err);
	if (!rc)
		rc = make_folder(s, err);
	if (!rc)
		rc = run_command(s, argv, &status, err);
	if (!rc)
		*ret_code = tell(s, argv[0], status);
	if (s->logs)
		(void)file_remove_tree(s->logs, NULL);
	collector_close(&s->io);
	config_done(&s->config);
	return rc;
}

static int show(struct session *s, struct err *err)
{
	struct iocap *c = NULL;
	bool json = strcmp(s->format, "json") == 0;
	int rc = iocap_open(&c, s->show, err);
	if (rc)
		return rc;
	if (s->events)
		rc = capture_show_events(c, json, err);
	else
		rc = json ? capture_show_json(c, s->show, err) : capture_show_text(c, s->show);
	iocap_close(c);
	return rc;
}

static int check(const struct session *s, int words, struct err *err)
{
	if (strcmp(s->format, "text") != 0 && strcmp(s->format, "json") != 0)
		return err_set(err, -EINVAL, "--format %s: expected text or json", s->format);
	if (s->show && words)
		return err_set(err, -EINVAL,
			       "--show prints a capture that is there; a COMMAND makes "
			       "one: give either");
	if (s->no_time && s->lossy_ns)
		return err_set(err, -EINVAL, "--no-time and --lossy-time exclude each other");
	if (s->events && !s->show)
		return err_set(err, -EINVAL, "--events goes with --show DIR");
	if (!s->show && !words)
		return err_set(err, -EINVAL, "no COMMAND given; see " COMMAND " --help");
	return 0;
}

/* "-o DIR", as the contract writes it. */
static void long_names(int argc, char **argv)
{
	static char output[] = "--output";
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "-o") == 0)
			argv[i] = output;
}

int cmd_capture(int argc, char **argv)
{
	struct session s = { .output = "roimeter-capture", .format = "text" };
	const struct opt opts[] = {
		{ "output", OPT_TEXT, &s.output, "DIR", "folder for it (-o; roimeter-capture)" },
		{ "no-time", OPT_FLAG, &s.no_time, NULL, "leave times out: much smaller" },
		{ "lossy-time", OPT_COUNT, &s.lossy_ns, "NS",
		  "round times to multiples of NS nanoseconds: smaller" },
		{ "show", OPT_TEXT, &s.show, "DIR", "print what is in a capture" },
		{ "events", OPT_FLAG, &s.events, NULL, "with --show: every call" },
		{ "format", OPT_TEXT, &s.format, "FORMAT", "with --show: text or json" },
		{ "config", OPT_TEXT, &s.config_file, "FILE",
		  "configuration in place of the usual files" },
	};
	const struct opt_table table = {
		.command = COMMAND,
		.synopsis = "[-o DIR] [--no-time] [--lossy-time NS] -- COMMAND...\n"
			    "--show DIR [--events] [--format text|json]",
		.about = "Runs COMMAND and keeps every call that its processes make about files: "
			 "arguments, results,\n"
			 "times. Loops are kept as rules, so that a capture stays small.",
		.opts = opts,
		.n = sizeof opts / sizeof *opts,
		.epilog = "The exit code is the command's; 128 and more: the signal that ended it; "
			  "4: nothing of it\ncould be watched.",
	};
	struct err err = { "" };
	long_names(argc, argv);
	int first, code = EXIT_GOOD, rc = opt_parse(&table, argc, argv, &first, &err);
	if (rc > 0)
		return EXIT_GOOD;
	if (!rc)
		rc = check(&s, argc - first, &err);
	if (!rc)
		rc = s.show ? show(&s, &err) : capture(&s, argv + first, &code, &err);
	arena_free(&s.arena);
	opt_done(&table);
	return rc ? opt_fail(COMMAND, rc, &err) : code;
}
