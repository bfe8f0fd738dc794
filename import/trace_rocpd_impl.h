/* What the files of the reader of rocprofv3's databases share. */
#ifndef IMPORT_TRACE_ROCPD_IMPL_H
#define IMPORT_TRACE_ROCPD_IMPL_H

#include "import/trace_cursor.h"
#include "import/trace_env.h"
#include "import/trace_rocprof_impl.h"

#define ROCPD_DISPATCH "rocpd_kernel_dispatch"
#define ROCPD_COPY "rocpd_memory_copy"
#define ROCPD_REGION "rocpd_region"
#define ROCPD_TEXT 128

enum kind { KERNELS, COPIES, CALLS, KINDS };

struct agent {
	int64_t id;
	enum roc_agent_type type;
	bool told;
	uint32_t number;
	char name[ROCPD_TEXT + 32], key[80];
};

struct process {
	int64_t id, number; /* of the table, of the trace */
};

/* Sessions number their machines each on its own: what the machine calls itself is the same in all. */
struct node {
	int64_t id;
	uint64_t machine; /* hash of its id, or name */
	char host[ROCPD_TEXT];
};

struct session {
	char suffix[128];
	struct agent *agents;
	size_t n_agents, cap_agents;
	struct process *processes;
	size_t n_processes, cap_processes;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct trace_map kernels;    /* id of a kernel: number of its name * 2 + collective + 1 */
	struct trace_map copies;     /* id of a copy's name: number of the name + 1 */
	struct trace_map calls;      /* id of a call's name: 1, or 2 where it waits */
	struct trace_map categories; /* id of an event's category: enum region + 1 */
	sqlite3_stmt *string, *symbol, *event;
	char tables[KINDS][160];
	bool seen[KINDS];
};

/* What a region is. */
enum region { REGION_MARKER, REGION_CALL, REGION_OTHER };

struct rocpd {
	struct trace_db *db;
	struct trace_sink *t;
	struct session *sessions;
	size_t n_sessions;
	struct trace_cursor *cursors; /* KINDS of each session */
	struct trace_env env;
};

void rocpd_table(const struct session *s, const char *table, char ret[160]);
/* Columns of a session's table; *ret NULL: it is not there. */
int rocpd_select(struct rocpd *r, const struct session *s, const char *table,
		 const char *const *columns, size_t n, const char *tail, sqlite3_stmt **ret,
		 struct err *err);
/* 1: the row of that id is current; 0: none. */
int rocpd_by_id(struct rocpd *r, sqlite3_stmt *s, int64_t id, struct err *err);
int rocpd_string(struct rocpd *r, struct session *s, int64_t id, struct str *ret, struct err *err);
/* All sessions, who ran in them and on what; processes are told in pass TRACE_RANGES. */
int rocpd_open(struct rocpd *r, enum trace_pass pass, struct err *err);
void rocpd_close(struct rocpd *r);
int64_t rocpd_process(const struct session *s, int64_t id);
struct agent *rocpd_agent(struct session *s, int64_t id); /* NULL: unknown */
int rocpd_device(struct rocpd *r, struct agent *a, uint32_t *ret);

#endif
