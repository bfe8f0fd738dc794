/* Recorder's functions in our words. */
#include <string.h>

#include "import/recorder_map.h"
#include "schema/iopicture.h"

static const struct recorder_mapping mappings[] = {
	{ "creat", IO_creat, "01" },
	{ "open", IO_open, "012" },
	{ "close", IO_close, "0" },
	{ "write", IO_write, "0.1" },
	{ "read", IO_read, "0.1" },
	{ "lseek", IO_lseek, "012" },
	{ "pread", IO_pread, "0.12" },
	{ "pwrite", IO_pwrite, "0.12" },
	{ "readv", IO_readv, "0.2" },
	{ "writev", IO_writev, "0.2" },
	{ "mmap", IO_mmap, ".23401" },
	{ "msync", IO_msync, ".12" },
	{ "fopen", IO_fopen, "01" },
	{ "fdopen", IO_fdopen, "01" },
	{ "fclose", IO_fclose, "0" },
	{ "fwrite", IO_fwrite, ".**0" },
	{ "fread", IO_fread, ".**0" },
	{ "ftell", IO_ftell, "0" },
	{ "ftello", IO_ftell, "0" },
	{ "fseek", IO_fseek, "012" },
	{ "fseeko", IO_fseek, "012" },
	{ "fflush", IO_fflush, "0" },
	{ "vfprintf", IO_fprintf, "0r" },
	{ "fprintf", IO_fprintf, "0r" },
	{ "tmpfile", IO_tmpfile, "" },
	{ "fsync", IO_fsync, "0" },
	{ "fdatasync", IO_fdatasync, "0" },
	{ "__xstat", IO_stat, ".0." },
	{ "__lxstat", IO_lstat, ".0." },
	{ "__fxstat", IO_fstat, ".0." },
	{ "stat", IO_stat, "0." },
	{ "lstat", IO_lstat, "0." },
	{ "fstat", IO_fstat, "0." },
	{ "mkdir", IO_mkdir, "01" },
	{ "rmdir", IO_rmdir, "0" },
	{ "chdir", IO_chdir, "0" },
	{ "link", IO_link, "01" },
	{ "linkat", IO_link, ".0.1." },
	{ "unlink", IO_unlink, "0" },
	{ "symlink", IO_symlink, "01" },
	{ "symlinkat", IO_symlink, "0.1" },
	{ "readlink", IO_readlink, "0.." },
	{ "readlinkat", IO_readlink, ".0.." },
	{ "rename", IO_rename, "01" },
	{ "chmod", IO_chmod, "01" },
	{ "chown", IO_chown, "0.." },
	{ "lchown", IO_chown, "0.." },
	{ "utime", IO_utime, "0." },
	{ "opendir", IO_opendir, "0" },
	{ "readdir", IO_readdir, "0" },
	{ "closedir", IO_closedir, "0" },
	{ "mknod", IO_mknod, "01." },
	{ "mknodat", IO_mknod, ".01." },
	{ "mkfifo", IO_mknod, "01" },
	{ "fcntl", IO_fcntl, "012" },
	{ "dup", IO_dup, "0" },
	{ "dup2", IO_dup2, "01" },
	{ "access", IO_access, "01" },
	{ "faccessat", IO_access, ".01." },
	{ "remove", IO_remove, "0" },
	{ "truncate", IO_truncate, "01" },
	{ "ftruncate", IO_ftruncate, "01" },
	{ "MPI_File_open", IO_MPI_File_open, "012.=" },
	{ "MPI_File_close", IO_MPI_File_close, "0" },
	{ "MPI_File_set_size", IO_MPI_File_set_size, "01" },
	{ "MPI_File_get_size", IO_MPI_File_get_size, "0r" },
	{ "MPI_File_sync", IO_MPI_File_sync, "0" },
	{ "MPI_File_set_view", IO_MPI_File_set_view, "01234." },
	{ "MPI_File_seek", IO_MPI_File_seek, "012" },
	{ "MPI_File_seek_shared", IO_MPI_File_seek_shared, "012" },
	{ "MPI_File_read", IO_MPI_File_read, "0.23." },
	{ "MPI_File_write", IO_MPI_File_write, "0.23." },
	{ "MPI_File_read_all", IO_MPI_File_read_all, "0.23." },
	{ "MPI_File_write_all", IO_MPI_File_write_all, "0.23." },
	{ "MPI_File_read_shared", IO_MPI_File_read_shared, "0.23." },
	{ "MPI_File_write_shared", IO_MPI_File_write_shared, "0.23." },
	{ "MPI_File_read_ordered", IO_MPI_File_read_ordered, "0.23." },
	{ "MPI_File_write_ordered", IO_MPI_File_write_ordered, "0.23." },
	{ "MPI_File_iread", IO_MPI_File_iread, "0.23." },
	{ "MPI_File_iwrite", IO_MPI_File_iwrite, "0.23." },
	{ "MPI_File_iread_all", IO_MPI_File_iread_all, "0.23." },
	{ "MPI_File_iwrite_all", IO_MPI_File_iwrite_all, "0.23." },
	{ "MPI_File_iread_shared", IO_MPI_File_iread_shared, "0.23." },
	{ "MPI_File_iwrite_shared", IO_MPI_File_iwrite_shared, "0.23." },
	{ "MPI_File_read_all_begin", IO_MPI_File_read_all_begin, "0.23" },
	{ "MPI_File_write_all_begin", IO_MPI_File_write_all_begin, "0.23" },
	{ "MPI_File_read_ordered_begin", IO_MPI_File_read_ordered_begin, "0.23" },
	{ "MPI_File_write_ordered_begin", IO_MPI_File_write_ordered_begin, "0.23" },
	{ "MPI_File_read_at", IO_MPI_File_read_at, "02.34." },
	{ "MPI_File_write_at", IO_MPI_File_write_at, "02.34." },
	{ "MPI_File_read_at_all", IO_MPI_File_read_at_all, "02.34." },
	{ "MPI_File_write_at_all", IO_MPI_File_write_at_all, "02.34." },
	{ "MPI_File_iread_at", IO_MPI_File_iread_at, "02.34." },
	{ "MPI_File_iwrite_at", IO_MPI_File_iwrite_at, "02.34." },
	{ "MPI_File_iread_at_all", IO_MPI_File_iread_at_all, "02.34." },
	{ "MPI_File_iwrite_at_all", IO_MPI_File_iwrite_at_all, "02.34." },
	{ "MPI_File_read_at_all_begin", IO_MPI_File_read_at_all_begin, "02.34" },
	{ "MPI_File_write_at_all_begin", IO_MPI_File_write_at_all_begin, "02.34" },
};

