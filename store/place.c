/* File systems are known by the magic numbers of statfs(2). */
#define _GNU_SOURCE
#include "store/place.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

/* On all of these another machine may write to the same file, or locks and mmap are not what the
 * local kernel says. FUSE is among them since sshfs, GlusterFS, S3 and the like look the same. */
static const struct {
	uint32_t magic;
	const char *name;
} shared[] = {
	{ 0x00006969, "NFS" },
	{ 0x0000517b, "SMB" },
	{ 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB 2" },
	{ 0x0bd00bd0, "Lustre" },
	{ 0x47504653, "GPFS" },
	{ 0x00c36400, "CephFS" },
	{ 0x01021997, "9P" },
	{ 0x65735546, "FUSE" },
	{ 0x19830326, "BeeGFS" },
	{ 0x20030528, "OrangeFS" },
	{ 0xaad7aaea, "PanFS" },
	{ 0x01161970, "GFS2" },
	{ 0x7461636f, "OCFS2" },
	{ 0x5346414f, "AFS" },
	{ 0x6b414653, "AFS" },
	{ 0x73757245, "Coda" },
	{ 0x0000564c, "NCP" },
	{ 0x786f4256, "a VirtualBox shared folder" },
};

static void folder_of(char folder[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	if (!slash || n >= PATH_MAX)
		(void)snprintf(folder, PATH_MAX, ".");
	else if (n == 0)
		(void)snprintf(folder, PATH_MAX, "/");
	else
		(void)snprintf(folder, PATH_MAX, "%.*s", (int)n, path);
}

int place_check(const char *path, struct err *err)
{
	char folder[PATH_MAX];
	struct statfs fs;
	int rc = statfs(path, &fs);
	if (rc && errno == ENOENT) {
		folder_of(folder, path);
		rc = statfs(folder, &fs);
	}
	if (rc)
		return err_set(err, -errno, "store %s: %s", path, strerror(errno));
	for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
		if ((uint32_t)fs.f_type == shared[i].magic)
			return err_set(err, -EREMOTE,
				       "store %s: it lies on %s, where a database's locks do not "
				       "hold between machines; name a path on a local disk "
				       "(--db FILE, or [store] db = FILE)",
				       path, shared[i].name);
	return 0;
}
