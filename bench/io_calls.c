/* What a call of a program costs more under the collector io: two programs, one with it and one
 * without, do the same calls by turns on one processor, on a file system in memory. CPU time of the
 * whole process, what the collector's own thread takes included. Of each program's rounds the lower
 * quartile is taken: those that others disturbed are above it. The same of each of eight parts of
 * the rounds says how sure that is.
 *
 *	NAME RATIO +NS [LEAST MOST] ns a call (BASE ns) goal +G ok|missed
 *
 * IO_CALLS=NAME: that one only. IO_LIBRARY: another library. IO_CAPTURE=1: with a capture, too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 800 /* short ones: some of them nobody disturbs */
#define PARTS 8
#define FOLDER "/dev/shm/roimeter-bench-io"

extern char **environ;

static char bytes[4096];
static int fd;
static FILE *out, *in;

/* ---- the calls ----------------------------------------------------------------------------------
 */

static void write_1(int n)
{
	for (int i = 0; i < n; i++)
		if (write(fd, bytes, 1) != 1)
			_exit(1);
	(void)lseek(fd, 0, SEEK_SET);
}

static void write_4096(int n)
{
	for (int i = 0; i < n; i++)
		if (write(fd, bytes, sizeof bytes) < 0)
			_exit(1);
	(void)lseek(fd, 0, SEEK_SET);
}

static void pread_1(int n)
{
	for (int i = 0; i < n; i++)
		if (pread(fd, bytes, 1, 100) < 0)
			_exit(1);
}

static void pread_4096(int n)
{
	for (int i = 0; i < n; i++)
		if (pread(fd, bytes, sizeof bytes, (off_t)(i % 1024) * 4096) < 0)
			_exit(1);
}

static void seek(int n)
{
	for (int i = 0; i < n; i++)
		if (lseek(fd, i, SEEK_SET) != i)
			_exit(1);
	(void)lseek(fd, 0, SEEK_SET);
}

static void open_close(int n)
{
	for (int i = 0; i < n; i++) {
		int other = open(FOLDER "/other", O_RDWR | O_CREAT, 0600);
		if (other < 0 || close(other))
			_exit(1);
	}
}

static void status(int n)
{
	struct stat s;
	for (int i = 0; i < n; i++)
		if (stat(FOLDER, &s))
			_exit(1);
}

static void fwrite_16(int n)
{
	for (int i = 0; i < n; i++)
		if (fwrite(bytes, 1, 16, out) != 16)
			_exit(1);
}

static void fread_16(int n)
{
	for (int i = 0; i < n; i++)
		if (fread(bytes, 1, 16, in) != 16)
			_exit(1);
}

static void putc_1(int n)
{
	for (int i = 0; i < n; i++)
		if (fputc('x', out) != 'x')
			_exit(1);
}

static void print(int n)
{
	for (int i = 0; i < n; i++)
		if (fprintf(out, "%d\n", i) < 0)
			_exit(1);
}

static const struct {
	const char *name;
	void (*run)(int n);
	int n;
	double goal_ns;
} calls[] = {
	{ "write_1", write_1, 250, 150 },   { "write_4096", write_4096, 250, 150 },
	{ "pread_1", pread_1, 250, 150 },   { "pread_4096", pread_4096, 250, 150 },
	{ "lseek", seek, 250, 150 },        { "open_close", open_close, 100, 1000 },
	{ "stat", status, 250, 150 },       { "fwrite_16", fwrite_16, 5000, 20 },
	{ "fread_16", fread_16, 5000, 20 }, { "fputc", putc_1, 5000, 20 },
	{ "fprintf", print, 2500, 150 },
};
#define CALLS (sizeof calls / sizeof *calls)

/* ---- the program that does them
 * ------------------------------------------------------------------- */

