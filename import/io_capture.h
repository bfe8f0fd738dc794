/* Other tools' traces as a capture (schema/iocap.h): a folder with a file for each process. */
#ifndef IMPORT_IO_CAPTURE_H
#define IMPORT_IO_CAPTURE_H

#include "core/iocap_write.h"
#include "lib/err.h"
#include "schema/iocap_file.h"
#include "schema/record.h"

struct io_capture {
	char folder[IOCAP_PATH_BYTES];
	bool made; /* the folder is ours: it goes when something fails */
	bool open; /* file is */
	struct iocap_file file;
	struct iocap_writer *writer; /* of the process that is under way; NULL */
	size_t processes;
};

/* -EEXIST: there is something in the folder. */
int io_capture_open(struct io_capture *c, const char *folder, struct err *err);
int io_capture_begin(struct io_capture *c, const struct iocap_process *p, struct err *err);
int io_capture_end(struct io_capture *c, struct err *err);
/* All processes are there: what the record says of it. */
int io_capture_close(struct io_capture *c, struct record *rec, struct err *err);
/* Something failed: nothing is left. */
void io_capture_drop(struct io_capture *c);

#endif
