/* Folders in which logs appear: the agent's own, where processes put theirs that have no other
 * place, and those of the configuration. Shared by folder.c (who is in them) and folder_loss.c
 * (what was left there by processes without a log). */
#ifndef AGENT_FOLDER_H
#define AGENT_FOLDER_H

#include <dirent.h>

#include "agent/impl.h"

/* 64-bit keys of what was dealt with: files whose final is durable, sentences that were told. */
struct taken {
	uint64_t *keys; /* open addressing; 0: free */
	size_t n, cap;
	int fd; /* appended to, for the next life; -1: none */
};

struct folder {
	struct folder *next;
	struct agent *agent;
	char *path;
	int fd; /* of the folder, -1: it is not there */
	int watch;
	bool own;
	bool more;               /* something in it had no room */
	bool crowded;            /* more of one user's are in it than its share allows */
	int64_t again_ns;        /* when it is worth a look whether it still is; 0: not yet */
	char held[256];          /* what is to be taken next of scan, "": to be read */
	DIR *scan;               /* being read */
	struct timespec changed; /* when the last reading began: its mtime */
	bool listed;             /* in the configuration, as it is now */
	int64_t tell_ns;         /* when to look at what was left there by processes; 0: not */
	int64_t told_ns;         /* when that was done */
};

struct folders {
	struct folder *first;
	struct taken taken;
	uv_poll_t events;
	int inotify;
	bool watching;   /* events is open */
	int64_t more_ns; /* when to look for room again */
};

bool taken_has(const struct taken *t, uint64_t key);
void taken_add(struct taken *t, uint64_t key);
int taken_open(struct taken *t, const char *folder, struct err *err);
void taken_close(struct taken *t);

/* A file or link of this name says what was lost. */
bool folder_loss_name(const char *name);
/* Tell what stands in losses, unattached and the links: now, or in a moment and not too often. */
void folder_losses_soon(struct folder *folder);
void folder_losses(struct folder *folder);
int folder_losses_make(struct folder *folder, struct err *err);

#endif
