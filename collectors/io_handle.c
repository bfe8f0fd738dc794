/* What descriptors are of: a table by number, and for each that is open what events need to know.
 * A handle is told to the takers when events are handed over, so that what it is of (fstat) need be
 * asked only of what is used. Where a descriptor stands in its file is kept in memory that forks
 * share, as the kernel shares it. */
#include "collectors/io_wrap.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define OPENS_MOST (1u << 20)
#define PLACES_EACH 8192 /* in a piece of shared memory */

IO_HOT_DATA struct io_open **io_table[IO_TABLES] = { NULL };

/* All below with the lock. */
static struct io_open *free_opens, *untold, **untold_end = &untold;
static uint32_t n_opens;

/* ---- places -------------------------------------------------------------------------------------
 */

/* A place that existed when the process forked may be in use by the child for ever, so only those
 * are used again whose whole life is between two forks. */
struct io_place {
	int64_t *at;
	uint32_t uses, forks; /* of this process alone: in memory of its own */
	struct io_place *next;
};

static int64_t *shared;
static struct io_place *places, *free_places; /* places[i] is of shared[i] */
static uint32_t n_places, times_forked;

static bool places_more(void)
{
	int64_t *more = io_map(PLACES_EACH * sizeof *more, true);
	struct io_place *of = more ? io_map(PLACES_EACH * sizeof *of, false) : NULL;
	if (!of)
		return false;
	shared = more;
	places = of;
	n_places = 0;
	return true;
}

/* NULL: no room; it is said that nobody knows where. */
static struct io_place *place_new(int64_t **ret)
{
	struct io_place *p = free_places;
	if (p) {
		free_places = p->next;
	} else {
		if ((!shared || n_places == PLACES_EACH) && !places_more())
			return NULL;
		p = &places[n_places];
		p->at = &shared[n_places++];
	}
	p->uses = 1;
	p->forks = times_forked;
	*ret = p->at;
	return p;
}

static void place_drop(struct io_place *p)
{
	if (!p || --p->uses || p->forks != times_forked)
		return;
	p->next = free_places;
	free_places = p;
}

/* ---- what is open -------------------------------------------------------------------------------
 */

static struct io_open *open_new(void)
{
	if (!free_opens && n_opens < OPENS_MOST) {
		struct io_open *more = io_map(CHUNK_BYTES, false);
		size_t n = more ? CHUNK_BYTES / sizeof *more : 0;
		for (size_t i = 0; i < n; i++) {
			more[i].next = free_opens;
			free_opens = &more[i];
		}
		n_opens += (uint32_t)n;
	}
	struct io_open *o = free_opens;
	if (o) {
		free_opens = o->next;
		memset(o, 0, sizeof *o);
	}
	return o;
}

static void open_free(struct io_open *o)
{
	o->next = free_opens;
	free_opens = o;
}

static struct io_open **slot_make(int fd)
{
	if ((unsigned)fd >= IO_TABLE * IO_TABLES)
		return NULL;
	struct io_open ***part = &io_table[(unsigned)fd / IO_TABLE];
	if (!*part) {
		struct io_open **made = io_map(IO_TABLE * sizeof *made, false);
		if (!made)
			return NULL;
		PUT_RELEASE(*part, made);
	}
	return io_slot(fd);
}

/* Whoever had this number was closed without our knowing: by a system call, or libc for itself. */
static void forget(struct io_open *o)
{
	if (!o)
		return;
	o->closed = true;
	place_drop(o->place_of);
	if (o->told || o->hidden || o->forks != io.forks)
		open_free(o);
}

static void number(struct io_open *o, uint32_t handle)
{
	o->number = handle;
	o->forks = io.forks;
	if (o->hidden)
		return;
	o->next = NULL;
	*untold_end = o;
	untold_end = &o->next;
}

