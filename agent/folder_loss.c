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
#define MOMENT_NS INT64_C(100000000) /* for whoever speaks to come to an end */
#define PAUSE_NS INT64_C(1000000000) /* all may write there, as often as they like */

bool folder_loss_name(const char *name)
{
	return !strcmp(name, MARKLOG_LOSSES) || !strcmp(name, MARKLOG_UNATTACHED) ||
	       !strncmp(name, MARKLOG_LOSS_LINK, strlen(MARKLOG_LOSS_LINK));
}

void folder_losses_soon(struct folder *folder)
{
	int64_t soon = agent_now() + MOMENT_NS, pause = folder->told_ns + PAUSE_NS;
	if (!folder->tell_ns)
		folder->tell_ns = soon > pause ? soon : pause;
}

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
	if (!more && agent_may_say(a))
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

/* In our own folder, what was told goes. A link that was made while others were read was not. */
static void clear(struct folder *folder, int64_t before_real_ns)
{
	struct stat st;
	DIR *all = opendir(folder->path);
	const struct dirent *e;
	while (all && (e = readdir(all)))
		if (!strncmp(e->d_name, MARKLOG_LOSS_LINK, strlen(MARKLOG_LOSS_LINK)) &&
		    !fstatat(folder->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec < before_real_ns)
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

/* In our own folder somebody may have put one in their place while there was none. */
static bool be_plain(struct folder *folder, const char *name)
{
	struct err err;
	if (plain(folder, name))
		return true;
	if (!folder->own ||
	    (unlinkat(folder->fd, name, 0) && unlinkat(folder->fd, name, AT_REMOVEDIR)))
		return false;
	log_warn("%s/%s: it was no file, and is gone", folder->path, name);
	return !folder_losses_make(folder, &err);
}

void folder_losses(struct folder *folder)
{
	struct arena arena = { .max_bytes = 8u << 20 };
	struct txts sentences = { .n = 0 };
	struct err err = { .text = "" };
	int64_t before_real_ns = agent_real() - MOMENT_NS / 2;
	folder->tell_ns = 0;
	folder->told_ns = agent_now();
	if (folder->fd < 0 || !be_plain(folder, MARKLOG_LOSSES) ||
	    !be_plain(folder, MARKLOG_UNATTACHED))
		return;
	if (marklog_losses_read(folder->path, &arena, &sentences, &err))
		tell(folder, err.text);
	for (size_t i = 0; i < sentences.n; i++)
		tell(folder, sentences.items[i]);
	arena_free(&arena);
	if (folder->own)
		clear(folder, before_real_ns);
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
