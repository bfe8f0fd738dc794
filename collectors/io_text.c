/* Texts by number, and paths made absolute. Only a hash of each text is kept: two of 64 bits are
 * the same once in 10^8 processes that have a million texts. */
#include "collectors/io_wrap.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FIRST_SLOTS ((size_t)1 << 10)
#define MOST_SLOTS ((size_t)1 << 20) /* 16 MiB, for 700,000 texts */

struct text {
	uint64_t hash; /* 0: free */
	uint32_t number;
	uint32_t bytes : 31, hidden : 1; /* one of our own files */
};

/* All of it with the lock. */
IO_HOT_DATA static struct text *texts = NULL;
IO_HOT_DATA static size_t n_slots = 0, n_texts = 0;
static char cwd[PATH_MAX], folder[PATH_MAX], whole[2 * PATH_MAX];
static size_t cwd_bytes; /* 0: to be asked for */
static uint32_t folder_handle;
static size_t folder_bytes;
static char hidden[PATH_MAX]; /* where the logs and pictures are, "" unknown */
IO_HOT_DATA static size_t hidden_bytes = 0;

/* ---- numbers ------------------------------------------------------------------------------------
 */

IO_HOT static uint64_t hash_of(const char *p, size_t n)
{
	uint64_t h = UINT64_C(0x9E3779B97F4A7C15) ^ n, word;
	for (; n >= sizeof word; p += sizeof word, n -= sizeof word) {
		memcpy(&word, p, sizeof word);
		h = (h ^ word) * UINT64_C(0xD6E8FEB86659FD93);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, p, n);
	h = (h ^ word) * UINT64_C(0xD6E8FEB86659FD93);
	h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	h ^= h >> 32;
	return h ? h : 1;
}

IO_HOT static struct text *find(struct text *in, size_t n, uint64_t hash, size_t bytes)
{
	size_t i = hash & (n - 1);
	while (in[i].hash && (in[i].hash != hash || in[i].bytes != bytes))
		i = (i + 1) & (n - 1);
	return &in[i];
}

static bool grow(void)
{
	size_t more = n_slots ? n_slots * 4 : FIRST_SLOTS;
	struct text *to = more <= MOST_SLOTS ? io_map(more * sizeof *to, false) : NULL;
	if (!to)
		return false;
	for (size_t i = 0; i < n_slots; i++)
		if (texts[i].hash)
			*find(to, more, texts[i].hash, texts[i].bytes) = texts[i];
	if (texts)
		(void)syscall(SYS_munmap, texts, n_slots * sizeof *texts);
	texts = to;
	n_slots = more;
	return true;
}

/* Texts from before the takers begin wait here: number, bytes, text. */
static char early[16 << 10];
static size_t early_bytes;

struct told {
	uint32_t number, bytes;
	const char *text;
};

static void take(void *of)
{
	const struct told *t = of;
	io_take_text(t->number, t->text, t->bytes);
}

static bool tell(const struct text *t, const char *text)
{
	uint32_t head[2] = { t->number, t->bytes };
	if (GET(io.stage) == IO_RUNS) {
		struct told told = { t->number, t->bytes, text };
		io_apart(take, &told);
		return true;
	}
	if (sizeof early - early_bytes < sizeof head + t->bytes)
		return false;
	memcpy(early + early_bytes, head, sizeof head);
	memcpy(early + early_bytes + sizeof head, text, t->bytes);
	early_bytes += sizeof head + t->bytes;
	return true;
}

void io_text_begin(void)
{
	uint32_t head[2];
	for (size_t at = 0; at < early_bytes; at += sizeof head + head[1]) {
		memcpy(head, early + at, sizeof head);
		io_take_text(head[0], early + at + sizeof head, head[1]);
	}
	early_bytes = 0;
}

IO_HOT static bool is_hidden(const char *path, size_t n)
{
	return hidden_bytes && n > hidden_bytes && path[hidden_bytes] == '/' &&
	       memcmp(path, hidden, hidden_bytes) == 0;
}

