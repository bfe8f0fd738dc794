/* What a record is made of, as data: one table of fields for each block. The codecs (bytes,
 * JSON, JSON Schema, CSV) walk these tables; nothing repeats a field by hand.
 *
 * A block's fields are listed once as a macro  BLOCK_FIELDS(F, B, L):
 *   F(type, name, unit, meaning)   a value; type is num, txt, ter, nums or txts
 *   B(block, name, meaning)        one embedded struct block
 *   L(block, name, meaning)        a list of struct block
 * Append only: nothing is moved, renamed or used again, since the bytes go by position.
 * A name that C reserves ends in "_", which JSON and tables leave out ("case_" -> "case"). */
#ifndef SCHEMA_FIELD_H
#define SCHEMA_FIELD_H

#include <stddef.h>

enum field_type {
	FIELD_NUM,   /* double: a count, seconds, bytes; NAN = null */
	FIELD_TXT,   /* const char *, UTF-8; NULL = null */
	FIELD_TER,   /* enum ternary in a signed char; UNKNOWN = null */
	FIELD_NUMS,  /* struct nums; items NULL = null */
	FIELD_TXTS,  /* struct txts; items NULL = null */
	FIELD_BLOCK, /* embedded; null in JSON when everything in it is null */
	FIELD_LIST,  /* struct list; items NULL = null */
};

struct nums {
	double *items;
	size_t n;
};

struct txts {
	const char **items;
	size_t n;
};

struct block;

struct field {
	const char *name; /* as in C, maybe with a closing "_" */
	enum field_type type;
	size_t offset;
	const char *unit, *meaning;
	const struct block *block; /* of FIELD_BLOCK and FIELD_LIST */
};

struct block {
	const char *name;
	size_t size; /* of the struct */
	const struct field *fields;
	size_t count;
};

#define CTYPE_num double
#define CTYPE_txt const char *
#define CTYPE_ter signed char
#define CTYPE_nums struct nums
#define CTYPE_txts struct txts
#define FTYPE_num FIELD_NUM
#define FTYPE_txt FIELD_TXT
#define FTYPE_ter FIELD_TER
#define FTYPE_nums FIELD_NUMS
#define FTYPE_txts FIELD_TXTS

/* The name that JSON, CSV and tables show: without a closing "_". Returns text. */
#define FIELD_LABEL_BYTES 48
const char *field_label(const struct field *f, char text[FIELD_LABEL_BYTES]);

/* The three columns as members of a struct. A list is a pointer and a number. */
#define MEMBER_F(type, name, unit, meaning) CTYPE_##type name;
#define MEMBER_B(block, name, meaning) struct block name;
#define MEMBER_L(block, name, meaning) \
	struct {                       \
		struct block *items;   \
		size_t n;              \
	} name;

#define DEFINE_STRUCT(block, FIELDS)                      \
	struct block {                                    \
		FIELDS(MEMBER_F, MEMBER_B, MEMBER_L)      \
	};

#endif
