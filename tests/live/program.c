/* Three entries of ten operations, an exclude with one; then it ends as it is told. */
#define _GNU_SOURCE
#include "include/roimeter.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <signal.h>
#include <sys/wait.h>
static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}
/* By each of libc's functions. */
static int in_place(const char *by, char *how)
{
	const char *second = strcmp(how, "true") ? "/proc/self/exe" : "/bin/true";
	char *args[] = { "prog", how, NULL };
	setenv("PATH", "/proc/self:/bin", 1);
	const char *file = strcmp(how, "true") ? "exe" : "true";
	extern char **environ;
	if (!strcmp(by, "execve"))
		return execve(second, args, environ);
	if (!strcmp(by, "execv"))
		return execv(second, args);
	if (!strcmp(by, "execvp"))
		return execvp(file, args);
	if (!strcmp(by, "execvpe"))
		return execvpe(file, args, environ);
	if (!strcmp(by, "fexecve"))
		return fexecve(open(second, O_RDONLY | O_CLOEXEC), args, environ);
	if (!strcmp(by, "execveat"))
		return execveat(AT_FDCWD, second, args, environ, 0);
	if (!strcmp(by, "execl"))
		return execl(second, "prog", how, (char *)NULL);
	if (!strcmp(by, "execlp"))
		return execlp(file, "prog", how, (char *)NULL);
	if (!strcmp(by, "execle"))
		return execle(second, "prog", how, (char *)NULL, environ);
	return -1;
}
static int fails(int which)
{
	char *args[] = { "no", "such", NULL }, *none[] = { NULL };
	switch (which) {
	case 0:
		return execve("/no such", args, none);
	case 1:
		return execv("/no such", args);
	case 2:
		return execvp("no such", args);
	case 3:
		return execvpe("no such", args, none);
	case 4:
		return fexecve(-1, args, none);
	case 5:
		return execveat(AT_FDCWD, "/no such", args, none, 0);
	case 6:
		return execl("/no such", "no", "such", (char *)NULL);
	case 7:
		return execlp("no such", "no", "such", (char *)NULL);
	default:
		return execle("/no such", "no", "such", (char *)NULL, none);
	}
}
/* Until whoever started us has seen all in the picture, which is written once a second; then there
 * is a file "go". */
static void await_picture(void)
{
	for (int i = 0; i < 6000 && access("go", F_OK); i++)
		usleep(10000);
}
static void handler(int number)
{
	(void)number;
	in_place("execl", "exit");
}
static void *thread(void *unused)
{
	in_place("execl", "exit");
	return unused;
}
int main(int c, char **v)
{
	void *l = dlopen("./lib.so", RTLD_NOW);
	if (!l) {
		puts(dlerror());
		return 2;
	}
	int (*st)(void) = (int (*)(void))dlsym(l, "t_start");
	void (*op)(long, long) = (void (*)(long, long))dlsym(l, "t_op");
	printf("start %d\n", st());
	for (int k = 0; k < 3; k++) {
		ROIMETER_BEGIN();
		for (int i = 0; i < 10; i++) {
			long b = now();
			usleep(1000);
			op(b, now());
		}
		ROIMETER_EXCLUDE_BEGIN();
		long b = now();
		usleep(2000);
		op(b, now());
		ROIMETER_EXCLUDE_END();
		ROIMETER_END();
	}
	fflush(stdout);
	char m = c > 1 ? v[1][0] : 'e';
	if (m == 'f') {
		if (!fork()) {
			ROIMETER_BEGIN();
			ROIMETER_END();
			op(1, 2);
			exit(0);
		}
		wait(NULL);
	}
	if (m == '_')
		_exit(0);
	if (m == 'E')
		_Exit(0);
	if (m == 'q')
		quick_exit(0);
	if (m == 't') {
		kill(getpid(), SIGTERM);
		sleep(3);
	}
	if (m == 'x') /* in place of this program */
		in_place(v[2], c > 3 ? v[3] : "exit");
	if (m == 'h') { /* the same, out of a signal handler */
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
	}
	if (m == 'T') { /* the same, by another thread */
		pthread_t t;
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
	}
	if (m == 'i') { /* there is no such program: it goes on */
		for (int i = 0; i < 9; i++)
			fails(i);
		op(1, 2);
		if (c > 2) {
			await_picture();
			kill(getpid(), SIGKILL);
		}
	}
	if (m == 'v') { /* children that share its memory until exec */
		await_picture();
		for (int i = 0; i < 20; i++)
			if (vfork() == 0) {
				execl(i & 1 ? "/bin/true" : "/bin/no such", "true", (char *)NULL);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		kill(getpid(), SIGKILL);
	}
	if (m == 'd') { /* a daemon: a child of a child, and nobody waits for it */
		int ends[2];
		char c = 0;
		if (pipe(ends) || fork() == 0) {
			if (setsid() > 0 && fork() == 0) {
				ROIMETER_BEGIN();
				op(1, 2);
				ROIMETER_END();
				_exit(write(ends[1], "x", 1) != 1);
			}
			_exit(0);
		}
		wait(NULL);
		return read(ends[0], &c, 1) != 1;
	}
	if (m == 'c') /* the collector is closed before the end; it stays */
		dlclose(l);
	if (m == 'k') {
		await_picture();
		kill(getpid(), SIGKILL);
	}
	return 0;
}
