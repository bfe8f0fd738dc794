#define _GNU_SOURCE
#include "node/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MOST 4096 /* programs have about a dozen */
#define INTERPRETERS_MOST 5

/* Where the segments are; 64 and 32 bits differ in the widths alone. */
struct segments {
	uint64_t at;
	unsigned n, bytes; /* of each */
};

static bool own_order(const unsigned char *id)
{
	const unsigned char own =
		__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
	return id[EI_DATA] == own;
}

static bool find_segments(struct segments *s, const unsigned char *head, size_t n)
{
	if (head[EI_CLASS] == ELFCLASS64 && n >= sizeof(Elf64_Ehdr)) {
		Elf64_Ehdr h;
		memcpy(&h, head, sizeof h);
		*s = (struct segments){ h.e_phoff, h.e_phnum, h.e_phentsize };
		return s->bytes >= sizeof(Elf64_Phdr);
	}
	if (head[EI_CLASS] == ELFCLASS32 && n >= sizeof(Elf32_Ehdr)) {
		Elf32_Ehdr h;
		memcpy(&h, head, sizeof h);
		*s = (struct segments){ h.e_phoff, h.e_phnum, h.e_phentsize };
		return s->bytes >= sizeof(Elf32_Phdr);
	}
	return false;
}

/* Whether there is a loader's name; a type is the first word of each segment in both widths. */
static enum program_kind kind_of_elf(int fd, const unsigned char *head, size_t n)
{
	struct segments s;
	if (n < EI_NIDENT || !own_order(head) || !find_segments(&s, head, n) ||
	    s.n > SEGMENTS_MOST || s.at > INT64_MAX / 2)
		return PROGRAM_UNKNOWN;
	for (unsigned i = 0; i < s.n; i++) {
		uint32_t type;
		off_t at = (off_t)(s.at + (uint64_t)i * s.bytes);
		if (pread(fd, &type, sizeof type, at) != sizeof type)
			return PROGRAM_UNKNOWN;
		if (type == PT_INTERP)
			return PROGRAM_DYNAMIC;
	}
	return s.n ? PROGRAM_STATIC : PROGRAM_UNKNOWN;
}

static enum program_kind kind_of(int fd)
{
	unsigned char head[sizeof(Elf64_Ehdr)];
	ssize_t n = pread(fd, head, sizeof head, 0);
	if (n >= 2 && memcmp(head, "#!", 2) == 0)
		return PROGRAM_SCRIPT;
	if (n < (ssize_t)SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)
		return PROGRAM_UNKNOWN;
	enum program_kind kind = kind_of_elf(fd, head, (size_t)n);
	struct stat s;
	if (kind == PROGRAM_DYNAMIC && fstat(fd, &s) == 0 &&
	    ((s.st_mode & S_ISUID && s.st_uid != getuid()) ||
	     (s.st_mode & S_ISGID && s.st_gid != getgid())))
		return PROGRAM_SETUID;
	return kind;
}

enum program_kind program_kind_of(const char *path)
{
	/* NONBLOCK: it may be a pipe that nobody writes to. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return PROGRAM_UNKNOWN;
	enum program_kind kind = kind_of(fd);
	(void)close(fd);
	return kind;
}

/* "#!  /bin/sh -e": "/bin/sh". As the kernel does, from the first 256 bytes alone. */
static bool interpreter_of(const char *path, char *ret, size_t n)
{
	char head[257] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : pread(fd, head, sizeof head - 1, 0);
	if (fd >= 0)
		(void)close(fd);
	if (got < 3 || memcmp(head, "#!", 2) != 0)
		return false;
	const char *from = head + 2 + strspn(head + 2, " \t");
	size_t len = strcspn(from, " \t\n");
	/* A name that is cut off is not taken for another one. */
	if (!len || len >= n || from + len == head + sizeof head - 1)
		return false;
	memcpy(ret, from, len);
	ret[len] = '\0';
	return true;
}

static const char *why_not(enum program_kind kind)
{
	switch (kind) {
	case PROGRAM_STATIC:
		return "is linked statically: nothing can be preloaded into it";
	case PROGRAM_SETUID:
		return "runs as another user or group (set-user-id): nothing is preloaded into it";
	case PROGRAM_UNKNOWN:
	case PROGRAM_DYNAMIC:
	case PROGRAM_SCRIPT:
		break;
	}
	return NULL;
}

bool program_unreachable(char *ret, size_t n, const char *path)
{
	char at[PATH_MAX], next[PATH_MAX];
	enum program_kind kind = program_kind_of(path);
	const char *why = why_not(kind);
	(void)snprintf(at, sizeof at, "%s", path);
	/* An interpreter may be a script itself; the kernel follows that five times. */
	for (int i = 0; i < INTERPRETERS_MOST && kind == PROGRAM_SCRIPT; i++) {
		if (!interpreter_of(at, next, sizeof next))
			return false;
		(void)snprintf(at, sizeof at, "%s", next);
		kind = program_kind_of(at);
		why = why_not(kind);
	}
	if (!why)
		return false;
	if (strcmp(at, path) == 0)
		(void)snprintf(ret, n, "%s %s", path, why);
	else
		(void)snprintf(ret, n, "%s is a script of %s, which %s", path, at, why);
	return true;
}
