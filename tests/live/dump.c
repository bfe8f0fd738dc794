/* Pictures, a line each, for tests/system/live. */
#include "schema/picture.h"
#include "lib/file.h"
#include <stdio.h>
int main(int c, char **v)
{
	struct arena a = { 0 };
	for (int i = 1; i < c; i++) {
		struct buf b = { 0 };
		struct picture p;
		struct err e = { "" };
		if (file_read(&b, v[i], &e) || picture_get(&p, &a, v[i], b.data, b.len, &e)) {
			puts(e.text);
			buf_done(&b);
			continue;
		}
		printf("status %s final %d entries %g roi ops %g whole ops %g wall %g gross %g "
		       "busy %g gap %g cpu %g off %g stream %s notes %zu %s late %g\n",
		       p.status, p.final, p.entries, p.roi.ops.items ? p.roi.ops.items[0] : -1,
		       p.whole.ops.items ? p.whole.ops.items[0] : -1, p.wall_ns, p.gross_ns,
		       p.roi.busy_ns, p.gap.total_ns, p.gap.cpu_ns, p.gap.off_cpu_ns, p.stream,
		       p.notes.n, p.notes.n ? p.notes.items[0] : "", p.late);
		buf_done(&b);
	}
	arena_free(&a);
}