/* Whether it is hidden is beside its number: one place less to look at. */
IO_HOT static struct io_named named_of(const char *text, size_t bytes)
{
	if (n_texts * 3 >= n_slots * 2) {
		io_changes();
		if (!grow() && n_texts + 1 >= n_slots)
			return (struct io_named){ .hidden = is_hidden(text, bytes) };
	}
	uint64_t hash = hash_of(text, bytes);
	struct text *t = find(texts, n_slots, hash, bytes);
	if (!t->hash) {
		const struct text made = { .hash = hash,
					   .number = (uint32_t)n_texts + 1,
					   .bytes = (uint32_t)bytes & INT32_MAX,
					   .hidden = is_hidden(text, bytes) };
		if (n_texts * 4 >= n_slots * 3 || !tell(&made, text))
			return (struct io_named){ .hidden = made.hidden };
		io_changes();
		*t = made;
		n_texts++;
	}
	return (struct io_named){ .text = t->number, .hidden = t->hidden };
}

uint32_t io_text_n(const char *text, size_t bytes)
{
	int saved = errno;
	uint32_t number = 0;
	if (text && io_lock_look() == 0) {
		number = named_of(text, bytes).text;
		io_unlock();
	}
	errno = saved;
	return number;
}

uint32_t io_text(const char *text)
{
	return text ? io_text_n(text, strlen(text)) : 0;
}

/* ---- paths --------------------------------------------------------------------------------------
 */

void io_cwd_changed(void)
{
	PUT(cwd_bytes, 0);
}

static size_t cwd_get(const char **ret)
{
	if (!GET(cwd_bytes)) {
		long n = syscall(SYS_getcwd, cwd, sizeof cwd); /* with its 0 */
		PUT(cwd_bytes, n > 1 && cwd[0] == '/' ? (size_t)n - 1 : 0);
	}
	*ret = cwd;
	return GET(cwd_bytes);
}

/* It is about to change, and what is named by it is told afterwards. */
void io_cwd_keep(void)
{
	const char *at;
	int saved = errno;
	if (io_lock() == 0) {
		(void)cwd_get(&at);
		io_unlock();
	}
	errno = saved;
}

/* The last one is kept: whoever uses such paths does so many times with the same folder. */
static size_t folder_get(int at, const char **ret)
{
	struct io_open **slot = io_slot(at);
	const struct io_open *o = slot ? GET_ACQUIRE(*slot) : NULL;
	*ret = folder;
	if (o && o->number == folder_handle && o->forks == io.forks && folder_bytes)
		return folder_bytes;
	char link[32];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", at);
	long n = syscall(SYS_readlinkat, AT_FDCWD, link, folder, sizeof folder - 1);
	folder_bytes = n > 0 && folder[0] == '/' ? (size_t)n : 0;
	folder_handle = o && o->forks == io.forks ? o->number : 0;
	if (!folder_handle) { /* it could be closed without our knowing which it was */
		size_t bytes = folder_bytes;
		folder_bytes = 0;
		return bytes;
	}
	return folder_bytes;
}

/* Links are not followed; only "./" and double slashes go. */
static size_t clean(char *path, size_t n)
{
	size_t to = 0;
	for (size_t i = 0; i < n; i++) {
		if (path[i] == '/' && to && path[to - 1] == '/')
			continue;
		bool dot = path[i] == '.' && to && path[to - 1] == '/' &&
			   (i + 1 == n || path[i + 1] == '/');
		if (dot)
			continue;
		path[to++] = path[i];
	}
	return to > 1 && path[to - 1] == '/' ? to - 1 : to;
}

/* Most have nothing that clean would take away. */
IO_HOT static bool is_clean(const char *path, size_t n)
{
	const char *end = path + n, *at = path;
	while (n && (at = memchr(at, '/', (size_t)(end - at)))) {
		if (++at == end)
			return n == 1;
		if (*at == '/' || (*at == '.' && (at + 1 == end || at[1] == '/')))
			return false;
	}
	return true;
}

