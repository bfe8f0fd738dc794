/* The processor and the system: names from the kernel, topology from hwloc. */
#define _GNU_SOURCE
#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "node/platform_impl.h"
#include "node/sysfile.h"

static enum ternary has_word(const char *words, const char *word)
{
	size_t n = strlen(word);
	if (!words)
		return UNKNOWN;
	for (const char *at = words; (at = strstr(at, word)); at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return YES;
	return NO;
}

/* Where the kernel gives numbers only: Arm's parts, as they are in its manuals. */
static const char *arm_model(const struct probe *p, const char *cpuinfo)
{
	static const struct {
		long maker, part;
		const char *name;
	} parts[] = {
		{ 0x41, 0xd0c, "Arm Neoverse-N1" },  { 0x41, 0xd49, "Arm Neoverse-N2" },
		{ 0x41, 0xd40, "Arm Neoverse-V1" },  { 0x41, 0xd4f, "Arm Neoverse-V2" },
		{ 0x41, 0xd08, "Arm Cortex-A72" },   { 0x41, 0xd0b, "Arm Cortex-A76" },
		{ 0x46, 0x001, "Fujitsu A64FX" },    { 0x48, 0xd01, "HiSilicon Kunpeng-920" },
		{ 0x43, 0x0af, "Cavium ThunderX2" }, { 0xc0, 0xac3, "Ampere Altra" },
	};
	const char *maker = sysfile_value(p->a, cpuinfo, "CPU implementer"),
		   *part = sysfile_value(p->a, cpuinfo, "CPU part");
	if (!maker || !part)
		return NULL;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strtol(maker, NULL, 16) == parts[i].maker &&
		    strtol(part, NULL, 16) == parts[i].part)
			return parts[i].name;
	return arena_printf(p->a, "Arm %s-%s", maker, part);
}

static void read_model(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const char *text = sysfile_text(p->a, p->root, "/proc/cpuinfo");
	if (!text)
		return;
	i->cpu_model = sysfile_value(p->a, text, "model name");
	if (!i->cpu_model)
		i->cpu_model = sysfile_value(p->a, text, "cpu"); /* POWER */
	if (!i->cpu_model)
		i->cpu_model = arm_model(p, text);
	const char *flags = sysfile_value(p->a, text, "flags");
	if (flags)
		i->tsc_invariant = has_word(flags, "constant_tsc") == YES &&
				   has_word(flags, "nonstop_tsc") == YES;
	if (has_word(flags, "hypervisor") == YES)
		i->hypervisor = "yes";
	else if (flags)
		i->hypervisor = "none";
}

/* Which one, where the kernel or the firmware tells. */
static void read_hypervisor(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
	static const struct {
		const char *text, *name;
	} known_ones[] = {
		{ "KVM", "kvm" },           { "QEMU", "kvm" },
		{ "VMware", "vmware" },     { "VirtualBox", "virtualbox" },
		{ "Microsoft", "hyper-v" }, { "Xen", "xen" },
		{ "Amazon EC2", "kvm" },    { "Google", "kvm" },
	};
	const char *type = sysfile_line(p->a, p->root, "/sys/hypervisor/type"),
		   *vendor = sysfile_line(p->a, p->root, "/sys/class/dmi/id/sys_vendor");
	const char *clock =
		sysfile_line(p->a, p->root,
			     "/sys/devices/system/clocksource/clocksource0/available_clocksource");
	if (i->hypervisor && strcmp(i->hypervisor, "none") == 0)
		return;
	if (type)
		i->hypervisor = type;
	else if (clock && strstr(clock, "kvm-clock"))
		i->hypervisor = "kvm";
	else if (clock && strstr(clock, "hyperv"))
		i->hypervisor = "hyper-v";
	for (size_t k = 0; i->hypervisor && vendor && k < sizeof known_ones / sizeof *known_ones;
	     k++)
		if (strcmp(i->hypervisor, "yes") == 0 && strstr(vendor, known_ones[k].text))
			i->hypervisor = known_ones[k].name;
}