static struct io_open *opened(const struct io_opened *as)
{
	struct io_open **slot = slot_make(as->fd), *o = slot ? open_new() : NULL;
	if (slot) {
		forget(__atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL));
		io_changed();
	}
	if (!o)
		return NULL;
	o->fd = as->fd;
	o->path = as->path;
	o->flags = as->flags;
	o->interface = (uint8_t)as->interface;
	o->hidden = as->hidden;
	o->type = (uint8_t)as->type;
	o->placeless = as->placeless || (as->flags >= 0 && (as->flags & O_APPEND));
	o->cookie = as->cookie;
	if (as->with) {
		o->place = as->with->place;
		o->place_of = as->with->place_of;
		o->placeless = o->placeless || as->with->placeless;
		o->type = as->with->type;
		o->known = as->with->known;
		o->device = as->with->device;
		o->inode = as->with->inode;
		if (o->place_of)
			o->place_of->uses++;
	} else {
		o->place_of = place_new(&o->place);
		io_place_set(o, 0);
	}
	o->known = o->known || as->known;
	number(o, o->hidden ? 0 : ++io.handles);
	PUT_RELEASE(*slot, o);
	io_changed();
	return o;
}

struct io_open *io_opened(const struct io_opened *as)
{
	int saved = errno;
	struct io_open *o = NULL;
	if (as->fd >= 0 && io_lock() == 0) {
		o = opened(as);
		io_unlock();
	}
	errno = saved;
	return o;
}

/* ---- what it is of ------------------------------------------------------------------------------
 */

static enum io_file_type type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return IO_FILE;
	case S_IFDIR:
		return IO_DIRECTORY;
	case S_IFIFO:
		return IO_PIPE;
	case S_IFSOCK:
		return IO_SOCKET;
	case S_IFBLK:
		return IO_DEVICE;
	case S_IFCHR:
		return IO_DEVICE;
	default:
		return IO_OTHER;
	}
}

static bool is_terminal(int fd)
{
	char settings[256]; /* struct termios of the kernel */
	return syscall(SYS_ioctl, fd, 0x5401 /* TCGETS */, settings) == 0;
}

/* 0, or there is no such descriptor. */
static int know(struct io_open *o, int fd)
{
	struct stat s;
	if (fstat(fd, &s))
		return -errno;
	o->type = (uint8_t)type_of(s.st_mode);
	if (S_ISCHR(s.st_mode) && is_terminal(fd))
		o->type = IO_TERMINAL;
	o->device = s.st_dev;
	o->inode = s.st_ino;
	if (!S_ISREG(s.st_mode) && !S_ISBLK(s.st_mode))
		o->placeless = true;
	PUT_RELEASE(o->known, true);
	return 0;
}

static uint32_t path_of(int fd, bool *hidden)
{
	static char path[PATH_MAX]; /* with the lock; stacks may be small */
	char link[32];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
	if (n <= 0 || path[0] != '/')
		return 0;
	path[n] = 0;
	struct io_named named = io_name_locked(path);
	*hidden = named.hidden;
	return named.text;
}

/* It was open before anybody looked, or in the parent. */
static struct io_open *found(int fd, const struct io_open *like)
{
	int64_t *place = NULL;
	struct io_opened as = { .fd = fd };
	as.flags = syscall(SYS_fcntl, fd, F_GETFL);
	if (as.flags >= 0)
		as.flags &= ~0100000L; /* O_LARGEFILE, which nobody gave */
	if (like->type == IO_FILE || like->type == IO_DIRECTORY || like->type == IO_DEVICE)
		as.path = path_of(fd, &as.hidden);
	as.placeless = like->placeless || fd <= 2;
	struct io_open **slot = slot_make(fd), *o = slot ? GET_ACQUIRE(*slot) : NULL;
	if (!slot)
		return NULL;
	bool inherited = o && o->place;
	if (inherited)
		place = o->place;
	if (!o)
		o = open_new();
	if (!o)
		return NULL;
	struct io_place *place_of = o->place_of;
	*o = *like;
	o->fd = fd;
	o->flags = as.flags;
	o->path = as.path;
	o->hidden = as.hidden;
	o->placeless = as.placeless || (as.flags >= 0 && (as.flags & O_APPEND));
	o->was_open = true;
	o->place = place;
	o->place_of = place_of;
	if (!inherited && (o->place_of = place_new(&o->place)))
		io_place_set(o, o->placeless ? 0 : syscall(SYS_lseek, fd, 0L, SEEK_CUR));
	number(o, o->hidden ? 0 : fd <= 2 ? (uint32_t)fd + 1 : ++io.handles);
	PUT_RELEASE(*slot, o);
	io_changed();
	return o;
}

