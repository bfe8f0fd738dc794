/* Names in the order that people expect: "n9" before "n10". */
#ifndef REPORT_NATURAL_H
#define REPORT_NATURAL_H

/* As strcmp; 0 only for the same text. */
int report_natural(const char *a, const char *b);

#endif
