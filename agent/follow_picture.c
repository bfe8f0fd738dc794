/* What collectors leave of processes, followed as logs are: looked at, sent when it is another, and
 * once more when its process has ended. It is made anew beside its place each time, and renamed. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "agent/impl.h"
#include "lib/num.h"
#include "schema/iopicture.h"
#include "schema/picture.h"

int picture_who(struct markpeek_who *ret, bool *ret_final, struct arena *a, int fd, void *scratch,
		struct err *err)
{
	struct picture_head p;
	a->max_bytes = 1u << 20; /* of a head of 64 KiB */
	ssize_t n = pread(fd, scratch, PICTURE_HEAD, 0);
	if (n < 0)
		return err_set(err, -EIO, "read a picture: %s", strerror(errno));
	int rc = picture_head_peek(&p, a, scratch, (size_t)n, err);
	if (rc)
		return rc == -ENOMEM ? rc : -EINVAL;
	*ret_final = p.final == YES;
	*ret = (struct markpeek_who){
		.host = str_of(p.host),
		.exe = str_of(p.exe),
		.rank = str_of(p.rank),
		.run = str_of(p.run),
		.exec = str_of(p.exec),
		.boot_id = str_of(p.boot),
		.stream = str_of(p.stream),
	};
	return 0;
}

/* The newest, as far as it is there: in a folder that is not the agent's, somebody may have taken
 * it away; then the last that was seen counts. */
static int newest(struct follow *f, struct stat *st)
{
	int fd = folder_open(f->folder, f->file);
	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == f->core.uid &&
	    (st->st_dev != f->dev || st->st_ino != f->ino))
		follow_refile(f, fd, st);
	else if (fd >= 0)
		(void)close(fd);
	return fstat(f->fd, st) ? -errno : 0;
}

int picture_look(struct follow *f, struct core_look *ret)
{
	struct stat st;
	struct markpeek_who who;
	struct arena a = { .blocks = NULL };
	ino_t before = f->ino;
	int rc = newest(f, &st);
	if (rc)
		return rc;
	const uint64_t parts[] = { (uint64_t)st.st_ino, (uint64_t)st.st_size,
				   (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec };
	/* Whether it is the last only counts where nobody can see the process. */
	if (f->core.unwatched && f->ino != before)
		(void)picture_who(&who, &f->exited, &a, f->fd, f->agent->scratch, NULL);
	arena_free(&a);
	*ret = (struct core_look){ .state = XXH3_64bits(parts, sizeof parts), .exited = f->exited };
	return 0;
}

static void fill(const struct follow *f, struct frame_picture *p, bool final)
{
	*p = (struct frame_picture){
		.run = str_of(follow_run(f)),
		.exec = str_of(follow_exec(f)),
		.stream = str_of(f->of),
		.file = str_of(f->file),
		.snapshot = (uint64_t)agent_now(),
		.size = f->size,
		.final = final ? YES : NO,
		.real_ns = agent_real(),
		.host = str_of(f->host),
		.pid = f->pid ? f->pid : ROI_UNKNOWN,
		.uid = f->core.uid,
	};
}

static int send_pieces(struct follow *f, struct frame *x)
{
	struct agent *a = f->agent;
	struct frame_picture *p = &x->as.picture;
	uint64_t at = 0;
	do {
		size_t n = p->size - at < BATCH_CHUNK ? (size_t)(p->size - at) : BATCH_CHUNK;
		int rc = follow_read(f, a->scratch, n, at);
		if (rc)
			return rc;
		if (!follow_room(a)) /* what the outbox refuses is counted as lost */
			return -ENOSPC;
		p->offset = at;
		p->data = (struct str){ .p = (const char *)a->scratch, .n = n };
		rc = outbox_put(a->outbox, x, NULL);
		if (rc)
			return rc == -EBADMSG ? -EIO : rc;
		at += n;
	} while (at < p->size);
	return 0;
}

int picture_send(struct follow *f, bool final)
{
	struct frame x;
	struct stat st;
	if (!follow_room(f->agent))
		return -ENOSPC;
	int rc = newest(f, &st);
	if (rc)
		return rc;
	if (!follow_run(f)) { /* the run may have been announced since it was found */
		if (final)
			follow_lose(f, "refused",
				    "the run that its picture names is another user's: the picture "
				    "is not taken");
		return 0;
	}
	if (st.st_size > PICTURE_MAX_BYTES)
		return -EFBIG;
	f->size = (uint64_t)st.st_size;
	frame_clear(&x, FRAME_PICTURE);
	fill(f, &x.as.picture, final);
	return send_pieces(f, &x);
}
