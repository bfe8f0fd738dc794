/* Makes the tables of fields out of the lists (schema/field.h): for the one .c of each family. */
#ifndef SCHEMA_TABLE_H
#define SCHEMA_TABLE_H

#include "schema/field.h"

/* SELF is the struct whose list is being walked: a list does not know its own struct. */
#define ROW_F(type, name, unit, meaning) \
	{ #name, FTYPE_##type, offsetof(struct SELF, name), unit, meaning, NULL },
#define ROW_B(kind, name, meaning) \
	{ #name, FIELD_BLOCK, offsetof(struct SELF, name), "", meaning, &kind##_block },
#define ROW_L(kind, name, meaning) \
	{ #name, FIELD_LIST, offsetof(struct SELF, name), "", meaning, &kind##_block },
#define TABLE(kind, FIELDS) \
	static const struct field kind##_fields[] = { FIELDS(ROW_F, ROW_B, ROW_L) };

#define DEFINE_BLOCK(kind, FIELDS)                                        \
	const struct block kind##_block = {                               \
		.name = #kind,                                            \
		.size = sizeof(struct kind),                              \
		.fields = kind##_fields,                                  \
		.count = sizeof kind##_fields / sizeof kind##_fields[0],  \
	};

#endif
