/* Three entries of ten operations, an exclude with one; then it ends as it is told. */
#define _GNU_SOURCE
#include "include/roimeter.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
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
	if (m == 'x' || m == 'n') { /* in place of this program: one that measures, one that does not */
		usleep(1300000);
		if (m == 'x')
			execl("/proc/self/exe", "prog", "exit", (char *)NULL);
		execl("/bin/true", "true", (char *)NULL);
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
		usleep(1300000);
		kill(getpid(), SIGKILL);
	}
	return 0;
}
