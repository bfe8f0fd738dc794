#define _GNU_SOURCE
#include "node/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MOST 4096 /* programs have about a dozen */

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

const char *program_unreachable(const char *path)
{
	switch (program_kind_of(path)) {
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

bool program_find(char *ret, size_t n, const char *name)
{
	const char *at = getenv("PATH");
	if (strchr(name, '/'))
		return (size_t)snprintf(ret, n, "%s", name) < n;
	while (at) {
		size_t len = strcspn(at, ":");
		int wrote = len ? snprintf(ret, n, "%.*s/%s", (int)len, at, name)
				: snprintf(ret, n, "%s", name);
		if (wrote > 0 && (size_t)wrote < n && access(ret, X_OK) == 0)
			return true;
		at = at[len] ? at + len + 1 : NULL;
	}
	return false;
}
