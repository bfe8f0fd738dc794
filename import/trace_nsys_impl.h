/* What the files of the reader of Nsight Systems exports share. */
#ifndef IMPORT_TRACE_NSYS_IMPL_H
#define IMPORT_TRACE_NSYS_IMPL_H

#include "import/trace.h"
#include "import/trace_map.h"
#include "import/trace_sql.h"

#define NSYS_KERNEL "CUPTI_ACTIVITY_KIND_KERNEL"
#define NSYS_MEMCPY "CUPTI_ACTIVITY_KIND_MEMCPY"
#define NSYS_MEMSET "CUPTI_ACTIVITY_KIND_MEMSET"
#define NSYS_RUNTIME "CUPTI_ACTIVITY_KIND_RUNTIME"
#define NSYS_GRAPH "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

#define NSYS_GPUS 1024
#define NSYS_TEXT 128

struct nsys_gpu {
	int64_t id;      /* of TARGET_INFO_GPU */
	int64_t ordinal; /* CUDA's, where the file has it; else -1 */
	char name[NSYS_TEXT], uuid[NSYS_TEXT], bus[NSYS_TEXT];
	bool known; /* the sink has its number */
	uint32_t number;
};

/* A device as one process numbers it: TARGET_INFO_CUDA_DEVICE. */
struct nsys_place {
	int64_t pid; /* 0: any process */
	int64_t ordinal;
	size_t gpu;
};

struct nsys {
	struct trace_db db;
	struct trace_sink *t;
	char host[NSYS_TEXT];
	struct nsys_gpu *gpus;
	size_t n_gpus;
	struct nsys_place *places;
	size_t n_places;
	struct trace_map devices;   /* process, ordinal: number + 1 */
	struct trace_map ordinals;  /* ordinal: process + 2 that used it without a place */
	struct trace_map processes; /* process: 1 */
	struct trace_map names;  /* id of a kernel's name: its number * 2 + is a collective + 1 */
	struct trace_map syncs;  /* id of a call's name: 1 no, 2 yes */
	struct trace_map wanted; /* id of a range's name: 1 no, 2 yes */
	sqlite3_stmt *string;    /* StringIds by id; NULL: there is no such table */
	int64_t only;            /* the process of rows that do not say: the only one, or 0 */
	bool one;                /* operations never say whose they are: all are of process 0 */
	bool by_ordinal;         /* GPUs are named by CUDA's numbers, else by the machine's */
	bool shared_ordinal;     /* said once */
};

/* globalPid and globalTid hold the machine's number, too: the same pid of two machines is two
 * processes. */
static inline int64_t nsys_process(int64_t global)
{
	return (int64_t)((uint64_t)global >> 24);
}

/* Who and what: processes, devices, versions. */
int nsys_info(struct nsys *n, enum trace_pass pass, struct err *err);
int nsys_seen(struct nsys *n, int64_t process);
int nsys_device(struct nsys *n, int64_t process, int64_t ordinal, uint32_t *ret);
/* Text of StringIds; p NULL if it has none. Lent until the next call. */
int nsys_string(struct nsys *n, int64_t id, struct str *ret, struct err *err);
/* The whole reader, on a database that is open. */
int nsys_read_db(struct trace_db *db, enum trace_pass pass, struct trace_sink *t, struct err *err);

#endif