static double cpu_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A byte names the calls; what one took goes back. */
static int work(void)
{
	unsigned char which;
	char name[64];
	(void)snprintf(name, sizeof name, FOLDER "/file%ld", (long)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	out = fopen("/dev/null", "w");
	in = fopen("/dev/zero", "r");
	if (fd < 0 || !out || !in || ftruncate(fd, 8 << 20))
		return 1;
	while (read(0, &which, 1) == 1 && which < CALLS) {
		double begin = cpu_ns();
		calls[which].run(calls[which].n);
		double ns = (cpu_ns() - begin) / calls[which].n;
		if (write(1, &ns, sizeof ns) != sizeof ns)
			return 1;
	}
	return unlink(name);
}

/* ---- the two ------------------------------------------------------------------------------------
 */

struct worker {
	pid_t pid;
	int to, from;
};

static bool start(struct worker *w, const char *self)
{
	int to[2], from[2];
	char name[] = "io_calls", what[] = "work", *argv[] = { name, what, NULL };
	posix_spawn_file_actions_t a;
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || posix_spawn_file_actions_init(&a))
		return false;
	(void)posix_spawn_file_actions_adddup2(&a, to[0], 0);
	(void)posix_spawn_file_actions_adddup2(&a, from[1], 1);
	bool made = posix_spawn(&w->pid, self, &a, NULL, argv, environ) == 0;
	(void)posix_spawn_file_actions_destroy(&a);
	(void)close(to[0]);
	(void)close(from[1]);
	w->to = to[1];
	w->from = from[0];
	return made;
}

static double ask(const struct worker *w, unsigned char which)
{
	double ns = 0;
	if (write(w->to, &which, 1) != 1 || read(w->from, &ns, sizeof ns) != sizeof ns)
		exit(1);
	return ns;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* n of them are sorted. */
static double quartile(double *of, size_t n)
{
	qsort(of, n, sizeof *of, by_size);
	return of[n / 4];
}

static int compare(const struct worker *without, const struct worker *with, unsigned char which)
{
	static double base[ROUNDS], more[ROUNDS];
	double goal = calls[which].goal_ns, least = 1e18, most = -1e18;
	size_t each = ROUNDS / PARTS;
	(void)ask(without, which);
	(void)ask(with, which);
	for (int i = 0; i < ROUNDS; i++) {
		base[i] = ask(without, which);
		more[i] = ask(with, which);
	}
	for (size_t i = 0; i < ROUNDS; i += each) {
		double added = quartile(&more[i], each) - quartile(&base[i], each);
		least = added < least ? added : least;
		most = added > most ? added : most;
	}
	double all = quartile(base, ROUNDS), added = quartile(more, ROUNDS) - all;
	(void)printf("io_%s %.3g +%.0f [%.0f %.0f] ns a call (%.0f ns) goal +%g %s\n",
		     calls[which].name, (added + all) / all, added, least, most, all, goal,
		     added <= goal ? "ok" : "missed");
	return added > goal;
}

/* Both on the one where this runs. */
static void stay(void)
{
	cpu_set_t one;
	int here = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(here < 0 ? 0 : here, &one);
	(void)sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
	char self[4096] = "", library[4200], logs[] = FOLDER "/logs";
	struct worker without, with;
	if (argc > 1)
		return work();
	(void)argv;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *named = getenv("IO_LIBRARY"); /* another one, to compare with */
	char *folder = strdup(self);
	if (n <= 0 || !folder)
		return 1;
	(void)snprintf(library, sizeof library, "%s/libroimeter-io.so", dirname(dirname(folder)));
	free(folder);
	if (named)
		(void)snprintf(library, sizeof library, "%s", named);
	if (access(library, R_OK)) {
		(void)printf("# left out: there is no %s\n", library);
		return 0;
	}
	stay();
	(void)mkdir(FOLDER, 0700);
	(void)mkdir(logs, 0700);
	(void)unsetenv("LD_PRELOAD");
	if (!start(&without, self))
		return 1;
	(void)setenv("LD_PRELOAD", library, 1);
	(void)setenv("ROIMETER_EXEC", "profiled-1", 1);
	(void)setenv("ROIMETER_LOG", logs, 1);
	if (getenv("IO_CAPTURE"))
		(void)setenv("ROIMETER_CAPTURE", logs, 1);
	if (!start(&with, self))
		return 1;
	int missed = 0;
	for (unsigned char i = 0; i < CALLS; i++)
		if (!getenv("IO_CALLS") || strcmp(getenv("IO_CALLS"), calls[i].name) == 0)
			missed |= compare(&without, &with, i);
	(void)close(without.to);
	(void)close(with.to);
	(void)waitpid(without.pid, NULL, 0);
	(void)waitpid(with.pid, NULL, 0);
	(void)!system("rm -rf " FOLDER);
	return missed;
}
