/* Descendants by one pass over /proc/PID/stat: it needs no kernel option (task/children does) and
 * costs the same however many threads there are. */
#define _GNU_SOURCE
#include "node/procs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_PASSES 50

struct proc {
	pid_t pid, parent;
	bool below;
};

struct table {
	struct proc *items;
	size_t n, cap;
};

/* The parent stands after the name, which may hold blanks and brackets: search from the end. */
static pid_t parent_of(int proc_fd, const char *pid)
{
	char path[64], text[512];
	(void)snprintf(path, sizeof path, "%.32s/stat", pid);
	int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	const char *end = strrchr(text, ')');
	int parent = -1;
	char state = 0;
	if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2)
		return -1;
	return state == 'Z' || state == 'X' ? -1 : parent;
}

static int table_add(struct table *t, pid_t pid, pid_t parent)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;
		struct proc *items = realloc(t->items, cap * sizeof *items);
		if (!items)
			return -ENOMEM;
		t->items = items;
		t->cap = cap;
	}
	t->items[t->n++] = (struct proc){ .pid = pid, .parent = parent };
	return 0;
}

static int table_read(struct table *t, const char *proc)
{
	DIR *dir = opendir(proc);
	if (!dir)
		return -errno;
	int rc = 0;
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		char *end = NULL;
		long pid = strtol(e->d_name, &end, 10);
		if (pid <= 0 || *end)
			continue;
		pid_t parent = parent_of(dirfd(dir), e->d_name);
		if (parent > 0)
			rc = table_add(t, (pid_t)pid, parent);
	}
	(void)closedir(dir);
	return rc;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_below(struct table *t, pid_t pid, pid_t root)
{
	if (pid == root)
		return true;
	struct proc key = { .pid = pid };
	const struct proc *p = bsearch(&key, t->items, t->n, sizeof key, by_pid);
	return p && p->below;
}

/* A child may have a smaller number than its parent (numbers wrap), so go on until nothing is
 * added. */
static void mark_below(struct table *t, pid_t root)
{
	bool more = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < t->n; i++)
			if (!t->items[i].below && is_below(t, t->items[i].parent, root))
				more = t->items[i].below = true;
	}
}

int pids_add(struct pids *p, pid_t pid)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		pid_t *items = realloc(p->items, cap * sizeof *items);
		if (!items)
			return -ENOMEM;
		p->items = items;
		p->cap = cap;
	}
	p->items[p->n++] = pid;
	return 0;
}

int procs_below(const char *proc, pid_t root, struct pids *ret)
{
	struct table t = { 0 };
	ret->n = 0;
	int rc = table_read(&t, proc);
	if (!rc && t.n) {
		qsort(t.items, t.n, sizeof *t.items, by_pid);
		mark_below(&t, root);
	}
	for (size_t i = 0; !rc && i < t.n; i++)
		if (t.items[i].below && t.items[i].pid != root)
			rc = pids_add(ret, t.items[i].pid);
	free(t.items);
	return rc;
}

void pids_done(struct pids *p)
{
	free(p->items);
	*p = (struct pids){ 0 };
}

static size_t signal_all(const struct pids *p, int sig)
{
	for (size_t i = 0; i < p->n; i++)
		(void)kill(p->items[i], sig); /* it may have ended by itself */
	return p->n;
}

size_t procs_signal(pid_t root, int sig)
{
	struct pids p = { 0 };
	size_t n = procs_below("/proc", root, &p) == 0 ? signal_all(&p, sig) : 0;
	pids_done(&p);
	return n;
}

size_t procs_kill(pid_t root)
{
	struct pids p = { 0 };
	size_t n = 0, before = 0;
	for (int i = 0; i < STOP_PASSES; i++) {
		if (procs_below("/proc", root, &p))
			break;
		n = signal_all(&p, SIGSTOP);
		if (n <= before)
			break;
		before = n;
	}
	(void)signal_all(&p, SIGKILL);
	pids_done(&p);
	return n;
}
