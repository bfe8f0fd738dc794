/* The spool when the power goes: of every file there is what its last sync says, or any later
 * state, and names made or deleted since the folder was last synced may be there or not. The disk
 * is played: syncs are caught and what was in the file then is remembered. */
/* wrap: fdatasync fsync */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/file.h"
#include "lib/spool_impl.h"
#include "tests/unit/spool_model.h"

#define LIVES 150
#define MAX_FILES 256

int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

static char folder[64];

/* What the disk holds for sure. */
struct kept {
	char name[64];
	struct buf bytes; /* as of its last sync */
	bool named;       /* the folder was synced with this name in it */
	bool seen;
};
static struct kept kept[MAX_FILES];
static size_t n_kept;

static struct kept *kept_of(const char *name)
{
	for (size_t i = 0; i < n_kept; i++)
		if (!strcmp(kept[i].name, name))
			return &kept[i];
	assert_true(n_kept < MAX_FILES);
	struct kept *k = &kept[n_kept++];
	*k = (struct kept){ .seen = false };
	(void)snprintf(k->name, sizeof k->name, "%s", name);
	return k;
}

static void read_now(const char *name, struct buf *b)
{
	char path[160];
	b->len = 0;
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(file_read(b, path, NULL), 0);
}

int __wrap_fdatasync(int fd)
{
	char link[64], path[160];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	assert_true(n > 0);
	path[n] = 0;
	char *name = strrchr(path, '/') + 1;
	struct kept *k = kept_of(strcmp(name, "state.new") ? name : "state");
	if (!strstr(name, " (deleted)"))
		read_now(name, &k->bytes);
	return 0;
}

/* Calls what each name that is there now: the folder was synced. */
int __wrap_fsync(int fd)
{
	(void)fd;
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	for (size_t i = 0; i < n_kept; i++)
		kept[i].named = false;
	for (struct dirent *e; (e = readdir(dir));)
		if (strstr(e->d_name, ".seg") || !strcmp(e->d_name, "state"))
			kept_of(e->d_name)->named = true;
	(void)closedir(dir);
	return 0;
}

static void put_file(const char *name, const char *bytes, size_t n)
{
	char path[160];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, bytes, n), n);
	(void)close(fd);
}

/* A segment: what was synced, and of the rest as much as reached the disk, maybe with its last
 * bytes still zero. The state: each slot by itself as it was, or as it is. */
static void after_the_cut(const struct kept *k, struct buf *now, struct dice *d)
{
	if (!strcmp(k->name, "state")) {
		for (size_t slot = 0; slot < 2; slot++) {
			size_t at = slot * STATE_SLOT_BYTES;
			if (below(d, 2) && k->bytes.len >= at + STATE_BYTES)
				memcpy(now->data + at, k->bytes.data + at, STATE_BYTES);
		}
		put_file(k->name, now->data, now->len);
		return;
	}
	size_t more = now->len > k->bytes.len ? now->len - k->bytes.len : 0;
	size_t n = k->bytes.len + below(d, more + 1);
	size_t zero = below(d, 3) ? 0 : below(d, n - k->bytes.len + 1);
	memset(now->data + n - zero, 0, zero);
	put_file(k->name, now->data, n);
}

static void power_cut(struct dice *d)
{
	struct buf now = { 0 };
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	for (size_t i = 0; i < n_kept; i++)
		kept[i].seen = false;
	for (struct dirent *e; (e = readdir(dir));) {
		if (!strstr(e->d_name, ".seg") && strcmp(e->d_name, "state") != 0)
			continue;
		struct kept *k = kept_of(e->d_name);
		k->seen = true;
		if (!k->named && below(d, 2)) {
			assert_int_equal(unlinkat(dirfd(dir), k->name, 0), 0);
			continue;
		}
		read_now(k->name, &now);
		after_the_cut(k, &now, d);
	}
	(void)closedir(dir);
	for (size_t i = 0; i < n_kept; i++) /* deleted, and the disk does not know yet */
		if (kept[i].named && !kept[i].seen && below(d, 2))
			put_file(kept[i].name, kept[i].bytes.data, kept[i].bytes.len);
	buf_done(&now);
}

/* The disk is what is there now. */
static void power_on(void)
{
	for (size_t i = 0; i < n_kept; i++)
		buf_done(&kept[i].bytes);
	n_kept = 0;
	(void)__wrap_fsync(-1);
	for (size_t i = 0; i < n_kept; i++)
		read_now(kept[i].name, &kept[i].bytes);
}

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/roimeter-spool-power.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_kept; i++)
		buf_done(&kept[i].bytes);
	return file_remove_tree(folder, NULL);
}

static void a_life(struct model *m, struct dice *d)
{
	struct spool *s = NULL;
	assert_int_equal(spool_open(&s, folder, SPOOL_MIN_BYTES, 3000, NULL), 0);
	model_opened(m, s);
	uint64_t durable_ack = m->acked;
	for (size_t i = below(d, 300); i; i--) {
		uint64_t synced = m->synced;
		model_step(m, s, d);
		if (m->synced != synced)
			durable_ack = m->acked;
	}
	m->acked = durable_ack; /* an answer that came after the last sync may be forgotten */
	spool_close(s);
}

static void what_was_promised_outlives_the_power(void **state)
{
	(void)state;
	struct dice d = { 77 };
	struct model m = { .acked = 0 };
	model_excused = calloc(LIVES * 400, 1);
	assert_non_null(model_excused);
	for (int life = 0; life < LIVES; life++) {
		a_life(&m, &d);
		power_cut(&d);
		power_on();
	}
	print_message("# %llu synced, %llu acknowledged, %llu dropped\n",
		      (unsigned long long)m.synced, (unsigned long long)m.acked,
		      (unsigned long long)m.dropped_seen);
	assert_true(m.synced > 10 * LIVES && m.acked > 0 && m.dropped_seen > 0);
	free(model_excused);
}

int main(void)
{
	(void)alarm(110);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_promised_outlives_the_power, make_folder,
						remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
