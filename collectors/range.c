/* Which ranges are the region, and who is inside of one. */
#define _GNU_SOURCE
#include "collectors/range.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "include/roimeter.h"
#include "schema/marklog.h"

#define NAMES 16 /* that are told, of those that do not fit */
#define NAME_TOLD 80
#define DOMAINS 16 /* with open ranges of one thread, at the same time */
#define DEFAULT_DOMAIN ((const void *)(uintptr_t)1)

#define GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define PUT(x, value) __atomic_store_n(&(x), (value), __ATOMIC_RELAXED)

/* ---- the pattern ------------------------------------------------------------------------------
 */

static char *pattern; /* NULL: none */

void range_read_pattern(void)
{
	const char *glob = getenv("ROIMETER_RANGE");
	free(pattern);
	pattern = glob && *glob && !getauxval(AT_SECURE) ? strdup(glob) : NULL;
}

bool range_wanted(void)
{
	return pattern != NULL;
}

/* ---- the marks ------------------------------------------------------------------------------- */

enum { NOT_YET, ON, OFF };
static int attached;
static const struct roimeter_api *api;

/* At the first range that fits. Several threads may come at once: each finds the same. What the
 * header would attach leaves the program's own BEGIN and END out of account, so its table is not
 * the one. */
static const struct roimeter_api *marks(void)
{
	int state = __atomic_load_n(&attached, __ATOMIC_ACQUIRE);
	if (state != NOT_YET)
		return state == ON ? GET(api) : NULL;
	const struct roimeter_api *found = roimeter_find_(getenv("ROIMETER_LOG"));
	bool on = found && found->attach_();
	PUT(api, found);
	__atomic_store_n(&attached, on ? ON : OFF, __ATOMIC_RELEASE);
	return on ? found : NULL;
}

static void begin(void)
{
	const struct roimeter_api *to = marks();
	if (to)
		to->begin_();
}

static void end(void)
{
	const struct roimeter_api *to = marks();
	if (to)
		to->end_();
}

/* ---- names that do not fit ---------------------------------------------------------------------
 */

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t names[NAMES];
static uint32_t n_names, fitted; /* once one fits, nobody asks what else there was */

static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	return hash;
}

static bool is_new(uint64_t hash)
{
	for (uint32_t i = 0; i < n_names; i++)
		if (names[i] == hash)
			return false;
	if (n_names == NAMES)
		return false;
	names[n_names] = hash;
	PUT(n_names, n_names + 1);
	return true;
}

/* A line in the file "ranges" beside the logs (run/ranges.c). Processes append at the same time. */
static void tell(const char *name)
{
	const char *folder = getenv("ROIMETER_LOG");
	char path[4096], line[NAME_TOLD + 1];
	if (!folder || !*folder || !*name)
		return;
	int n = snprintf(path, sizeof path, "%s/" MARKLOG_RANGES, folder);
	int fd = n > 0 && (size_t)n < sizeof path
			 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666)
			 : -1;
	size_t len = 0;
	for (; len < NAME_TOLD && name[len]; len++)
		line[len] = (unsigned char)name[len] < ' ' ? ' ' : name[len];
	line[len++] = '\n';
	if (fd < 0)
		return;
	ssize_t written = write(fd, line, len);
	(void)written; /* a name less: the sentence only helps */
	(void)close(fd);
}

static void see(const char *name)
{
	if (GET(fitted) || GET(n_names) == NAMES || pthread_mutex_trylock(&names_lock))
		return;
	bool fresh = is_new(hash_of(name));
	(void)pthread_mutex_unlock(&names_lock);
	if (fresh)
		tell(name);
}

/* As --range of roimeter import: names with brackets and stars in them are found as they are, too.
 */
bool range_fits(const char *name)
{
	if (!pattern || !name)
		return false;
	int saved = errno;
	bool fits = strcmp(pattern, name) == 0 ||
		    (strpbrk(pattern, "*?[\\") && fnmatch(pattern, name, 0) == 0);
	if (fits)
		PUT(fitted, 1);
	else
		see(name);
	errno = saved;
	return fits;
}

/* ---- ranges of a thread --------------------------------------------------------------------- */

/* Of one domain. Inside a range that fits nothing more needs to be known of the others than how
 * many are open: the outermost is the region. */
struct stack {
	const void *domain; /* NULL: free */
	uint32_t depth;
	uint32_t fit; /* depth with the one that fits; 0: none does */
};

static __thread struct stack stacks[DOMAINS];

static struct stack *stack_of(const void *domain)
{
	for (unsigned i = 0; i < DOMAINS; i++)
		if (stacks[i].domain == domain)
			return &stacks[i];
	return NULL;
}

static void say_too_many(void)
{
	static uint32_t said;
	if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		roimeter_unattached_(getenv("ROIMETER_LOG"),
				     "a thread has ranges of more than 16 NVTX domains open: "
				     "entries may be lost");
}

int range_push(const void *domain, bool fits)
{
	int saved = errno;
	const void *key = domain ? domain : DEFAULT_DOMAIN;
	struct stack *s = stack_of(key);
	if (!s)
		s = stack_of(NULL);
	if (!s) {
		say_too_many();
		errno = saved;
		return 0;
	}
	s->domain = key;
	s->depth++;
	if (fits && !s->fit) {
		s->fit = s->depth;
		begin();
	}
	errno = saved;
	return (int)s->depth - 1;
}

int range_pop(const void *domain)
{
	struct stack *s = stack_of(domain ? domain : DEFAULT_DOMAIN);
	if (!s)
		return -1;
	int saved = errno;
	if (s->fit == s->depth) {
		end(); /* first: what follows is not the region's */
		s->fit = 0;
	}
	if (!--s->depth)
		s->domain = NULL;
	errno = saved;
	return (int)s->depth;
}

/* ---- ranges with a number -----------------------------------------------------------------------
 */

/* Whether it fits is its lowest bit, so that no table is needed. */
uint64_t range_start(bool fits)
{
	static uint64_t last;
	int saved = errno;
	uint64_t number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) << 1 | fits;
	if (fits)
		begin();
	errno = saved;
	return number;
}

void range_end(uint64_t number)
{
	int saved = errno;
	if (number & 1)
		end();
	errno = saved;
}

/* ---- wide names
 * ----------------------------------------------------------------------------------- */

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c > 0x10ffff)
		c = 0xfffd;
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(c | (n == 2 ? 0xc0u : n == 3 ? 0xe0u : 0xf0u));
	return n;
}

const char *range_narrow(char room[RANGE_NAME_BYTES], const wchar_t *name)
{
	size_t at = 0;
	if (!name)
		return NULL;
	for (; *name && at + 5 <= RANGE_NAME_BYTES; name++)
		at += put_utf8(room + at, (uint32_t)*name);
	room[at] = 0;
	return room;
}

/* ---- begin, and fork ---------------------------------------------------------------------------
 */

/* The child's log has nothing open, so what it pops of its parent's ends nothing. */
static void child(void)
{
	for (unsigned i = 0; i < DOMAINS; i++)
		stacks[i].fit = 0;
	(void)pthread_mutex_init(&names_lock, NULL);
	PUT(n_names, 0);
	PUT(fitted, 0);
}

__attribute__((constructor)) static void loaded(void)
{
	range_read_pattern();
	(void)pthread_atfork(NULL, NULL, child);
}
