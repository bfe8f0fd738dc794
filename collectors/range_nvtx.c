/* NVTX, as its clients see it. The header in a program (version 3) loads the library that
 * NVTX_INJECTION64_PATH names at its first range, and lets it fill a table of functions. Programs
 * that are linked with the older libnvToolsExt.so call the functions by name, and find these here,
 * since this library is preloaded. No tool can be there beside us: it would need the same variable.
 *
 * The numbers and layouts below are NVTX's ABI, which has not changed since version 2; where its
 * headers are, tests/unit/range.c compares. */
#include <stddef.h>
#include <string.h>

#include "collectors/range.h"

#define PUBLIC __attribute__((visibility("default")))

enum { ASCII = 1, UNICODE = 2, REGISTERED = 3 }; /* types of messages */

/* Of nvtxEventAttributes_t what we look at. A program may be older or newer. */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, unused;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

static bool attributes_fit(const struct attributes *a)
{
	char room[RANGE_NAME_BYTES];
	if (!a || a->size < sizeof *a)
		return false;
	switch (a->message_type) {
	case ASCII:
		return range_fits(a->message.ascii);
	case UNICODE:
		return range_fits(range_narrow(room, a->message.unicode));
	case REGISTERED:
		return (uintptr_t)a->message.registered & 1;
	default:
		return false;
	}
}

static bool wide_fits(const wchar_t *name)
{
	char room[RANGE_NAME_BYTES];
	return range_fits(range_narrow(room, name));
}

/* Handles are looked into by us alone: a domain is a number, a registered name a number whose
 * lowest bit says whether it fits. */
static void *handle(bool fits)
{
	static uintptr_t last;
	return (void *)(__atomic_add_fetch(&last, 8, __ATOMIC_RELAXED) | 2 | fits);
}

/* ---- what programs call ------------------------------------------------------------------------
 */

#define DECLARE(type, name, ...)                                                                   \
	PUBLIC type name(__VA_ARGS__);                                                             \
	PUBLIC type name(__VA_ARGS__)

DECLARE(int, nvtxRangePushEx, const struct attributes *a)
{
	return range_push(NULL, attributes_fit(a));
}

DECLARE(int, nvtxRangePushA, const char *name)
{
	return range_push(NULL, range_fits(name));
}

DECLARE(int, nvtxRangePushW, const wchar_t *name)
{
	return range_push(NULL, wide_fits(name));
}

DECLARE(int, nvtxRangePop, void)
{
	return range_pop(NULL);
}

DECLARE(uint64_t, nvtxRangeStartEx, const struct attributes *a)
{
	return range_start(attributes_fit(a));
}

DECLARE(uint64_t, nvtxRangeStartA, const char *name)
{
	return range_start(range_fits(name));
}

DECLARE(uint64_t, nvtxRangeStartW, const wchar_t *name)
{
	return range_start(wide_fits(name));
}

DECLARE(void, nvtxRangeEnd, uint64_t number)
{
	range_end(number);
}

DECLARE(int, nvtxDomainRangePushEx, const void *domain, const struct attributes *a)
{
	return range_push(domain, attributes_fit(a));
}

DECLARE(int, nvtxDomainRangePop, const void *domain)
{
	return range_pop(domain);
}

DECLARE(uint64_t, nvtxDomainRangeStartEx, const void *domain, const struct attributes *a)
{
	(void)domain;
	return range_start(attributes_fit(a));
}

DECLARE(void, nvtxDomainRangeEnd, const void *domain, uint64_t number)
{
	(void)domain;
	range_end(number);
}

DECLARE(void *, nvtxDomainCreateA, const char *name)
{
	(void)name;
	return handle(false);
}

DECLARE(void *, nvtxDomainCreateW, const wchar_t *name)
{
	(void)name;
	return handle(false);
}

DECLARE(void *, nvtxDomainRegisterStringA, const void *domain, const char *name)
{
	(void)domain;
	return handle(range_fits(name));
}

DECLARE(void *, nvtxDomainRegisterStringW, const void *domain, const wchar_t *name)
{
	(void)domain;
	return handle(wide_fits(name));
}

/* ---- injection ---------------------------------------------------------------------------------
 */

typedef void (*function)(void);

struct callbacks {
	size_t size;
	int (*module_table)(uint32_t module, function ***ret_table, unsigned *ret_size);
};

enum { TABLE_CALLBACKS = 1 };               /* of export tables */
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 }; /* of modules */

struct patch {
	unsigned at;
	function with;
};

static const struct patch core[] = {
	{ 4, (function)nvtxRangeStartEx }, { 5, (function)nvtxRangeStartA },
	{ 6, (function)nvtxRangeStartW },  { 7, (function)nvtxRangeEnd },
	{ 8, (function)nvtxRangePushEx },  { 9, (function)nvtxRangePushA },
	{ 10, (function)nvtxRangePushW },  { 11, (function)nvtxRangePop },
};

static const struct patch core2[] = {
	{ 2, (function)nvtxDomainRangeStartEx },     { 3, (function)nvtxDomainRangeEnd },
	{ 4, (function)nvtxDomainRangePushEx },      { 5, (function)nvtxDomainRangePop },
	{ 10, (function)nvtxDomainRegisterStringA }, { 11, (function)nvtxDomainRegisterStringW },
	{ 12, (function)nvtxDomainCreateA },         { 13, (function)nvtxDomainCreateW },
};

static bool patch(const struct callbacks *c, uint32_t module, const struct patch *patches, size_t n)
{
	function **table = NULL;
	unsigned size = 0;
	if (!c->module_table(module, &table, &size) || !table)
		return false;
	for (size_t i = 0; i < n; i++)
		if (patches[i].at < size && table[patches[i].at])
			*table[patches[i].at] = patches[i].with;
	return true;
}

/* 1: we are there. Else the program's NVTX is off, as without us. */
PUBLIC int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));
PUBLIC int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
	if (!range_wanted())
		return 0;
	const struct callbacks *c = export_table(TABLE_CALLBACKS);
	if (!c || c->size < sizeof *c || !c->module_table)
		return 0;
	bool some = patch(c, MODULE_CORE, core, sizeof core / sizeof *core);
	return patch(c, MODULE_CORE2, core2, sizeof core2 / sizeof *core2) || some;
}
