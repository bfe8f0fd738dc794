/* iopicture FILE...: what the collector io counted of each process, a line each: "ok", final, and of the whole
 * process write_ops write_bytes read_ops read_bytes open_ops dropped_ops; exit code 1 when one can't be read.
 * With -f first: a line "file", bytes read, bytes written, name of each of its files follows. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/file.h"
#include "schema/iopicture.h"

static void print_files(const struct iopicture *p)
{
	const struct iopicture_file *f = p->files.items;
	for (size_t i = 0; i < p->files.n; i++)
		(void)printf("file %.17g %.17g %s\n", f[i].whole.read_bytes, f[i].whole.write_bytes,
			     f[i].name);
}

static int print(const char *path, bool files)
{
	struct arena a = { .max_bytes = 0 };
	struct buf b = { .max = IOPICTURE_MAX_BYTES };
	struct iopicture p;
	struct err err = { "" };
	int rc = file_read(&b, path, &err);
	if (!rc)
		rc = iopicture_get(&p, &a, path, b.data, b.len, &err);
	if (rc)
		(void)printf("bad %s\n", err.text);
	else
		(void)printf("%s %d %.17g %.17g %.17g %.17g %.17g %.17g\n", p.status, p.final,
			     p.whole.write_ops, p.whole.write_bytes, p.whole.read_ops,
			     p.whole.read_bytes, p.whole.open_ops, p.dropped_ops);
	if (!rc && files)
		print_files(&p);
	arena_free(&a);
	buf_done(&b);
	return rc;
}

int main(int argc, char **argv)
{
	bool files = argc > 1 && strcmp(argv[1], "-f") == 0;
	int bad = 0;
	for (int i = 1 + files; i < argc; i++)
		bad |= print(argv[i], files) != 0;
	return bad;
}
