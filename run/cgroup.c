/* cgroup v2 by its files. No controller is needed: membership, cgroup.kill and cpu.stat's times
 * are there in every group. */
#define _GNU_SOURCE
#include "run/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/file.h"

#define TEXT_MAX (1 << 20)
#define PREFIX "roimeter-"

/* "36 35 0:30 /root /mount/point opts - cgroup2 source opts": the group's root and where it is
 * mounted. Blanks in paths are written as \040; a hierarchy mounted at such a place is not used. */
static const char *find_mount(const char *mountinfo, char root[512], char at[512])
{
	for (const char *line = mountinfo; line && *line;) {
		const char *next = strchr(line, '\n');
		char text[2048];
		size_t n = next ? (size_t)(next - line) : strlen(line);
		if (n < sizeof text) {
			memcpy(text, line, n);
			text[n] = 0;
			const char *kind = strstr(text, " - ");
			if (kind && strncmp(kind, " - cgroup2 ", 11) == 0 &&
			    sscanf(text, "%*s %*s %*s %511s %511s", root, at) == 2)
				return at;
		}
		line = next ? next + 1 : NULL;
	}
	return NULL;
}

/* Our group is the line "0::/path". */
static const char *find_self(const char *self, char path[512])
{
	const char *line = strncmp(self, "0::", 3) == 0 ? self : strstr(self, "\n0::");
	if (!line)
		return NULL;
	line = strstr(line, "0::") + 3;
	size_t n = strcspn(line, "\n");
	if (n >= 512)
		return NULL;
	memcpy(path, line, n);
	path[n] = 0;
	return path;
}

int cgroup_own(const char *mountinfo, const char *self, char ret[CGROUP_PATH_BYTES])
{
	char root[512], at[512], path[512];
	if (!find_mount(mountinfo, root, at) || !find_self(self, path))
		return -ENOENT;
	const char *below = path;
	size_t n = strlen(root);
	if (n > 1) { /* only a part of the hierarchy is mounted */
		if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/'))
			return -ENOENT;
		below = path + n;
	}
	if (strcmp(below, "/") == 0)
		below = "";
	(void)snprintf(ret, CGROUP_PATH_BYTES, "%s%s", at, below);
	return 0;
}

/* Groups that are named after a process that is no more. One that still holds processes stays. */
static void sweep(const char *own)
{
	DIR *dir = opendir(own);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		char path[CGROUP_PATH_BYTES + 64], *end = NULL;
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		long pid = strtol(e->d_name + strlen(PREFIX), &end, 10);
		if (pid <= 0 || *end || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			continue;
		(void)snprintf(path, sizeof path, "%s/%.40s", own, e->d_name);
		cgroup_remove(path);
	}
	(void)closedir(dir);
}

int cgroup_make(char ret[CGROUP_PATH_BYTES], struct err *err)
{
	struct buf mounts = { .max = TEXT_MAX }, self = { .max = TEXT_MAX };
	char own[CGROUP_PATH_BYTES];
	int rc = file_read(&mounts, "/proc/self/mountinfo", err);
	if (!rc)
		rc = file_read(&self, "/proc/self/cgroup", err);
	if (!rc && (!mounts.data || !self.data))
		rc = -ENOENT;
	if (!rc)
		rc = cgroup_own(mounts.data, self.data, own);
	if (rc) {
		(void)err_set(err, rc, "there is no cgroup2 hierarchy with this process in it");
		goto out;
	}
	sweep(own);
	int n = snprintf(ret, CGROUP_PATH_BYTES, "%s/" PREFIX "%ld", own, (long)getpid());
	if (n < 0 || n >= CGROUP_PATH_BYTES)
		rc = err_set(err, -ENAMETOOLONG, "the path of the group is too long");
	else if (mkdir(ret, 0755))
		rc = err_set(err, -errno, "make control group %s: %s", ret, strerror(errno));
out:
	buf_done(&mounts);
	buf_done(&self);
	return rc;
}

int cgroup_kill(const char *path)
{
	char file[CGROUP_PATH_BYTES + 16];
	(void)snprintf(file, sizeof file, "%s/cgroup.kill", path);
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = write(fd, "1", 1) == 1 ? 0 : -errno;
	(void)close(fd);
	return rc;
}

int cgroup_pids(const char *path, struct pids *ret)
{
	char file[CGROUP_PATH_BYTES + 16];
	struct buf text = { .max = TEXT_MAX };
	(void)snprintf(file, sizeof file, "%s/cgroup.procs", path);
	ret->n = 0;
	int rc = file_read(&text, file, NULL);
	for (char *p = text.data, *end; !rc && p && *p; p = end) {
		long pid = strtol(p, &end, 10);
		if (end == p)
			break;
		rc = pids_add(ret, (pid_t)pid);
	}
	buf_done(&text);
	return rc;
}

static double stat_usec(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtod(at + strlen(key), NULL) / 1e6 : (double)NAN;
}

void cgroup_cpu(const char *path, double *ret_user_s, double *ret_system_s)
{
	char file[CGROUP_PATH_BYTES + 16];
	struct buf text = { .max = TEXT_MAX };
	(void)snprintf(file, sizeof file, "%s/cpu.stat", path);
	*ret_user_s = *ret_system_s = NAN;
	if (file_read(&text, file, NULL) == 0 && text.data) {
		*ret_user_s = stat_usec(text.data, "\nuser_usec ");
		*ret_system_s = stat_usec(text.data, "\nsystem_usec ");
	}
	buf_done(&text);
}

static double sum_after(const char *text, const char *key)
{
	double sum = 0;
	for (const char *at = text; (at = strstr(at, key)); at += strlen(key))
		sum += strtod(at + strlen(key), NULL);
	return sum;
}

/* A line for each device: "8:0 rbytes=4096 wbytes=0 rios=1 ...". */
void cgroup_io(const char *path, double *ret_read_bytes, double *ret_write_bytes)
{
	char file[CGROUP_PATH_BYTES + 16];
	struct buf text = { .max = TEXT_MAX };
	(void)snprintf(file, sizeof file, "%s/io.stat", path);
	*ret_read_bytes = *ret_write_bytes = NAN;
	if (file_read(&text, file, NULL) == 0) {
		buf_put(&text, "", 1);
		*ret_read_bytes = text.failed ? NAN : sum_after(text.data, " rbytes=");
		*ret_write_bytes = text.failed ? NAN : sum_after(text.data, " wbytes=");
	}
	buf_done(&text);
}

static int remove_group(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DP)
		(void)rmdir(path);
	return 0;
}

void cgroup_remove(const char *path)
{
	if (rmdir(path) == 0 || errno == ENOENT)
		return;
	(void)nftw(path, remove_group, 8, FTW_DEPTH | FTW_PHYS);
}
