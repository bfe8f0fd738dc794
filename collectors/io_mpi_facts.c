/* What the collector has to know of an MPI beforehand. Sources: Open MPI: its mpi.h, whose
 * predefined handles are addresses of exported objects (4.1.4; the series 4 and 5 keep one ABI).
 * MPICH: its mpi.h and mpio.h (4.0.2), whose numbers the MPICH ABI compatibility initiative holds
 * fixed for MPICH 3.1 and later, Intel MPI, Cray MPICH, MVAPICH2, ParaStation MPI. Modes and whence
 * of files are the same numbers in both, ROMIO's. The ABI of MPI 5 (libmpi_abi) has other numbers:
 * it is not known here. */
#include "collectors/io_mpi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "collectors/live.h"

#define UNDEFINED (-32766)

static const struct mpi_errno errors_open_mpi[] = {
	{ 5, EINVAL },        /* COMM */
	{ 13, EINVAL },       /* ARG */
	{ 20, EACCES },       /* ACCESS */
	{ 21, EINVAL },       /* AMODE */
	{ 23, ENAMETOOLONG }, /* BAD_FILE */
	{ 28, EEXIST },       /* FILE_EXISTS */
	{ 29, EBUSY },        /* FILE_IN_USE */
	{ 30, EBADF },        /* FILE */
	{ 39, ENOMEM },       /* NO_MEM */
	{ 41, ENOSPC },       /* NO_SPACE */
	{ 42, ENOENT },       /* NO_SUCH_FILE */
	{ 44, EDQUOT },       /* QUOTA */
	{ 45, EROFS },        /* READ_ONLY */
	{ 52, EOPNOTSUPP },   /* UNSUPPORTED_OPERATION */
	{ 0, 0 },
};

static const struct mpi_errno errors_mpich[] = {
	{ 5, EINVAL },        /* COMM */
	{ 12, EINVAL },       /* ARG */
	{ 20, EACCES },       /* ACCESS */
	{ 21, EINVAL },       /* AMODE */
	{ 22, ENAMETOOLONG }, /* BAD_FILE */
	{ 25, EEXIST },       /* FILE_EXISTS */
	{ 26, EBUSY },        /* FILE_IN_USE */
	{ 27, EBADF },        /* FILE */
	{ 34, ENOMEM },       /* NO_MEM */
	{ 36, ENOSPC },       /* NO_SPACE */
	{ 37, ENOENT },       /* NO_SUCH_FILE */
	{ 39, EDQUOT },       /* QUOTA */
	{ 40, EROFS },        /* READ_ONLY */
	{ 44, EOPNOTSUPP },   /* UNSUPPORTED_OPERATION */
	{ 0, 0 },
};

/* Handles are filled in when it is loaded. */
static struct mpi_facts open_mpi = {
	.name = "Open MPI",
	.handle_bytes = 8,
	.status_bytes = 24,
	.status_error_at = 8,
	.status_ignore = 0,
	.undefined = UNDEFINED,
	.combiner_named = 0,
	.order_c = 0,
	.distribute_block = 0,
	.default_darg = -1,
	.err_in_status = 18,
	.err_pending = 19,
	.errors = errors_open_mpi,
};

static const struct mpi_facts mpich = {
	.name = "MPICH",
	.handle_bytes = 4,
	.status_bytes = 20,
	.status_error_at = 16,
	.byte = 0x4c00010d,
	.info_null = 0x1c000000,
	.comm_world = 0x44000000,
	.comm_self = 0x44000001,
	.request_null = 0x2c000000,
	.status_ignore = 1,
	.undefined = UNDEFINED,
	.combiner_named = 1,
	.order_c = 56,
	.distribute_block = 121,
	.default_darg = -49767,
	.err_in_status = 17,
	.err_pending = 18,
	.errors = errors_mpich,
};

