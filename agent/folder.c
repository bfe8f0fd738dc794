#define _GNU_SOURCE
#include "agent/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "agent/config.h"
#include "lib/log.h"
#include "schema/picture.h"

#define EVENTS                                                                                     \
	(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define A_TURN 256 /* entries of a folder that are looked at between two turns of the loop */
#define LOOK_AGAIN_NS INT64_C(1000000000)
#define FOREIGN "hpcperf" /* text logs begin so */

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);
	return n > m && !strcmp(name + n - m, end);
}

bool folder_is_own(const struct folder *folder)
{
	return folder->own;
}

const char *folder_path(const struct folder *folder)
{
	return folder->path;
}

/* A file as it is now: more in it is another key. */
static uint64_t key_of(const struct stat *st)
{
	const uint64_t parts[] = { (uint64_t)st->st_dev, (uint64_t)st->st_ino,
				   (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
				   (uint64_t)st->st_mtim.tv_nsec };
	return XXH3_64bits(parts, sizeof parts);
}

/* ---- a file --------------------------------------------------------------------------------- */

/* Whoever may write into the folder may put anything there: links, pipes, devices. */
int folder_open(const struct folder *folder, const char *name)
{
	int fd =
		openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Hidden while it is written. */
static bool is_picture(const char *name)
{
	return picture_is_name(name) && name[0] != '.';
}

static void tell_refused(struct folder *folder, const char *name, const struct stat *st,
			 const char *why)
{
	struct agent *a = folder->agent;
	/* A picture is another file each second, and no other loss by that. */
	bool picture = is_picture(name);
	uint64_t key = picture ? XXH3_64bits_withSeed(name, strlen(name), 3) : key_of(st);
	if (taken_has(&a->folders->taken, key))
		return;
	taken_add(&a->folders->taken, key);
	agent_lose(a, picture ? "picture" : "process", "refused", NULL, "%s/%s of user %u: %s",
		   folder->path, name, (unsigned)st->st_uid, why);
}

static bool is_log(const char *name)
{
	return ends_with(name, MARKLOG_SUFFIX) || !strncmp(name, FOREIGN, sizeof FOREIGN - 1);
}

/* A picture that is followed is another file each time: it is known by its name. */
static bool is_followed(const struct folder *folder, const char *name, const struct stat *st,
			bool picture)
{
	const struct agent *a = folder->agent;
	const struct follow *same = picture ? follow_stream(a, name) : NULL;
	return (same && same->folder == folder) || follow_find(a, st->st_dev, st->st_ino) ||
	       taken_has(&a->folders->taken, key_of(st));
}

/* -ENOSPC: there is no room for it now; -EDQUOT: not for one of its user. */
static int take_name(struct folder *folder, const char *name)
{
	struct agent *a = folder->agent;
	struct stat st;
	struct err err = { .text = "" };
	bool picture = is_picture(name);
	if ((!picture && !is_log(name)) || fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		tell_refused(folder, name, &st, "it has the name of a log and is no file");
		return 0;
	}
	if (is_followed(folder, name, &st, picture))
		return 0;
	int rc = core_room(a->core, st.st_uid);
	if (rc == -EDQUOT)
		return rc;
	int fd = folder_open(folder, name);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		tell_refused(folder, name, &st, strerror(-fd));
		return fd == -EMFILE || fd == -ENFILE ? -ENOSPC : 0;
	}
	const struct follow_from from = {
		.folder = folder, .name = name, .picture = picture, .connection = -1
	};
	rc = follow_take(a, fd, &from, &err);
	if (rc == -ENOMEM)
		rc = -ENOSPC;
	if (rc && rc != -ENOSPC && rc != -EAGAIN && err.text[0])
		tell_refused(folder, name, &st, err.text);
	return rc == -ENOSPC || rc == -EDQUOT ? rc : 0;
}

/* Its process was killed while it wrote it. */
static void remove_hidden(const struct folder *folder, const char *name)
{
	char hidden[300];
	if (is_picture(name) && snprintf(hidden, sizeof hidden, ".%s", name) < (int)sizeof hidden)
		(void)unlinkat(folder->fd, hidden, 0);
}

/* Its name may lead to another file by now. */
static void remove_log(struct folder *folder, const char *name, dev_t dev, ino_t ino)
{
	struct stat st;
	if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_dev != dev ||
	    st.st_ino != ino)
		return;
	if (unlinkat(folder->fd, name, 0) && errno != ENOENT) {
		log_warn("remove %s/%s: %s; it stays", folder->path, name, strerror(errno));
		taken_add(&folder->agent->folders->taken, key_of(&st));
	}
}