IO_HOT static struct io_named name_of(int at, const char *path, size_t n)
{
	const char *in = NULL;
	size_t before = 0;
	if (n >= PATH_MAX || (!n && at == AT_FDCWD))
		return (struct io_named){ 0 };
	if (path[0] == '/' && is_clean(path, n))
		return named_of(path, n);
	if (path[0] != '/') {
		before = at == AT_FDCWD ? cwd_get(&in) : folder_get(at, &in);
		if (!before || before + 1 + n >= sizeof whole)
			return (struct io_named){ .text = named_of(path, n).text };
		memcpy(whole, in, before);
		whole[before++] = '/';
	}
	memcpy(whole + before, path, n);
	n += before;
	if (!is_clean(whole, n))
		n = clean(whole, n);
	return named_of(whole, n);
}

struct io_named io_name_locked(const char *path)
{
	return name_of(AT_FDCWD, path, strlen(path));
}

IO_HOT struct io_named io_name(int at, const char *path)
{
	struct io_named named = { 0 };
	int saved = errno;
	if (path && io_lock_look() == 0) {
		named = name_of(at, path, strlen(path));
		io_unlock();
	}
	errno = saved;
	return named;
}

/* Has the kernel read it, or at least the first of two? */
static bool was_read(int64_t result, bool second)
{
	switch (result) {
	case -EINVAL: /* flags and modes are looked at first */
	case -EPERM:
	case -ENOSYS:
	case -EBADF:
	case -EOPNOTSUPP:
		return false;
	default:
		return result >= 0 || !second;
	}
}

/* The kernel is asked to read it; 0: it can't, or it is too long. With the lock. */
static size_t read_in(char *to, size_t room, const char *path)
{
	for (size_t n = 0; n < room;) {
		size_t some = 4096 - (uintptr_t)(path + n) % 4096;
		some = some < room - n ? some : room - n;
		struct iovec here = { to + n, some },
			     there = { (void *)(uintptr_t)(path + n), some };
		if (syscall(SYS_process_vm_readv, io.pid, &here, 1L, &there, 1L, 0L) != (long)some)
			return 0;
		const char *end = memchr(to + n, 0, some);
		if (end)
			return (size_t)(end - to);
		n += some;
	}
	return 0;
}

struct io_named io_name_after(int64_t result, int at, const char *path, bool second)
{
	static char copy[PATH_MAX];
	struct io_named named = { 0 };
	int saved = errno;
	if (was_read(result, second))
		return result == -EFAULT ? named : io_name(at, path);
	if (path && io_lock() == 0) {
		size_t n = read_in(copy, sizeof copy, path);
		if (n)
			named = name_of(at, copy, n);
		io_unlock();
	}
	errno = saved;
	return named;
}

uint32_t io_path(int at, const char *path)
{
	return io_name(at, path).text;
}

/* Files of ours that libraries of ours open in this program by way of it: marks, ranges. */
void io_text_start(void)
{
	const char *logs = getenv("ROIMETER_LOG"), *in = NULL;
	size_t n = logs ? strlen(logs) : 0, before = 0;
	if (!n || n >= PATH_MAX / 2)
		return;
	if (logs[0] != '/')
		before = cwd_get(&in);
	if (before >= PATH_MAX / 2)
		return;
	memcpy(hidden, in ? in : "", before);
	if (before)
		hidden[before++] = '/';
	memcpy(hidden + before, logs, n);
	hidden_bytes = clean(hidden, before + n);
}

void io_text_child(void)
{
	if (texts)
		(void)syscall(SYS_munmap, texts, n_slots * sizeof *texts);
	texts = NULL;
	n_slots = n_texts = early_bytes = 0;
	folder_bytes = cwd_bytes = 0;
}
