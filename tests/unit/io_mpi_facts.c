/* Which MPI it is, by what is loaded: doubles of the symbols that each has. A process asks once, so
 * each case is a child of its own. */
#include "collectors/io_mpi.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/live.h"

static const char *version_text, *missing; /* missing: of PMPI_..., the one that this MPI is without */
static bool has_mpi, has_open_mpi, said;
static char byte, info_null, world, self, request_null;

void live_note(const char *format, ...)
{
	(void)format;
	said = true;
}

static int get_version(char *text, int *n)
{
	*n = snprintf(text, 256, "%s", version_text);
	errno = ENOENT;
	return 0;
}

static int error_class(mpi_word rc, int *class_)
{
	*class_ = (int)rc & 0xff;
	return rc >> 8 ? 1 : 0;
}

static int any(void)
{
	return 0;
}

void *mpi_own(const char *name)
{
	if (!has_mpi || (missing && strcmp(name, missing) == 0))
		return NULL;
	if (strcmp(name, "PMPI_Get_library_version") == 0)
		return (void *)get_version;
	return strcmp(name, "PMPI_Error_class") == 0 ? (void *)error_class : (void *)any;
}

void *mpi_object(const char *name)
{
	static const struct {
		const char *name;
		void *at;
	} objects[] = {
		{ "ompi_mpi_byte", &byte },
		{ "ompi_mpi_info_null", &info_null },
		{ "ompi_mpi_comm_world", &world },
		{ "ompi_mpi_comm_self", &self },
		{ "ompi_request_null", &request_null },
	};
	for (size_t i = 0; has_open_mpi && i < sizeof objects / sizeof *objects; i++)
		if (strcmp(objects[i].name, name) == 0)
			return missing && strcmp(missing, name) == 0 ? NULL : objects[i].at;
	return NULL;
}

/* ---- cases; each answers true where all is as it should be ------------------------------------- */

static bool none_loaded(void)
{
	return !mpi_facts() && !said;
}

static bool open_mpi(void)
{
	has_mpi = has_open_mpi = true;
	errno = 42;
	const struct mpi_facts *m = mpi_facts();
	const uint64_t handles[] = { 1, (uint64_t)1 << 40 };
	return m && !said && errno == 42 && m->handle_bytes == 8 && m->byte == (mpi_word)&byte &&
	       m->comm_world == (mpi_word)&world && m->request_null == (mpi_word)&request_null &&
	       m->status_ignore == 0 && mpi_handle_at((mpi_word)handles, 1) == (mpi_word)1 << 40 &&
	       mpi_failed(42) == -ENOENT && mpi_failed(41) == -ENOSPC && mpi_failed(16) == -EIO &&
	       mpi_failed(1 << 8) == -EIO; /* not even its class can be had */
}

static bool mpich(void)
{
	has_mpi = true;
	errno = 42;
	const struct mpi_facts *m = mpi_facts();
	const uint32_t handles[] = { 1, 0x9c000001 };
	return m && !said && errno == 42 && m->handle_bytes == 4 && m->request_null == 0x2c000000 &&
	       mpi_handle_at((mpi_word)handles, 1) == 0x9c000001 && mpi_failed(37) == -ENOENT &&
	       mpi_failed(36) == -ENOSPC && mpi_failed(42) == -EIO;
}

static bool not_known(void)
{
	has_mpi = true;
	bool no = !mpi_facts() && said;
	said = false;
	return no && !mpi_facts() && !said; /* said once */
}

static bool not_known_open_mpi(void)
{
	has_open_mpi = true;
	return not_known();
}

static void in_child(bool (*right)(void), const char *version, const char *without)
{
	int status = 0;
	version_text = version;
	missing = without;
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(right() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void no_mpi_is_no_fault(void **state)
{
	(void)state;
	in_child(none_loaded, NULL, NULL);
}

static void each_family_is_known(void **state)
{
	(void)state;
	in_child(open_mpi, NULL, NULL);
	in_child(mpich, "MPICH Version:\t4.0.2", NULL);
	in_child(mpich, "Intel(R) MPI Library 2021.9", NULL);
	in_child(mpich, "CRAY MPICH version 8.1.25", NULL);
	in_child(mpich, "ParaStation MPI 5.4", NULL);
	in_child(mpich, "MVAPICH2 Version: 2.3.7", NULL);
	in_child(mpich, "MPICH Version: 3.1", "PMPI_Get_elements_x"); /* can be done without */
}

static void another_one_is_named_once(void **state)
{
	(void)state;
	in_child(not_known, "Platform MPI 9", NULL);
	in_child(not_known, "MPICH Version: 1.2", "PMPI_File_get_info");
	in_child(not_known, "MPICH Version: 4.0", "PMPI_Get_library_version");
	in_child(not_known_open_mpi, NULL, "ompi_request_null");
	in_child(not_known_open_mpi, NULL, "PMPI_File_get_byte_offset");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mpi_is_no_fault),
		cmocka_unit_test(each_family_is_known),
		cmocka_unit_test(another_one_is_named_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
