/* Bytes over time by direction, as roimeter period asks about them. */
#ifndef CORE_PERIOD_FLOW_H
#define CORE_PERIOD_FLOW_H

#include <stddef.h>

#include "core/period.h"

enum flow_direction { FLOW_READ, FLOW_WRITE, FLOW_EITHER, FLOW_DIRECTIONS };

/* All-zero is a valid empty flow. EITHER: of files that don't tell reads from writes. */
struct flow {
	struct period_piece *pieces[FLOW_DIRECTIONS];
	size_t n[FLOW_DIRECTIONS], room[FLOW_DIRECTIONS];
};

int flow_add(struct flow *f, enum flow_direction d, struct period_piece piece); /* -ENOMEM */
void flow_done(struct flow *f);

#endif