static void read_system(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const char *meminfo = sysfile_text(p->a, p->root, "/proc/meminfo"),
		   *release = sysfile_text(p->a, p->root, "/etc/os-release");
	const char *total = meminfo ? sysfile_value(p->a, meminfo, "MemTotal") : NULL;
	const char *host = sysfile_line(p->a, p->root, "/proc/sys/kernel/hostname");
	i->kernel = sysfile_line(p->a, p->root, "/proc/sys/kernel/osrelease");
	i->os = release ? sysfile_value(p->a, release, "PRETTY_NAME") : NULL;
	i->clocksource = sysfile_line(
		p->a, p->root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (host)
		i->host = arena_strndup(p->a, host, strcspn(host, "."));
	if (total)
		i->memory_bytes = strtod(total, NULL) * 1024;
	double smt = sysfile_number(p->root, "/sys/devices/system/cpu/smt/active");
	if (known(smt))
		i->smt = smt > 0 ? YES : NO;
	double boost = sysfile_number(p->root, "/sys/devices/system/cpu/cpufreq/boost");
	double no_turbo = sysfile_number(p->root, "/sys/devices/system/cpu/intel_pstate/no_turbo");
	if (known(boost))
		i->turbo = boost > 0 ? YES : NO;
	else if (known(no_turbo))
		i->turbo = no_turbo > 0 ? NO : YES;
}

/* What sets the frequency, and how far; cpu 0 stands for all. */
static void read_frequency(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
#define CPUFREQ "/sys/devices/system/cpu/cpu0/cpufreq/"
	double khz = sysfile_number(p->root, CPUFREQ "cpuinfo_max_freq");
	i->cpu_khz_limit = khz > 0 ? khz : (double)NAN;
	i->cpu_driver = sysfile_line(p->a, p->root, CPUFREQ "scaling_driver");
	i->cpu_governor = sysfile_line(p->a, p->root, CPUFREQ "scaling_governor");
}

/* ---- topology, by hwloc ---- */

static double count(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);
	return n > 0 ? n : (double)NAN;
}

/* Size of the first of a kind, and how many CPUs share it. */
static void read_cache(hwloc_topology_t t, hwloc_obj_type_t type, double *ret_bytes,
		       double *ret_cpus)
{
	hwloc_obj_t cache = hwloc_get_obj_by_type(t, type, 0);
	if (!cache || !cache->attr->cache.size)
		return;
	*ret_bytes = (double)cache->attr->cache.size;
	if (ret_cpus && cache->cpuset && hwloc_bitmap_weight(cache->cpuset) > 0)
		*ret_cpus = hwloc_bitmap_weight(cache->cpuset);
}

static void read_memory_nodes(const struct probe *p, hwloc_topology_t t)
{
	struct platform_info *i = &p->p->info;
	int n = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
	double *bytes = n > 0 ? arena_array(p->a, (size_t)n, sizeof *bytes) : NULL;
	for (int k = 0; bytes && k < n; k++) {
		hwloc_obj_t node = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, (unsigned)k);
		bytes[k] = node ? (double)node->attr->numanode.local_memory : (double)NAN;
	}
	i->numa_memory_bytes = (struct nums){ bytes, bytes ? (size_t)n : 0 };
}

static void read_objects(const struct probe *p, hwloc_topology_t t)
{
	struct platform_info *i = &p->p->info;
	i->sockets = count(t, HWLOC_OBJ_PACKAGE);
	i->cores = count(t, HWLOC_OBJ_CORE);
	i->cpus = count(t, HWLOC_OBJ_PU);
	i->numa_nodes = count(t, HWLOC_OBJ_NUMANODE);
	read_cache(t, HWLOC_OBJ_L1CACHE, &i->l1d_bytes, NULL);
	read_cache(t, HWLOC_OBJ_L2CACHE, &i->l2_bytes, &i->l2_cpus);
	read_cache(t, HWLOC_OBJ_L3CACHE, &i->l3_bytes, &i->l3_cpus);
	read_memory_nodes(p, t);
}

/* hwloc reads another root through its environment only; the caller is single-threaded. */
static void read_topology(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
	hwloc_topology_t t;
	if (p->root[0] &&
	    isnan(sysfile_number(p->root, "/sys/devices/system/cpu/cpu0/topology/core_id")))
		return; /* it would print a complaint and take this machine instead */
	if (p->root[0])
		(void)setenv("HWLOC_FSROOT", p->root, 1);
	if (hwloc_topology_init(&t) == 0) {
		(void)hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
		if (hwloc_topology_load(t) == 0)
			read_objects(p, t);
		hwloc_topology_destroy(t);
	}
	if (p->root[0])
		(void)unsetenv("HWLOC_FSROOT");
	if (i->smt == UNKNOWN && known(i->cpus) && known(i->cores))
		i->smt = i->cpus > i->cores ? YES : NO;
}

void platform_read_cpu(const struct probe *p)
{
	read_model(p);
	read_hypervisor(p);
	read_system(p);
	read_frequency(p);
	read_topology(p);
}