const struct recorder_mapping *recorder_mapping_of(const char *function)
{
	char name[48];
	size_t n = strlen(function);
	if (n >= sizeof name)
		return NULL;
	memcpy(name, function, n + 1);
	if (n > 2 && strcmp(name + n - 2, "64") == 0)
		name[n - 2] = '\0';
	for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
		if (strcmp(mappings[i].name, name) == 0)
			return &mappings[i];
	return NULL;
}

static bool begins_with_one(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strncmp(name, *list, strlen(*list)) == 0)
			return true;
	return false;
}

unsigned recorder_mpi_class(const char *function)
{
	static const char *const lists[][16] = {
		{ "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend",
		  "MPI_Issend", "MPI_Probe", "MPI_Iprobe", NULL },
		{ "MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Allgather", "MPI_Alltoall",
		  "MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Ibcast", "MPI_Ireduce", "MPI_Iscatter",
		  "MPI_Igather", "MPI_Ialltoall", "MPI_Exscan", NULL },
		{ "MPI_Wait", "MPI_Test", NULL },
		{ "MPI_Put", "MPI_Get_accumulate", "MPI_Accumulate", "MPI_Win_", NULL },
		{ "MPI_Init", "MPI_Finalize", NULL },
	};
	const char *const names[] = { "point_to_point", "collective", "wait", "one_sided", "start" };
	const char *found = "other";
	for (size_t i = 0; i < 5; i++)
		if (begins_with_one(function, lists[i]))
			found = names[i];
	for (unsigned i = 0; i < IOPICTURE_MPI_CLASSES; i++)
		if (strcmp(iopicture_mpi_classes[i], found) == 0)
			return i;
	return IOPICTURE_MPI_CLASSES - 1;
}