struct io_open *io_open_slow(int fd)
{
	struct io_open **slot = io_slot(fd), *o = slot ? GET_ACQUIRE(*slot) : NULL, seen = { 0 };
	int saved = errno;
	bool fresh = o && o->forks == io.forks;
	if (fd < 0 || io_lock()) {
		errno = saved;
		return NULL;
	}
	if (fresh && !o->known)
		(void)know(o, fd);
	else if (!fresh)
		o = know(&seen, fd) == 0 ? found(fd, &seen) : NULL;
	io_unlock();
	errno = saved;
	return o;
}

uint32_t io_handle_of(int fd)
{
	return io_number(io_open_of(fd));
}

/* ---- closing ------------------------------------------------------------------------------------
 */

/* Its number is free for others as soon as the kernel has closed it, so it is forgotten before. */
void io_close_begin(struct io_closing *c, int fd)
{
	struct io_open **slot = io_slot(fd), *o = slot ? GET_ACQUIRE(*slot) : NULL;
	if (!o || o->forks != io.forks) {
		o = io_open_slow(fd);
		slot = io_slot(fd);
		o = slot ? GET_ACQUIRE(*slot) : NULL;
	}
	c->open = slot && o ? __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL) : NULL;
	io_changed();
	c->number = c->open ? c->open->number : 0;
	c->hidden = c->open && c->open->hidden;
}

void io_close_end(const struct io_closing *c)
{
	int saved = errno;
	if (c->open && io_lock() == 0) {
		forget(c->open);
		io_unlock();
	}
	errno = saved;
}

void io_close_unseen(int fd)
{
	struct io_open **slot = io_slot(fd);
	if (slot && !io_self.vforked) {
		(void)__atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
		io_changed();
	}
}

/* ---- telling ------------------------------------------------------------------------------------
 */

static void tell(struct io_open *o)
{
	struct io_open **slot = io_slot(o->fd);
	if (!o->known && !o->closed && slot && GET_ACQUIRE(*slot) == o)
		(void)know(o, o->fd);
	const struct io_handle_info h = {
		.number = o->number,
		.path = o->path,
		.type = (enum io_file_type)o->type,
		.interface = (enum io_interface)o->interface,
		.flags = o->flags,
		.device = o->device,
		.inode = o->inode,
		.was_open = o->was_open,
	};
	io_take_handle(&h);
	o->told = true;
}

void io_handles_tell(void)
{
	int saved = errno;
	struct io_open *o = untold;
	untold = NULL;
	untold_end = &untold;
	while (o) {
		struct io_open *next = o->next;
		tell(o);
		if (o->closed)
			open_free(o);
		o = next;
	}
	errno = saved;
}

static void take_new(void *of)
{
	io_handles_tell();
	io_take_handle(of);
}

uint32_t io_handle_new(const struct io_handle_info *info)
{
	int saved = errno;
	uint32_t handle = 0;
	if (io_lock_look() == 0) {
		struct io_handle_info h = *info;
		h.number = handle = ++io.handles;
		io_apart(take_new, &h);
		io_unlock();
	}
	errno = saved;
	return handle;
}

/* ---- forks --------------------------------------------------------------------------------------
 */

void io_handle_fork(void)
{
	times_forked++;
}

/* The table stays: what is in it is found again, as what was open, when it is used. */
void io_handle_child(void)
{
	untold = NULL;
	untold_end = &untold;
	shared = NULL;
	places = free_places = NULL;
	n_places = 0;
}
