/* What the files of the reader of ROCm traces share: rocprofv3's database, JSON and CSV, and rpd.
 */
#ifndef IMPORT_TRACE_ROCPROF_IMPL_H
#define IMPORT_TRACE_ROCPROF_IMPL_H

#include "import/json_pull.h"
#include "import/trace.h"
#include "import/trace_map.h"
#include "import/trace_sql.h"

#define ROC_KERNELS (1u << COMPUTE | 1u << COLLECTIVE)
#define ROC_COPIES (1u << COPY_H2D | 1u << COPY_D2H | 1u << COPY_D2D | 1u << COPY_OTHER)

enum roc_agent_type { ROC_UNKNOWN, ROC_CPU, ROC_GPU };

/* The direction of a copy between two agents. */
enum category roc_copy(enum roc_agent_type from, enum roc_agent_type to, bool same);
/* The same by name: "MEMORY_COPY_HOST_TO_DEVICE", "HOST_TO_DEVICE", "CopyHostToDevice", ... */
enum category roc_copy_named(struct str name);

/* Databases that are open. rocpd: rocprofv3's, schema 3; rpd: the older one. */
int rocpd_is(struct trace_db *db, struct err *err); /* 1, 0, negative */
int rocpd_read(struct trace_db *db, enum trace_pass pass, struct trace_sink *t, struct err *err);
int rpd_is(struct trace_db *db, struct err *err);
int rpd_read(struct trace_db *db, enum trace_pass pass, struct trace_sink *t, struct err *err);

/* Where plain bytes come from. */
struct roc_bytes {
	int (*next)(void *arg, const char **ret, size_t *ret_n, struct err *err);
	int (*rewind)(void *arg, struct err *err);
	void *arg;
	const char *path;
};

int roc_json_read(const struct roc_bytes *in, enum trace_pass pass, struct trace_sink *t,
		  struct err *err);
bool roc_csv_is(const char *head, size_t n);
/* Are they tables of one process, by their names? */
bool roc_csv_same(const char *path, const char *other);
int roc_csv_read(const struct roc_bytes *in, enum trace_pass pass, struct trace_sink *t,
		 struct err *err);

#endif