void folder_done(struct folder *folder, const char *name, bool durable, dev_t dev, ino_t ino)
{
	struct stat st;
	if (!name || folder->fd < 0)
		return;
	/* What the spool holds survives more than a folder in memory does, and marks are never
	 * dropped from it: to wait for the daemon would fill the memory while that is away. */
	if (durable && folder->own) {
		remove_log(folder, name, dev, ino);
		remove_hidden(folder, name);
	} else if (!fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == ino) {
		taken_add(&folder->agent->folders->taken, key_of(&st));
	}
}

/* ---- a scan --------------------------------------------------------------------------------- */

static void scan_begin(struct folder *folder)
{
	struct stat st;
	if (folder->fd < 0)
		return;
	if (folder->scan)
		(void)closedir(folder->scan);
	*folder->held = 0;
	if (!fstat(folder->fd, &st))
		folder->changed = st.st_mtim;
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder->scan = fd < 0 ? NULL : fdopendir(fd);
	if (!folder->scan && fd >= 0)
		(void)close(fd);
	folder->more = !folder->scan;
	agent_turn_soon(folder->agent);
}

/* In the agent's own folder, what nobody can take is not kept for ever. */
static void clear_old(struct folder *folder, const char *name)
{
	struct stat st;
	const struct agent *a = folder->agent;
	bool hidden = name[0] == '.' && !picture_is_name(name);
	if (!folder->own || hidden || !strcmp(name, MARKLOG_LOSSES) ||
	    !strcmp(name, MARKLOG_UNATTACHED) ||
	    fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode) ||
	    follow_find(a, st.st_dev, st.st_ino))
		return;
	int64_t age_ns = agent_real() - (int64_t)st.st_mtim.tv_sec * 1000000000;
	if (age_ns > (int64_t)(a->config->forget_s * 1e9) && !unlinkat(folder->fd, name, 0))
		log_info("%s/%s: removed; for %.0f s nobody could take it", folder->path, name,
			 a->config->forget_s);
}

/* Some entries. Where there is no room for one, the reading stands still until there is. */
static void scan_go_on(struct folder *folder)
{
	for (int i = 0; i < A_TURN; i++) {
		if (!*folder->held) {
			const struct dirent *e = readdir(folder->scan);
			if (!e)
				break;
			(void)snprintf(folder->held, sizeof folder->held, "%s", e->d_name);
		}
		int rc = take_name(folder, folder->held);
		if (rc == -ENOSPC)
			return;
		if (rc) /* it waits, and others' do not wait for it */
			folder_more(folder, rc);
		else
			clear_old(folder, folder->held);
		*folder->held = 0;
		if (i + 1 == A_TURN)
			return;
	}
	(void)closedir(folder->scan);
	folder->scan = NULL;
	folder_losses(folder);
}

/* Some room at once, or any after a while. */
static bool has_room(const struct agent *a)
{
	size_t most = (size_t)a->config->processes;
	return a->n_follows + most / 8 < most ||
	       (a->n_follows < most && agent_now() >= a->folders->more_ns);
}

void folders_go_on(struct agent *a)
{
	for (struct folder *f = a->folders->first; f; f = f->next) {
		if (f->tell_ns && f->tell_ns <= agent_now())
			folder_losses(f);
		if (f->again_ns && f->again_ns <= agent_now()) {
			f->again_ns = 0;
			f->crowded = false;
			f->more = true;
		}
		bool waits = f->more || *f->held;
		if (waits && !has_room(a))
			continue;
		if (waits)
			a->folders->more_ns = agent_now() + LOOK_AGAIN_NS;
		if (f->more && !f->scan)
			scan_begin(f);
		if (f->scan)
			scan_go_on(f);
	}
}

int64_t folders_next(const struct agent *a)
{
	int64_t next = CORE_NEVER;
	for (const struct folder *f = a->folders->first; f; f = f->next) {
		if (f->tell_ns && f->tell_ns < next)
			next = f->tell_ns;
		if (f->again_ns && f->again_ns < next)
			next = f->again_ns;
		if (f->fd < 0 || (!f->scan && !f->more))
			continue;
		if ((f->scan && !*f->held) || has_room(a))
			return 0;
		if (a->n_follows < (size_t)a->config->processes && a->folders->more_ns < next)
			next = a->folders->more_ns;
	}
	return next;
}

