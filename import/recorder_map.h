/* Recorder's calls in our words: which call of schema/iocall.h it is, and what its arguments say. */
#ifndef IMPORT_RECORDER_MAP_H
#define IMPORT_RECORDER_MAP_H

#include "import/recorder_trace.h"
#include "schema/ioevent.h"

/* An argument of a call; p NULL: there is none, or it is "???". */
struct str recorder_arg(const struct recorder_key *key, size_t i);
bool recorder_number(struct str text, int64_t *ret);

/* What becomes of a process's calls: texts and handles in the order of their first use. */
struct recorder_names;

struct recorder_handle {
	uint32_t number, path; /* text; 0: not known */
	uint8_t type, interface;
	bool was_open;
	int64_t flags;
};

/* Each new text and handle, before the first event that names it. NULL: not wanted. */
struct recorder_taker {
	void (*text)(void *self, uint32_t number, const char *text, size_t n);
	void (*handle)(void *self, const struct recorder_handle *h);
	void *self;
};

int recorder_names_new(struct recorder_names **ret, const struct recorder_taker *taker);
void recorder_names_free(struct recorder_names *n);

/* Class of io.mpi, by its number in iopicture_mpi_classes (schema/iopicture.h). */
enum recorder_class { RECORDER_FILE, RECORDER_MPI, RECORDER_OTHER };

struct recorder_event {
	enum recorder_class class;
	unsigned mpi;         /* of RECORDER_MPI */
	struct io_event event; /* of RECORDER_FILE: without times and thread */
	bool bytes_unknown;   /* it moves some, and the trace does not tell how many */
	bool place_unknown;   /* it has an offset, and the trace does not tell it */
	uint32_t handle;      /* that it is of; 0: none */
};

/* 0 or -ENOMEM. */
int recorder_map(struct recorder_names *n, const struct recorder_call *call,
		 struct recorder_event *ret);

/* recorder_calls.c. Where each argument of Recorder's goes: a digit is a place of the event's own, '.'
 * nowhere, '*' is multiplied into the bytes (place 1), 'r' is the result, '=' the name of the handle that
 * is made. */
struct recorder_mapping {
	const char *name;
	uint16_t call; /* enum io_call */
	const char *places;
};
const struct recorder_mapping *recorder_mapping_of(const char *function); /* NULL: none */
/* As iopicture_mpi_classes: point_to_point, collective, wait, one_sided, start, other. */
unsigned recorder_mpi_class(const char *function);

#endif
