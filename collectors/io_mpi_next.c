/* The functions behind ours. Mostly the next by the name; a program that was started without an MPI
 * and loads one for itself (Python) may have it where only its own libraries look, so all that is
 * loaded is asked then. */
#include "collectors/io_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES ((size_t)1 << 17)

/* Only where a program calls a function of MPI, and has no MPI. */
static int missing(void)
{
	return 16; /* no MPI's 0, which is all that it can look for */
}

/* Is it ours? */
static bool own(const void *f)
{
	static const char here;
	Dl_info of, us;
	return dladdr(f, &of) && dladdr(&here, &us) && of.dli_fbase == us.dli_fbase;
}

struct names {
	char *text;
	size_t n;
};

static int each_object(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	struct names *names = to;
	size_t n = info->dlpi_name ? strlen(info->dlpi_name) + 1 : 1;
	if (n > 1 && n <= NAMES_BYTES - names->n) {
		memcpy(&names->text[names->n], info->dlpi_name, n);
		names->n += n;
	}
	return 0;
}

/* Names first: while they are walked nothing may be opened. */
static void *find_loaded(const char *name)
{
	struct names names = { .text = malloc(NAMES_BYTES) };
	void *found = NULL;
	if (!names.text)
		return NULL;
	(void)dl_iterate_phdr(each_object, &names);
	for (size_t at = 0; at < names.n && !found; at += strlen(&names.text[at]) + 1) {
		void *object = dlopen(&names.text[at], RTLD_LAZY | RTLD_NOLOAD);
		if (!object)
			continue;
		found = dlsym(object, name);
		if (found && own(found))
			found = NULL;
		(void)dlclose(object);
	}
	free(names.text);
	return found;
}

static void *find(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);
	return f ? f : find_loaded(name);
}

/* The program doesn't see how a name was looked for. */
void *mpi_own(const char *name)
{
	int saved = errno;
	void *f = find(name);
	errno = saved;
	return f;
}

/* A program may have an MPI's object in itself, by a copy relocation: then all use that one. */
void *mpi_object(const char *name)
{
	int saved = errno;
	void *p = dlsym(RTLD_DEFAULT, name);
	p = p ? p : find_loaded(name);
	errno = saved;
	return p;
}

void *mpi_next(struct mpi_next *n)
{
	void *f = __atomic_load_n(&n->to, __ATOMIC_RELAXED);
	if (LIKELY(f != NULL))
		return f;
	f = mpi_own(n->name);
	if (!f)
		return (void *)missing;
	__atomic_store_n(&n->to, f, __ATOMIC_RELAXED);
	return f;
}
