/* What processes say that could not make their log, or had no marker library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "agent/folder.h"
#include "lib/log.h"

#define UNATTACHED_LARGE (512 << 10) /* it can't be read any more past 1 MiB */

/* One sentence, once. A number of entries at its end may grow; that is not another process. */
static void tell(struct folder *folder, const char *sentence)
{
	struct agent *a = folder->agent;
	const char *number = strstr(sentence, "; ");
	uint64_t who = XXH3_64bits_withSeed(
		sentence, number ? (size_t)(number - sentence) : strlen(sentence), 1);
	uint64_t all = XXH3_64bits_withSeed(sentence, strlen(sentence), 2);
	if (taken_has(&a->folders->taken, all))
		return;
	taken_add(&a->folders->taken, all);
	bool more = taken_has(&a->folders->taken, who);
	taken_add(&a->folders->taken, who);
	const struct outbox_loss loss = {
		.what = "marks",
		.why = "refused",
		.count = more ? 0 : 1,
		.from_real_ns = agent_real(),
		.to_real_ns = agent_real(),
		.text = sentence,
	};
	outbox_lose(a->outbox, &loss);
	if (!more)
		log_warn("folder %s: %s", folder->path, sentence);
}

static bool all_gone(const struct marklog_losses *l)
{
	for (size_t i = 0; i < MARKLOG_LOSS_SLOTS; i++)
		if (l->slots[i].used && (!kill((pid_t)l->slots[i].pid, 0) || errno != ESRCH))
			return false;
	return true;
}

/* All slots are used, and nobody counts in them any more: a new file has room. */
static void renew_losses(struct folder *folder)
{
	struct marklog_losses l;
	int fd = openat(folder->fd, MARKLOG_LOSSES, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = pread(fd, &l, sizeof l, 0);
	(void)close(fd);
	if (n != (ssize_t)sizeof l || l.next < MARKLOG_LOSS_SLOTS || !all_gone(&l))
		return;
	struct err err;
	if (unlinkat(folder->fd, MARKLOG_LOSSES, 0) || folder_losses_make(folder, &err))
		log_warn("folder %s: make its file of losses anew: %s", folder->path,
			 strerror(errno));
}

/* In our own folder, what was told goes. */
static void clear(struct folder *folder)
{
	struct stat st;
	DIR *all = opendir(folder->path);
	const struct dirent *e;
	while (all && (e = readdir(all)))
		if (!strncmp(e->d_name, MARKLOG_LOSS_LINK, strlen(MARKLOG_LOSS_LINK)))
			(void)unlinkat(folder->fd, e->d_name, 0);
	if (all)
		(void)closedir(all);
	if (!fstatat(folder->fd, MARKLOG_UNATTACHED, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_size > UNATTACHED_LARGE) {
		/* Not each time: that it was closed is an event, and we are told of it. */
		int fd = openat(folder->fd, MARKLOG_UNATTACHED,
				O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			(void)close(fd);
	}
	renew_losses(folder);
}

/* Links and pipes of these names would be followed, or waited for. */
static bool plain(const struct folder *folder, const char *name)
{
	struct stat st;
	return fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) || S_ISREG(st.st_mode);
}

void folder_losses(struct folder *folder)
{
	struct arena arena = { .max_bytes = 8u << 20 };
	struct txts sentences = { .n = 0 };
	struct err err = { .text = "" };
	if (folder->fd < 0 || !plain(folder, MARKLOG_LOSSES) || !plain(folder, MARKLOG_UNATTACHED))
		return;
	if (marklog_losses_read(folder->path, &arena, &sentences, &err))
		tell(folder, err.text);
	for (size_t i = 0; i < sentences.n; i++)
		tell(folder, sentences.items[i]);
	arena_free(&arena);
	if (folder->own)
		clear(folder);
}

/* Both files are there before anybody needs them: their user may then not be able to make any, and
 * nobody else can put a link or a pipe in their place. */
int folder_losses_make(struct folder *folder, struct err *err)
{
	int fd = openat(folder->fd, MARKLOG_UNATTACHED,
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd >= 0) {
		(void)fchmod(fd, 0666); /* the umask took a part; where it is another's: left so */
		(void)close(fd);
	}
	int rc = marklog_losses_create(folder->path, err);
	if (rc == -EEXIST)
		return 0;
	if (!rc && fchmodat(folder->fd, MARKLOG_LOSSES, 0666, 0))
		rc = err_set(err, -errno, "%s/" MARKLOG_LOSSES ": %s", folder->path,
			     strerror(errno));
	return rc;
}
