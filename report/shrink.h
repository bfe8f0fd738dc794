/* Makes JSON small without losing anything: nulls left out, lists of objects as tables, blocks
 * that repeat kept once in a dictionary. */
#ifndef REPORT_SHRINK_H
#define REPORT_SHRINK_H

#include <jansson.h>

/* A copy without nulls and without objects that are empty then. An absent field is null. NULL
 * when out of memory. */
json_t *shrink_nulls(const json_t *value);

/* [{a, b}, {a, c}] as {"same": {..}, "columns": [a, b, c], "rows": [[..], ..]}; null where a row
 * lacks it. same: what has one value in all of several rows; absent when empty. */
json_t *shrink_table(const json_t *rows);

/* Values by name, each once, in the order they came. All-zero is a valid empty one. */
struct shrink_dict {
	json_t *values; /* {"platform_info": [..], ..} */
	json_t *places; /* the same names: text of a value -> its place */
};

/* The place of this value in the list of that name; -ENOMEM. Takes the value. */
int shrink_intern_take(struct shrink_dict *d, const char *name, json_t *value);
void shrink_dict_done(struct shrink_dict *d);

#endif
