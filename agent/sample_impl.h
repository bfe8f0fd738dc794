/* Inside of the samplers (agent/sample*.c). */
#ifndef AGENT_SAMPLE_IMPL_H
#define AGENT_SAMPLE_IMPL_H

#include <time.h>

#include "agent/sample.h"
#include "agent/sample_text.h"
#include "lib/buf.h"
#include "lib/num.h"
#include "lib/pace.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- files (sample_file.c) ----------------------------------------------------------------- */

/* Reads files of the kernel into one buffer that all samplers share, and keeps some open: a pread
 * of a kept descriptor costs a third of open, read and close, and never reads another process that
 * got the same number. */
struct sample_reader {
	const char *root;
	char *text;
	size_t room;
	unsigned kept, max_kept;
	uint64_t mono_ns; /* of the pass that is going on */
	double bytes;     /* read so far */
};

struct sample_file {
	int fd; /* -1: not open */
	struct pace pace;
	uint64_t next_ns; /* not before */
};

#define SAMPLE_FILE ((struct sample_file){ .fd = -1 })

/* Some files are made in one piece: one pread has all of it, and the one more that would say so is
 * saved. The rest come in pieces of a page. */
enum sample_whole { SAMPLE_PIECES, SAMPLE_ONE_PIECE };

/* The text of a file, lent until the next call, and cut behind a line where it is longer than the
 * ceiling. path is below the root, and only looked at when the file is not open. -EAGAIN: it failed
 * lately and is left alone for a while; other failures have a sentence. */
int sample_read(struct sample_reader *r, struct sample_file *f, const char *path,
		enum sample_whole whole, struct str *ret, struct err *err);
void sample_file_close(struct sample_reader *r, struct sample_file *f);
void sample_reader_done(struct sample_reader *r);

/* A thing that this kernel or machine does not have, which is no trouble. */
bool sample_absent(int rc);

#define SAMPLE_SLOWEST_NS (60 * SAMPLE_SECOND_NS) /* between two tries of what fails */

/* ---- values -------------------------------------------------------------------------------- */

#define SAMPLE_MAX_VALUES 32 /* with fixed names, of one sampler */

/* More than one value of a name: disk.NAME.read_bytes. At most SAMPLE_MAX_THINGS disks, mounts, ...
 * of each kind; those beyond are counted. */
#define SAMPLE_MAX_THINGS 128

void sample_put_value(struct buf *b, const char *name, double value);

/* The values of one thing: prefix "disk.", its name, ".", and each of keys. */
void sample_put_thing(struct buf *b, const char *kind, struct str thing,
		      const struct text_key *keys, size_t n, const double *values);

/* How many were beyond SAMPLE_MAX_THINGS; nothing when none. */
void sample_put_left_out(struct buf *b, const char *name, unsigned n);

/* ---- samplers of the node ------------------------------------------------------------------ */

/* A sampler that reads one file, or finds its files by itself. The names of its values are those
 * of keys; take fills values, which are NAN before, in the same order, and puts what has no fixed
 * name into more. */
struct sampler {
	const char *name;
	bool optional; /* a machine may be without what it reads */
	const char *path;
	enum sample_whole whole;
	const struct text_key *keys;
	size_t n_keys;
	/* Of the text of path. NULL: text_keys. */
	void (*parse)(void *self, struct str text, double *values, struct buf *more);
	/* Instead of path and parse. */
	int (*take)(void *self, struct sample_reader *r, double *values, struct buf *more,
		    struct err *err);
	/* Where it remembers something; NULL otherwise. -ENOMEM. */
	int (*open)(void **ret_self, const char *root);
	void (*close)(void *self, struct sample_reader *r);
};

extern const struct sampler sample_stat, sample_meminfo, sample_loadavg, sample_vmstat,
	sample_pressure_cpu, sample_pressure_memory, sample_pressure_io; /* sample_node.c */
extern const struct sampler sample_disks, sample_net;                    /* sample_device.c */
extern const struct sampler sample_nfs, sample_lustre;                   /* sample_remote.c */

/* The texts of mountstats (how many mounts), and of one stats file of llite; false: it is none. */
unsigned sample_nfs_read(struct str text, struct buf *more);
bool sample_lustre_read(struct str text, double values[8]);

/* "some avg10=0.00 ... total=123" in seconds; NAN where it is not there. */
void sample_pressure_read(struct str text, double *ret_some_s, double *ret_full_s);

/* ---- processes (sample_process.c) ---------------------------------------------------------- */

enum { PROCESS_QUICK = 8, PROCESS_VALUES = 14 };
extern const struct text_key sample_process_keys[PROCESS_VALUES];

/* The texts of /proc/PID/stat and io. ret_start_ticks 0: no such field. */
void sample_process_stat(struct str text, double *values, uint64_t *ret_start_ticks);
void sample_process_io(struct str text, double *values);

