/* The half of record_get that reads the operations; schema/codec.h has the rest. */
#ifndef SCHEMA_CODEC_OPS_H
#define SCHEMA_CODEC_OPS_H

#include "lib/err.h"
#include "schema/record.h"

int ops_get(struct record *rec, const void *bytes, size_t n, struct err *err);

#endif
