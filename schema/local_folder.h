/* A file in the folder that the agent has for those who have no other place. In a header, since
 * libroimeter (marker) links nothing else of ours. */
#ifndef SCHEMA_LOCAL_FOLDER_H
#define SCHEMA_LOCAL_FOLDER_H

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOCAL_LEFT_ALONE (UINT64_C(1) << 30) /* bytes of the agent's disk */

/* May this new file grow there? The folder is shared by all of the node, and mostly memory: half of
 * it (of a large one LOCAL_LEFT_ALONE) is not for us, or those who go on while no agent empties it
 * would fill it. What is of another group than ours there is so that the agent may read it, and
 * nobody else needs to: sets the file's mode. 0, -ENOSPC, or what the calls say. */
static inline int local_folder_take(int fd)
{
	struct statvfs disk;
	struct stat st;
	if (fstatvfs(fd, &disk) || fstat(fd, &st))
		return -errno;
	uint64_t left = (uint64_t)disk.f_blocks * disk.f_frsize / 2;
	if (left > LOCAL_LEFT_ALONE)
		left = LOCAL_LEFT_ALONE;
	if ((uint64_t)disk.f_bavail * disk.f_frsize < left)
		return -ENOSPC;
	if (st.st_gid != getegid() && fchmod(fd, 0640))
		return -errno;
	return 0;
}

#endif
