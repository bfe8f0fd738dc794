/* git rev-parse and git status, with a limit. */
#define _GNU_SOURCE
#include "run/git.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/num.h"

#define LIMIT_MS 2000

static int64_t monotonic_ms(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static pid_t start(char *const argv[], int out)
{
	static char no_locks[] = "GIT_OPTIONAL_LOCKS=0", lang[] = "LC_ALL=C";
	char *envp[8] = { no_locks, lang };
	size_t n = 2;
	char path[4096], home[4096];
	if (getenv("PATH") &&
	    snprintf(path, sizeof path, "PATH=%s", getenv("PATH")) < (int)sizeof path)
		envp[n++] = path;
	if (getenv("HOME") &&
	    snprintf(home, sizeof home, "HOME=%s", getenv("HOME")) < (int)sizeof home)
		envp[n++] = home;

	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	if (posix_spawn_file_actions_init(&actions))
		return -1;
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, envp))
		pid = -1;
	(void)posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* The first bytes that it prints, and whether it ended well in time. */
static bool ask(char *const argv[], char *text, size_t bytes, int64_t until_ms)
{
	int fds[2];
	size_t n = 0;
	ssize_t got = 1;
	text[0] = 0;
	if (pipe2(fds, O_CLOEXEC))
		return false;
	pid_t pid = start(argv, fds[1]);
	(void)close(fds[1]);
	while (pid > 0 && got > 0) {
		struct pollfd p = { fds[0], POLLIN, 0 };
		int64_t left = until_ms - monotonic_ms();
		char rest[4096];
		if (left <= 0 || poll(&p, 1, (int)left) <= 0) {
			(void)kill(pid, SIGKILL);
			break;
		}
		/* Read on past the room there is, so that it can end. */
		got = n + 1 < bytes ? read(fds[0], text + n, bytes - 1 - n)
				    : read(fds[0], rest, sizeof rest);
		if (got > 0 && n + 1 < bytes)
			n += (size_t)got;
	}
	text[n] = 0;
	(void)close(fds[0]);
	int status = -1;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

void git_ask(struct arena *a, const char *folder, const char **ret_commit, signed char *ret_dirty)
{
	static char git[] = "git", c[] = "-C", rev[] = "rev-parse", head[] = "HEAD",
		    status[] = "status", brief[] = "--porcelain", dot[] = ".";
	char text[256], *where = arena_strdup(a, folder);
	int64_t until = monotonic_ms() + LIMIT_MS;
	*ret_commit = NULL;
	*ret_dirty = UNKNOWN;
	if (!where || !ask((char *[]){ git, c, where, rev, head, NULL }, text, sizeof text, until))
		return;
	text[strcspn(text, "\n")] = 0;
	*ret_commit = arena_strdup(a, text);
	if (ask((char *[]){ git, c, where, status, brief, dot, NULL }, text, sizeof text, until))
		*ret_dirty = text[0] ? YES : NO;
}
