/* One process: preads of descriptors that are kept. They answer ESRCH once it is gone, so that
 * nobody is ever taken for it who got its number.
 *
 * stat costs twice what io does, and tells CPU time in ticks. So it is read once a second at most;
 * in between its CPU clock is asked, which has nanoseconds and costs the least of all three. */
#define _GNU_SOURCE
#include "agent/sample_impl.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	CPU,        /* its clock, or the sum of the ticks where that can't be asked */
	READ_CHARS, /* from here on: /proc/PID/io */
	WRITE_CHARS,
	READ_CALLS,
	WRITE_CALLS,
	READ_BYTES,
	WRITE_BYTES,
	CANCELLED_BYTES,
	CPU_USER, /* PROCESS_QUICK; from here on: /proc/PID/stat */
	CPU_SYSTEM,
	FAULTS_MINOR,
	FAULTS_MAJOR,
	RSS,
	THREADS,
};

static_assert((int)CPU_USER == PROCESS_QUICK && (int)THREADS + 1 == PROCESS_VALUES,
	      "as in the header");

/* What io has includes children that were waited for, what stat has does not. */
const struct text_key sample_process_keys[PROCESS_VALUES] = {
	[CPU] = { "", "cpu_s", 1, 1 },
	[READ_CHARS] = { "rchar", "read_call_bytes", 1, 1 },
	[WRITE_CHARS] = { "wchar", "write_call_bytes", 1, 1 },
	[READ_CALLS] = { "syscr", "read_calls", 1, 1 },
	[WRITE_CALLS] = { "syscw", "write_calls", 1, 1 },
	[READ_BYTES] = { "read_bytes", "read_bytes", 1, 1 },
	[WRITE_BYTES] = { "write_bytes", "write_bytes", 1, 1 },
	[CANCELLED_BYTES] = { "cancelled_write_bytes", "cancelled_write_bytes", 1, 1 },
	[CPU_USER] = { "", "cpu_user_s", 1, 1 },
	[CPU_SYSTEM] = { "", "cpu_system_s", 1, 1 },
	[FAULTS_MINOR] = { "", "page_faults_minor", 1, 1 },
	[FAULTS_MAJOR] = { "", "page_faults_major", 1, 1 },
	[RSS] = { "", "rss_bytes", 1, 1 },
	[THREADS] = { "", "threads", 1, 1 },
};

/* Numbers of fields as in proc(5). */
enum {
	FIELD_MINFLT = 10,
	FIELD_MAJFLT = 12,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_THREADS = 20,
	FIELD_START = 22,
	FIELD_RSS = 24,
};

/* The fields stand behind the name, which may hold blanks, brackets and line ends. */
void sample_process_stat(struct str text, double *values, uint64_t *ret_start_ticks)
{
	double fields[FIELD_RSS + 1];
	const char *name_end = text.n ? memrchr(text.p, ')', text.n) : NULL;
	struct str rest, line = { .p = NULL };
	*ret_start_ticks = 0;
	if (!name_end)
		return;
	rest = (struct str){ .p = name_end + 1, .n = text.n - (size_t)(name_end + 1 - text.p) };
	(void)text_line(&rest, &line);
	for (int i = 3; i <= FIELD_RSS; i++)
		fields[i] = text_next_number(&line);
	double ticks = (double)sysconf(_SC_CLK_TCK);
	values[CPU_USER] = fields[FIELD_UTIME] / ticks;
	values[CPU_SYSTEM] = fields[FIELD_STIME] / ticks;
	values[FAULTS_MINOR] = fields[FIELD_MINFLT];
	values[FAULTS_MAJOR] = fields[FIELD_MAJFLT];
	values[RSS] = fields[FIELD_RSS] * (double)sysconf(_SC_PAGESIZE);
	values[THREADS] = fields[FIELD_THREADS];
	if (fields[FIELD_START] < 1e18)
		*ret_start_ticks = (uint64_t)fields[FIELD_START];
}

void sample_process_io(struct str text, double *values)
{
	text_keys(text, sample_process_keys + READ_CHARS, CPU_USER - READ_CHARS,
		  values + READ_CHARS);
}

static int read_file(struct sampled *p, struct sample_reader *r, struct sample_file *f,
		     const char *name, struct str *ret, struct err *err)
{
	char path[64];
	if (f->fd < 0)
		(void)snprintf(path, sizeof path, "/proc/%ld/%s", (long)p->pid, name);
	return sample_read(r, f, f->fd < 0 ? path : NULL, SAMPLE_ONE_PIECE, ret, err);
}

/* A process that is there and can't be found: /proc is mounted with hidepid. */
static int hidden(const struct sampled *p, const struct sample_reader *r, struct err *err)
{
	if (*r->root || (kill(p->pid, 0) && errno == ESRCH))
		return -ESRCH;
	return err_set(err, -EACCES, "/proc/%ld is hidden from this user (hidepid)", (long)p->pid);
}

/* The clock of another process may be read by anybody. */
static double cpu_clock_s(struct sampled *p, const struct sample_reader *r)
{
	struct timespec t;
	if (*r->root || (!p->has_clock && clock_getcpuclockid(p->pid, &p->clock)))
		return (double)NAN;
	p->has_clock = true;
	if (clock_gettime(p->clock, &t))
		return (double)NAN;
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_stat(struct sampled *p, struct sample_reader *r, double *values, struct err *err)
{
	struct str text;
	uint64_t start;
	int rc = read_file(p, r, &p->stat, "stat", &text, err);
	if (rc == -ENOENT)
		return hidden(p, r, err);
	if (rc)
		return rc;
	sample_process_stat(text, values, &start);
	return p->start_ticks && start && start != p->start_ticks ? -ESRCH : 0;
}

int sample_process_read(struct sampled *p, struct sample_reader *r, bool *full, double *values,
			int *ret_io_rc, struct err *err)
{
	struct str text;
	for (int i = 0; i < PROCESS_VALUES; i++)
		values[i] = (double)NAN;
	*ret_io_rc = 0;
	/* Only a descriptor that is kept proves that the clock was this process's. */
	*full |= p->stat.fd < 0 || p->io.fd < 0;
	int rc = *full ? read_stat(p, r, values, err) : 0;
	if (rc)
		return rc;
	double cpu_s = cpu_clock_s(p, r);
	if (!*full && cpu_s == p->quick[CPU]) {
		memcpy(values, p->quick, sizeof p->quick);
		return 0;
	}
	values[CPU] = known(cpu_s) ? cpu_s : values[CPU_USER] + values[CPU_SYSTEM];
	rc = read_file(p, r, &p->io, "io", &text, err);
	if (rc == -ESRCH)
		return rc;
	if (!rc)
		sample_process_io(text, values);
	memcpy(p->quick, values, sizeof p->quick);
	if (rc)
		p->quick[CPU] = (double)NAN; /* is like no other */
	*ret_io_rc = rc;
	return 0;
}
