/* The node as a whole: one file of /proc each. */
#include "agent/sample_impl.h"

#include <unistd.h>

/* ---- /proc/stat: ticks since boot ---- */

enum { STAT_CPU = 8, STAT_LINES = 4 };

/* The words of the line "cpu" in their order, which proc(5) promises, then lines by their key. */
static const struct text_key stat_keys[STAT_CPU + STAT_LINES] = {
	{ "user", "cpu_user_s", 1, 1 },       { "nice", "cpu_nice_s", 1, 1 },
	{ "system", "cpu_system_s", 1, 1 },   { "idle", "cpu_idle_s", 1, 1 },
	{ "iowait", "cpu_iowait_s", 1, 1 },   { "irq", "cpu_irq_s", 1, 1 },
	{ "softirq", "cpu_softirq_s", 1, 1 }, { "steal", "cpu_steal_s", 1, 1 },
	{ "ctxt", "context_switches", 1, 1 }, { "processes", "forks", 1, 1 },
	{ "procs_running", "running", 1, 1 }, { "procs_blocked", "blocked", 1, 1 },
};

static void stat_parse(void *self, struct str text, double *values, struct buf *more)
{
	(void)self;
	(void)more;
	struct str rest = text, line, word;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	while (text_line(&rest, &line)) {
		if (!text_word(&line, &word) || !text_is(word, "cpu"))
			continue;
		for (size_t i = 0; i < STAT_CPU; i++)
			values[i] = text_next_number(&line) / ticks;
		break;
	}
	text_keys(text, stat_keys + STAT_CPU, STAT_LINES, values + STAT_CPU);
}

const struct sampler sample_stat = {
	.name = "stat",
	.path = "/proc/stat",
	.whole = SAMPLE_ONE_PIECE,
	.keys = stat_keys,
	.n_keys = COUNT(stat_keys),
	.parse = stat_parse,
};

/* ---- /proc/meminfo: kibibytes, which it calls kB ---- */

static const struct text_key meminfo_keys[] = {
	{ "MemTotal", "mem_total_bytes", 1024, 1 },
	{ "MemFree", "mem_free_bytes", 1024, 1 },
	{ "MemAvailable", "mem_available_bytes", 1024, 1 },
	{ "Buffers", "mem_buffers_bytes", 1024, 1 },
	{ "Cached", "mem_cached_bytes", 1024, 1 },
	{ "SwapTotal", "swap_total_bytes", 1024, 1 },
	{ "SwapFree", "swap_free_bytes", 1024, 1 },
	{ "Dirty", "mem_dirty_bytes", 1024, 1 },
	{ "Writeback", "mem_writeback_bytes", 1024, 1 },
	{ "AnonPages", "mem_anon_bytes", 1024, 1 },
	{ "Shmem", "mem_shmem_bytes", 1024, 1 },
	{ "Slab", "mem_slab_bytes", 1024, 1 },
};

const struct sampler sample_meminfo = {
	.name = "meminfo",
	.path = "/proc/meminfo",
	.whole = SAMPLE_ONE_PIECE,
	.keys = meminfo_keys,
	.n_keys = COUNT(meminfo_keys),
};

/* ---- /proc/loadavg ---- */

static const struct text_key loadavg_keys[] = { { "", "load_1min", 1, 1 } };

static void loadavg_parse(void *self, struct str text, double *values, struct buf *more)
{
	struct str line;
	(void)self;
	(void)more;
	if (text_line(&text, &line))
		values[0] = text_next_number(&line);
}

const struct sampler sample_loadavg = {
	.name = "loadavg",
	.path = "/proc/loadavg",
	.whole = SAMPLE_ONE_PIECE,
	.keys = loadavg_keys,
	.n_keys = COUNT(loadavg_keys),
	.parse = loadavg_parse,
};

/* ---- /proc/vmstat ---- */

static const struct text_key vmstat_keys[] = {
	{ "numa_miss", "numa_misses", 1, 1 },
	{ "pswpin", "swap_in_pages", 1, 1 },
	{ "pswpout", "swap_out_pages", 1, 1 },
	{ "pgfault", "page_faults", 1, 1 },
	{ "pgmajfault", "page_faults_major", 1, 1 },
	{ "oom_kill", "oom_kills", 1, 1 },
	{ "numa_pages_migrated", "numa_migrated_pages", 1, 1 },
	{ "thp_fault_fallback", "huge_page_fallbacks", 1, 1 },
};

const struct sampler sample_vmstat = {
	.name = "vmstat",
	.path = "/proc/vmstat",
	.keys = vmstat_keys,
	.n_keys = COUNT(vmstat_keys),
};

/* ---- /proc/pressure: microseconds ---- */

void sample_pressure_read(struct str text, double *ret_some_s, double *ret_full_s)
{
	struct str line, word;
	while (text_line(&text, &line)) {
		if (!text_word(&line, &word))
			continue;
		double *ret = text_is(word, "some")   ? ret_some_s
			      : text_is(word, "full") ? ret_full_s
						      : NULL;
		while (ret && text_word(&line, &word)) {
			if (!text_begins(word, "total="))
				continue;
			word.p += 6;
			word.n -= 6;
			*ret = text_number(word) / 1e6;
		}
	}
}

/* Of the whole machine the kernel writes 0 for "full" of cpu, which is undefined there. */
static void pressure_parse_some(void *self, struct str text, double *values, struct buf *more)
{
	double undefined;
	(void)self;
	(void)more;
	sample_pressure_read(text, &values[0], &undefined);
}

static void pressure_parse(void *self, struct str text, double *values, struct buf *more)
{
	(void)self;
	(void)more;
	sample_pressure_read(text, &values[0], &values[1]);
}

static const struct text_key pressure_cpu_keys[] = { { "some", "cpu_some_s", 1, 1 } };
static const struct text_key pressure_memory_keys[] = { { "some", "memory_some_s", 1, 1 },
							{ "full", "memory_full_s", 1, 1 } };
static const struct text_key pressure_io_keys[] = { { "some", "io_some_s", 1, 1 },
						    { "full", "io_full_s", 1, 1 } };

const struct sampler sample_pressure_cpu = {
	.name = "pressure",
	.optional = true,
	.path = "/proc/pressure/cpu",
	.whole = SAMPLE_ONE_PIECE,
	.keys = pressure_cpu_keys,
	.n_keys = COUNT(pressure_cpu_keys),
	.parse = pressure_parse_some,
};

const struct sampler sample_pressure_memory = {
	.name = "pressure",
	.optional = true,
	.path = "/proc/pressure/memory",
	.whole = SAMPLE_ONE_PIECE,
	.keys = pressure_memory_keys,
	.n_keys = COUNT(pressure_memory_keys),
	.parse = pressure_parse,
};

const struct sampler sample_pressure_io = {
	.name = "pressure",
	.optional = true,
	.path = "/proc/pressure/io",
	.whole = SAMPLE_ONE_PIECE,
	.keys = pressure_io_keys,
	.n_keys = COUNT(pressure_io_keys),
	.parse = pressure_parse,
};