/* ---- folders -------------------------------------------------------------------------------- */

static void open_folder(struct folder *folder)
{
	struct folders *all = folder->agent->folders;
	int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int watch = fd < 0 ? -1 : inotify_add_watch(all->inotify, folder->path, EVENTS);
	if (watch < 0) {
		log_warn("folder %s: %s; logs in it are not seen; it is tried again", folder->path,
			 strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	folder->fd = fd;
	folder->watch = watch;
	scan_begin(folder); /* behind the watch: nothing falls between the two */
}

static void close_folder(struct folder *folder)
{
	if (folder->scan)
		(void)closedir(folder->scan);
	if (folder->watch >= 0)
		(void)inotify_rm_watch(folder->agent->folders->inotify, folder->watch);
	if (folder->fd >= 0)
		(void)close(folder->fd);
	folder->scan = NULL;
	*folder->held = 0;
	folder->watch = folder->fd = -1;
}

static int add_folder(struct agent *a, const char *path, bool own, struct err *err)
{
	for (struct folder *f = a->folders->first; f; f = f->next)
		if (!strcmp(f->path, path)) {
			f->listed = true;
			return 0;
		}
	struct folder *f = calloc(1, sizeof *f);
	char *copy = strdup(path);
	if (!f || !copy) {
		free(f);
		free(copy);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*f = (struct folder){ .agent = a,
			      .path = copy,
			      .fd = -1,
			      .watch = -1,
			      .own = own,
			      .listed = true,
			      .next = a->folders->first };
	a->folders->first = f;
	open_folder(f);
	return 0;
}

/* Logs of it that are followed still speak of it: it stays in the list, unwatched. */
static void drop_folder(struct folder *folder)
{
	log_info("folder %s: not watched any more", folder->path);
	close_folder(folder);
	folder->more = false;
}

int folders_set(struct agent *a, const char *const *paths, size_t n, struct err *err)
{
	int rc = 0;
	for (struct folder *f = a->folders->first; f; f = f->next)
		f->listed = f->own;
	for (size_t i = 0; i < n && !rc; i++)
		rc = add_folder(a, paths[i], false, err);
	for (struct folder *f = a->folders->first; f; f = f->next) {
		if (!f->listed && f->fd >= 0)
			drop_folder(f);
		else if (f->listed && f->fd < 0)
			open_folder(f);
	}
	return rc;
}

/* The agent's own: everybody may add to it, nobody may touch another's. What is in it gets our
 * group, if that can be had, so that we can read the logs of users whose umask lets nobody (the
 * marker library opens them to the group then). Under RestrictSUIDSGID= that bit can only be
 * inherited. */
static int make_own(struct agent *a, const char *path, struct err *err)
{
	struct stat st;
	mode_t mask = umask(0);
	bool made = !mkdir(path, 01777);
	(void)umask(mask);
	if (!made && errno != EEXIST)
		return err_set(err, -errno, "make the folder of logs %s: %s", path,
			       strerror(errno));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open the folder of logs %s: %s", path,
			       strerror(errno));
	int rc = 0;
	if (fstat(fd, &st) || st.st_uid != geteuid() ||
	    ((st.st_mode & 07777) != 03777 && fchmod(fd, 03777) && (st.st_mode & 07777) != 01777 &&
	     fchmod(fd, 01777)))
		rc = err_set(err, -EPERM,
			     "the folder of logs %s must belong to the agent's user %u, with mode "
			     "1777 or 3777; remove it, or set [agent] logs",
			     path, (unsigned)geteuid());
	(void)close(fd);
	if (!rc)
		rc = add_folder(a, path, true, err);
	return rc ? rc : folder_losses_make(a->folders->first, err);
}

/* ---- events --------------------------------------------------------------------------------- */

static void one_event(struct agent *a, const struct inotify_event *e)
{
	struct folder *f = a->folders->first;
	int rc;
	if (e->mask & IN_Q_OVERFLOW) {
		log_warn("folders: more happened than the kernel keeps; all are looked through");
		for (; f; f = f->next)
			scan_begin(f);
		return;
	}
	while (f && f->watch != e->wd)
		f = f->next;
	if (!f)
		return;
	if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) {
		log_warn("folder %s: it was removed or moved; it is looked for again", f->path);
		close_folder(f);
	} else if (e->len && folder_loss_name(e->name)) {
		folder_losses_soon(f);
	} else if (e->mask & IN_CREATE) {
		return; /* a log is looked at when it is closed, and ready */
	} else if (e->len && (rc = take_name(f, e->name))) {
		folder_more(f, rc);
	}
}

static void on_events(uv_poll_t *handle, int status, int events)
{
	struct agent *a = handle->data;
	_Alignas(struct inotify_event) char room[16384];
	(void)events;
	a->wakeups++;
	ssize_t n = status ? 0 : read(a->folders->inotify, room, sizeof room);
	for (char *at = room; n > 0 && at < room + n;) {
		const struct inotify_event *e = (const struct inotify_event *)(void *)at;
		one_event(a, e);
		at += sizeof *e + e->len;
	}
	agent_turn_soon(a);
}

struct json_t *folders_list(const struct agent *a)
{
	json_t *list = json_array();
	for (const struct folder *f = a->folders->first; f; f = f->next)
		if (f->fd >= 0)
			(void)json_array_append_new(list, json_string(f->path));
	return list;
}

struct folder *folders_of(const struct agent *a, int fd, char name[256])
{
	char link[64], path[PATH_MAX];
	struct stat st, here;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	const char *end = path[0] == '/' ? strrchr(path, '/') : NULL;
	*name = 0;
	if (!end || !ends_with(path, MARKLOG_SUFFIX) || strlen(end + 1) > 255)
		return NULL; /* a file without a name */
	memcpy(name, end + 1, strlen(end + 1) + 1);
	for (struct folder *f = a->folders->first; f; f = f->next) {
		size_t len = strlen(f->path);
		if (f->fd < 0 || len != (size_t)(end - path) || memcmp(f->path, path, len) != 0)
			continue;
		/* The path is one in the mount namespace of whoever opened it. */
		if (!fstat(fd, &st) && !fstatat(f->fd, name, &here, AT_SYMLINK_NOFOLLOW) &&
		    st.st_dev == here.st_dev && st.st_ino == here.st_ino)
			return f;
	}
	return NULL;
}

void folder_more(struct folder *folder, int rc)
{
	if (rc == -EDQUOT)
		folder->crowded = true;
	else
		folder->more = true;
}

/* Not at each that goes: whose it was is not asked, and to read a folder is work. */
void folders_room(struct agent *a)
{
	for (struct folder *f = a->folders ? a->folders->first : NULL; f; f = f->next)
		if (f->crowded && !f->again_ns)
			f->again_ns = agent_now() + LOOK_AGAIN_NS;
}

/* Now and then: what no event told (files on network disks, folders that came back). */
void folders_check(struct agent *a)
{
	for (struct folder *f = a->folders->first; f; f = f->next) {
		struct stat st;
		if (f->listed && f->fd < 0)
			open_folder(f);
		else if (f->fd >= 0 && !f->scan && !fstat(f->fd, &st) &&
			 (st.st_mtim.tv_sec != f->changed.tv_sec ||
			  st.st_mtim.tv_nsec != f->changed.tv_nsec || f->own))
			scan_begin(f);
	}
}

int folders_open(struct agent *a, const char *own, struct err *err)
{
	struct folders *all = calloc(1, sizeof *all);
	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	a->folders = all;
	all->taken.fd = -1;
	all->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (all->inotify < 0)
		return err_set(err, -errno, "inotify: %s", strerror(errno));
	int rc = uv_poll_init(a->loop, &all->events, all->inotify);
	if (rc)
		return err_set(err, rc, "inotify: %s", uv_strerror(rc));
	all->watching = true;
	all->events.data = a;
	agent_handles_add(a);
	rc = uv_poll_start(&all->events, UV_READABLE, on_events);
	if (!rc)
		rc = taken_open(&all->taken, a->config->spool, err);
	return rc ? rc : make_own(a, own, err);
}

static void closed(uv_handle_t *handle)
{
	struct agent *a = handle->data;
	free(a->folders);
	a->folders = NULL;
	agent_handle_closed(a);
}

/* Behind follow_close_all: logs speak of their folders. */
void folders_close(struct agent *a)
{
	struct folders *all = a->folders;
	if (!all)
		return;
	while (all->first) {
		struct folder *f = all->first;
		all->first = f->next;
		close_folder(f);
		free(f->path);
		free(f);
	}
	taken_close(&all->taken);
	if (all->watching)
		uv_close((uv_handle_t *)&all->events, closed);
	if (all->inotify >= 0)
		(void)close(all->inotify);
	if (!all->watching) {
		free(all);
		a->folders = NULL;
	}
}
