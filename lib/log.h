/* One line on standard error for one event; journald reads the level in front. */
#ifndef LIB_LOG_H
#define LIB_LOG_H

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
