/* Between schema/batch.c, which knows fields, and schema/batch_pack.c, which knows batches. */
#ifndef SCHEMA_BATCH_IMPL_H
#define SCHEMA_BATCH_IMPL_H

#include "schema/batch.h"
#include "schema/wire.h"

void batch_put_sender(struct wire_out *w, const struct batch_sender *from);
void batch_put_fields(struct wire_out *w, const struct frame *f);

/* Clear first. What is left in r afterwards are fields of a newer writer. */
void batch_get_sender(struct wire_in *r, struct batch_sender *to);
void batch_get_fields(struct wire_in *r, struct frame *f); /* cleared by the caller */

#endif
