#include "core/period_flow.h"

#include <errno.h>
#include <stdlib.h>

int flow_add(struct flow *f, enum flow_direction d, struct period_piece piece)
{
	if (f->n[d] == f->room[d]) {
		size_t room = f->room[d] ? 2 * f->room[d] : 256;
		void *more = realloc(f->pieces[d], room * sizeof *f->pieces[d]);
		if (!more)
			return -ENOMEM;
		f->pieces[d] = more;
		f->room[d] = room;
	}
	f->pieces[d][f->n[d]++] = piece;
	return 0;
}

void flow_done(struct flow *f)
{
	for (int d = 0; d < FLOW_DIRECTIONS; d++)
		free(f->pieces[d]);
	*f = (struct flow){ 0 };
}
