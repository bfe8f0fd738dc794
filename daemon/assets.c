/* Names and bytes come from the build: assets.S has the bytes, page_names.h of the build folder the
 * names, in which stands the hash of what is in the file. */
#include "daemon/assets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "page_names.h" /* made by the build: PAGE_SCRIPT, PAGE_STYLE */
#include "report/data.h"

#define FILE_OF(symbol) extern const char asset_##symbol[], asset_##symbol##_end[]
FILE_OF(page);
FILE_OF(page_gz);
FILE_OF(page_br);
FILE_OF(script);
FILE_OF(script_gz);
FILE_OF(script_br);
FILE_OF(style);
FILE_OF(style_gz);
FILE_OF(style_br);

static const struct {
	const char *name, *coding;
	enum media media;
	const char *begin, *end;
} files[] = {
#define ONE(name, media, symbol)                                                                   \
	{ name, "br", media, asset_##symbol##_br, asset_##symbol##_br_end },                       \
		{ name, "gzip", media, asset_##symbol##_gz, asset_##symbol##_gz_end },             \
	{                                                                                          \
		name, "", media, asset_##symbol, asset_##symbol##_end                              \
	}
	ONE("", MEDIA_HTML, page),
	ONE(PAGE_SCRIPT, MEDIA_SCRIPT, script),
	ONE(PAGE_STYLE, MEDIA_STYLE, style),
};

#define N_FILES (sizeof files / sizeof *files)

struct assets {
	struct entity *entities[N_FILES];
};

/* As numbers, since begin and end are arrays of their own to the compiler. */
static size_t size_of(size_t i)
{
	return (size_t)((uintptr_t)files[i].end - (uintptr_t)files[i].begin);
}

struct assets *assets_new(void)
{
	struct assets *a = calloc(1, sizeof *a);
	for (size_t i = 0; a && i < N_FILES; i++) {
		size_t plain = i / 3 * 3 + 2, n = size_of(i);
		if (!n)
			continue;
		/* The tag is that of the file itself in every coding; the coding is put behind it.
		 */
		char etag[40];
		const struct buf view = { .data = (char *)(uintptr_t)files[plain].begin,
					  .len = size_of(plain) };
		report_hash(etag, &view);
		a->entities[i] = entity_static(files[i].begin, n, files[i].media, files[i].coding,
					       etag, files[i].name[0] != 0);
		if (!a->entities[i]) {
			assets_free(a);
			return NULL;
		}
	}
	return a;
}

void assets_free(struct assets *a)
{
	for (size_t i = 0; a && i < N_FILES; i++)
		entity_drop(a->entities[i]);
	free(a);
}

struct entity *assets_get(struct assets *a, const char *name, const char *accept_encoding)
{
	for (size_t i = 0; i < N_FILES; i++) {
		if (!a->entities[i] || strcmp(files[i].name, name) != 0)
			continue;
		if (!files[i].coding[0] || negotiate_coding(accept_encoding, files[i].coding))
			return entity_hold(a->entities[i]);
	}
	return NULL;
}