struct mpi_asks mpi_ask;
static const struct mpi_facts *known;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#define ASK(name)                                                                                  \
	{                                                                                          \
		"PMPI_" #name, (void **)&mpi_ask.name                                              \
	}
static const struct {
	const char *name;
	void **to;
} asks[] = {
	ASK(Error_class),       ASK(Initialized),
	ASK(Type_size),         ASK(Type_size_x),
	ASK(Type_get_extent),   ASK(Type_get_name),
	ASK(Type_get_envelope), ASK(Type_get_envelope_c),
	ASK(Type_get_contents), ASK(Type_free),
	ASK(Get_elements),      ASK(Get_elements_x),
	ASK(Info_get_nkeys),    ASK(Info_get_nthkey),
	ASK(Info_get),          ASK(Info_free),
	ASK(Comm_size),         ASK(Comm_group),
	ASK(Group_size),        ASK(Group_translate_ranks),
	ASK(Group_free),        ASK(File_get_info),
	ASK(File_get_position), ASK(File_get_byte_offset),
};

/* Without these nothing can be said of an access. */
static bool asks_all(void)
{
	for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
		*asks[i].to = mpi_own(asks[i].name);
	return mpi_ask.Error_class && mpi_ask.Type_size && mpi_ask.Get_elements &&
	       mpi_ask.File_get_info && mpi_ask.File_get_byte_offset && mpi_ask.File_get_position;
}

static const struct mpi_facts *open_mpi_here(void)
{
	open_mpi.byte = (mpi_word)mpi_object("ompi_mpi_byte");
	open_mpi.info_null = (mpi_word)mpi_object("ompi_mpi_info_null");
	open_mpi.comm_world = (mpi_word)mpi_object("ompi_mpi_comm_world");
	open_mpi.comm_self = (mpi_word)mpi_object("ompi_mpi_comm_self");
	open_mpi.request_null = (mpi_word)mpi_object("ompi_request_null");
	return open_mpi.byte && open_mpi.info_null && open_mpi.comm_world && open_mpi.request_null
		       ? &open_mpi
		       : NULL;
}

/* By what it says of itself, which may be asked for at any time. */
static const struct mpi_facts *mpich_here(void *init)
{
	static const char *const family[] = { "MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation" };
	int (*version)(char *, int *) = (int (*)(char *, int *))mpi_own("PMPI_Get_library_version");
	char text[8192 + 1] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH; others have less */
	int n = 0;
	Dl_info of;
	if (!version || (dladdr(init, &of) && strstr(of.dli_fname, "mpi_abi")) || version(text, &n))
		return NULL;
	text[sizeof text - 1] = 0;
	for (size_t i = 0; i < sizeof family / sizeof *family; i++)
		if (strstr(text, family[i]))
			return &mpich;
	return NULL;
}

static void look(void)
{
	void *init = mpi_own("PMPI_Init");
	if (!init)
		return;
	const struct mpi_facts *is =
		mpi_object("ompi_mpi_byte") ? open_mpi_here() : mpich_here(init);
	if (is && asks_all()) {
		known = is;
		return;
	}
	live_note("This process has an MPI of which the collector io does not know enough: its "
		  "MPI-IO is not "
		  "in the record as such, only the calls that the MPI made itself; calls of MPI "
		  "are timed.");
}

const struct mpi_facts *mpi_facts(void)
{
	int saved = errno;
	(void)pthread_once(&once, look);
	errno = saved;
	return known;
}

int64_t mpi_failed(int rc)
{
	int class_ = 0;
	if (mpi_ask.Error_class((mpi_word)rc, &class_))
		return -EIO;
	for (const struct mpi_errno *e = known->errors; e->class_; e++)
		if (e->class_ == class_)
			return -e->number;
	return -EIO;
}

mpi_word mpi_handle_at(mpi_word array, size_t i)
{
	if (known->handle_bytes == 8)
		return ((const uint64_t *)array)[i];
	return ((const uint32_t *)array)[i];
}