struct sampled {
	struct sampled *prev, *next;
	char *scope; /* "process:STREAM"; one allocation with run and exec */
	const char *run, *exec;
	pid_t pid;
	clockid_t clock; /* of its CPU time, once has_clock */
	uint64_t start_ticks;
	bool has_clock;
	bool gone, placed; /* placed: its groups have been looked for */
	bool fails, io_fails;
	bool final; /* its cost is */
	struct sample_file stat, io;
	double quick[PROCESS_QUICK]; /* the first values as they were at the last look */
	struct sample_group *group, *job;
	struct sample_cost since; /* what a share was when it came */
	struct sample_cost cost;  /* its own, once it is gone */
	double quiet_s;           /* of the quiet before its last sample */
};

/* Read one: 0, -ESRCH when it is gone, -EAGAIN, or why nothing is known of it. Not full: the first
 * PROCESS_QUICK values only; it becomes full where that can't be. ret_io_rc: as the result, for its
 * io alone. */
int sample_process_read(struct sampled *p, struct sample_reader *r, bool *full, double *values,
			int *ret_io_rc, struct err *err);

/* ---- control groups (sample_cgroup.c) ------------------------------------------------------ */

enum { GROUP_VALUES = 18, GROUP_FILES = 14 };
extern const struct text_key sample_group_keys[GROUP_VALUES];

struct sample_group {
	struct sample_group *prev, *next;
	char *scope;            /* "cgroup:PATH", "job:slurm:12" */
	char *job_scope;        /* "job:slurm:12", where the whole job is this one group; or NULL */
	const char *folders[4]; /* with its files, below the root; NULL: none */
	unsigned members;
	const struct sampled *first; /* of its members in this pass: its run is the group's */
	bool mixed;                  /* there are members of another run or execution */
	struct sample_file files[GROUP_FILES];
	double quiet_s;
};

/* Where hierarchies are mounted. */
struct sample_mounts {
	bool known;
	struct group_mount {
		char *folder, *from; /* mounted at; the part of the tree that is seen there */
	} unified, memory, cpu, io;
};

/* Of /proc/self/mountinfo. -ENOMEM. */
int sample_mounts_read(struct sample_mounts *m, struct str text);
void sample_mounts_done(struct sample_mounts *m);

/* Find or make the groups of a process from the text of its /proc/PID/cgroup, and count it in.
 * NULL where there is none. -ENOMEM: ret_group may be set, and is to be left. */
int sample_group_join(struct sample_group **list, const struct sample_mounts *m, struct str text,
		      struct sample_group **ret_group, struct sample_group **ret_job);
void sample_group_leave(struct sample_group **list, struct sample_group *g,
			struct sample_reader *r);

void sample_group_read(struct sample_group *g, struct sample_reader *r, double *values);

/* The text of one file of a group, by its place in the table (fuzzing). */
void sample_group_file(unsigned file, struct str text, double *values);

/* ---- all together (sample.c, sample_take.c) ------------------------------------------------ */

enum { SAMPLERS = 11 };
extern const struct sampler *const sample_table[SAMPLERS];

/* A line in the log when it has lasted, and one when it is over. */
struct sample_trouble {
	const char *name;
	unsigned failures; /* in a row */
	bool told;
	char text[200];
};

struct samples {
	struct sample_reader reader;
	char *root;
	uint64_t node_period_ns, process_period_ns;
	int64_t node_slot, process_slot; /* the instants that were sampled last */
	int64_t full_slot;               /* the second in which stat of processes was read last */
	bool when_idle, processes_too, groups_too;

	bool on[SAMPLERS], any_on;
	void *self[SAMPLERS];
	struct sample_file file[SAMPLERS];
	struct sample_trouble trouble[SAMPLERS], process_trouble, io_trouble;

	struct sampled *processes;
	unsigned followed; /* processes that are not gone */
	unsigned failing, io_failing;
	struct sample_group *groups;
	struct sample_mounts mounts;
	struct sample_file mounts_file;

	bool busy;
	char *run, *exec;
	bool quiet;
	uint64_t quiet_since_ns;
	double quiet_s, node_quiet_s; /* all of it; as much as frames of the node have told */

	struct buf values;
	struct sample_cost all, share; /* share: of one that was followed all the time */
};

struct sample_pass {
	struct samples *s;
	struct sample_time now;
	samples_put *put;
	void *arg;
	unsigned frames;
	bool full; /* all values of processes, not just those that cost little */
	bool went; /* a process was found gone */
};

/* Nothing more is read of it. What its samples have cost stays known. */
void sample_let_go(struct samples *s, struct sampled *p);

void sample_take_processes(struct sample_pass *pass);
void sample_take_groups(struct sample_pass *pass);
void sample_take_node(struct sample_pass *pass);

#endif
