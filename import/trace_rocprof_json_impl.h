/* What the files of the reader of rocprofv3's JSON share. */
#ifndef IMPORT_TRACE_ROCPROF_JSON_IMPL_H
#define IMPORT_TRACE_ROCPROF_JSON_IMPL_H

#include "import/json_pull.h"
#include "import/trace_env.h"
#include "import/trace_rocprof_impl.h"
#include "lib/arena.h"

#define ROC_TOOLS 4096
#define ROC_TEXT 128

struct roc_agent {
	int64_t handle;
	enum roc_agent_type type;
	bool visible; /* to HIP */
	char name[ROC_TEXT + 32], key[64];
	bool told;
	uint32_t number;
};

struct roc_kernel {
	const char *name;
	bool told;
	uint32_t number;
	enum category category;
};

/* A kind of record, and the names of its operations. */
struct roc_kind {
	const char *name;
	const char **operations;
	size_t n, cap;
};

/* One process. */
struct roc_tool {
	int64_t process, pid;
	char host[ROC_TEXT], exe[ROC_TEXT];
	struct roc_agent *agents;
	size_t n_agents, cap_agents;
	struct roc_kernel *kernels;
	size_t n_kernels, cap_kernels;
	struct trace_map kernel_ids; /* id: index + 1 */
	struct roc_kind *kinds;
	size_t n_kinds, cap_kinds;
	const char **messages;
	size_t n_messages, cap_messages;
	struct trace_map said; /* correlation: index of its message + 1 */
	unsigned known;        /* bits of what stood before the records: ROC_KNOWN when all did */
	bool told, done;       /* its process and agents are told; its records are read */
};

struct roc_json {
	struct json_pull j;
	struct trace_sink *t;
	enum trace_pass pass;
	struct arena arena;
	struct roc_tool *tools;
	size_t n_tools, cap_tools;
	struct trace_env env;
	uint32_t copy_names[CATEGORIES]; /* number + 1 */
	bool seen_kernels, seen_copies, seen_calls;
};

#define ROC_KNOWN 15u

/* All that is no record: who, on what, and names. The records, too, where they stand after all of
 * that, as rocprofv3 writes them. */
int roc_json_facts(struct roc_json *r, struct roc_tool *tool);
int roc_json_records(struct roc_json *r, struct roc_tool *tool);

#endif
