/* The file of a capture, for who writes one: a sink (core/iocap_write.h) into FOLDER/NAME.iocap,
 * and beside it NAME.iocap-open with what is under way, removed at the end. System calls directly,
 * so that a library that watches libc's may use it; errno is kept. */
#ifndef SCHEMA_IOCAP_FILE_H
#define SCHEMA_IOCAP_FILE_H

#include <stddef.h>
#include <stdint.h>

#define IOCAP_PATH_BYTES 4096

/* ROIMETER_EXEC of a program of which a capture is wanted and nothing else: nobody counts then. */
#define IOCAP_EXEC_ALONE "profiled.capture"

struct iocap_file {
	/* The file, and the two beside it; a program may close what it does not know, so before
	 * each use it is looked whether it is still the same file. fd -1: not open. */
	struct {
		int fd;
		uint64_t device, inode;
	} at[3];
	uint64_t turn, bytes;
	char path[IOCAP_PATH_BYTES];
	char open_path[IOCAP_PATH_BYTES + 8];
};

/* A new file: -EEXIST when there is one. Negative errno. */
int iocap_file_open(struct iocap_file *f, const char *folder, const char *name);
int iocap_file_append(void *file, const void *bytes, size_t n);
int iocap_file_replace(void *file, const void *bytes, size_t n);
void iocap_file_close(
	struct iocap_file *f); /* keeps what is under way, where that was not emptied */
/* In a forked child: the files are the parent's. */
void iocap_file_forget(struct iocap_file *f);

#endif
