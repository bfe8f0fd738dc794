/* DXT's accesses as a capture. */
#ifndef IMPORT_DARSHAN_CAPTURE_H
#define IMPORT_DARSHAN_CAPTURE_H

#include "import/darshan_gather.h"
#include "schema/record.h"

/* Into a new folder: one file for each process. Sets io.capture, capture_bytes and capture_events. -EINVAL:
 * the log has no DXT. -EEXIST: there is a capture in the folder. */
int darshan_capture(struct record *rec, struct darshan_gathered *g, const char *folder,
		    struct err *err);

#endif
