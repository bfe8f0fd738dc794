/* What roimeter capture --show prints. */
#ifndef CLI_CAPTURE_SHOW_H
#define CLI_CAPTURE_SHOW_H

#include "lib/err.h"
#include "schema/iocap.h"

int capture_show_text(const struct iocap *c, const char *folder);
int capture_show_json(const struct iocap *c, const char *folder, struct err *err);

/* Every call, a line each: JSON, or text as strace has it. */
int capture_show_events(const struct iocap *c, bool json, struct err *err);

#endif
