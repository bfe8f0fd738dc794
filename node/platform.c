/* The machine: names from the kernel, topology from hwloc, NVIDIA from NVML or its driver's files,
 * AMD from the kernel's compute topology. */
#define _GNU_SOURCE
#include "node/platform.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/file.h"
#include "lib/num.h"
#include "node/nvml.h"

#define TEXT_MAX ((size_t)4 << 20)
#define ID_MAX 96

struct probe {
	struct platform *p;
	struct arena *a;
	const char *root;
};

/* ---- files ---- */

static char *read_text(const struct probe *p, const char *path)
{
	struct buf b = { .max = TEXT_MAX };
	char full[PATH_MAX];
	(void)snprintf(full, sizeof full, "%s%s", p->root, path);
	char *text = file_read(&b, full, NULL) == 0 && b.data ? arena_strndup(p->a, b.data, b.len)
							      : NULL;
	buf_done(&b);
	return text;
}

/* The first line, without its end. */
static const char *read_line(const struct probe *p, const char *path)
{
	char *text = read_text(p, path);
	if (text)
		text[strcspn(text, "\n")] = 0;
	return text && *text ? text : NULL;
}

static double read_number(const struct probe *p, const char *path)
{
	const char *text = read_line(p, path);
	char *end = NULL;
	double x = text ? strtod(text, &end) : (double)NAN;
	return text && end != text ? x : (double)NAN;
}

/* The value after "key" and a ':' or '=' at the start of a line, without quotes. */
static const char *value_of(const struct probe *p, const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, key, n) != 0)
			continue;
		const char *at = line + n + strspn(line + n, " \t");
		if (*at != ':' && *at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t\"");
		size_t len = strcspn(at, "\"\n");
		while (len && isspace((unsigned char)at[len - 1]))
			len--;
		return len ? arena_strndup(p->a, at, len) : NULL;
	}
	return NULL;
}

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

/* ---- names ---- */

/* Lower case, every other character than letter, digit, '.' and '_' a '-', no two in a row. */
static const char *slug(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, strlen(text) + 1);
	size_t n = 0;
	for (const char *p = text; out && *p && n < ID_MAX; p++) {
		bool word = isalnum((unsigned char)*p) || *p == '.' || *p == '_';
		if (word)
			out[n++] = (char)tolower((unsigned char)*p);
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (out && n && (out[n - 1] == '-' || out[n - 1] == '.'))
		out[--n] = 0;
	return out && n ? out : NULL;
}

static bool is_noise(const char *word, size_t n)
{
	static const char *const noise[] = { "(R)",       "(TM)",      "(tm)",          "CPU",
					     "Processor", "processor", "with",          "Radeon",
					     "Graphics",  "Gen",       "Technologies,", "Inc." };
	for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
		if (strlen(noise[i]) == n && strncmp(word, noise[i], n) == 0)
			return true;
	/* "64-Core", "13th" */
	const char *core = memmem(word, n, "-Core", 5);
	bool nth = n > 2 && isdigit((unsigned char)word[0]) &&
		   (strncmp(word + n - 2, "th", 2) == 0 || strncmp(word + n - 2, "nd", 2) == 0);
	return core || nth;
}

const char *platform_cpu_product(struct arena *a, const char *model)
{
	char *out = arena_alloc(a, strlen(model) + 2);
	size_t n = 0;
	if (!out)
		return NULL;
	/* What comes after '@' is a clock. Marks of ownership stick to the words. */
	for (const char *p = model; *p && *p != '@';) {
		size_t skip = strspn(p, " \t"), len;
		p += skip;
		len = strcspn(p, " \t@(");
		if (*p == '(')
			len = strcspn(p, ")") + (strchr(p, ')') ? 1 : 0);
		if (len && !is_noise(p, len)) {
			if (n)
				out[n++] = ' ';
			memcpy(out + n, p, len);
			n += len;
		}
		p += len;
	}
	out[n] = 0;
	return slug(a, out);
}

const char *platform_gpu_product(struct arena *a, const char *name)
{
	static const char *const vendors[] = { "NVIDIA ", "AMD ", "Advanced Micro Devices, Inc. ",
					       "Graphics Device " };
	for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
		if (strncmp(name, vendors[i], strlen(vendors[i])) == 0)
			name += strlen(vendors[i]);
	return slug(a, name);
}

int platform_check_id(const char *id, struct err *err)
{
	size_t n = strlen(id);
	const char *dash = strchr(id, '-'), *dot = strchr(id, '.');
	bool good = n > 0 && n <= ID_MAX && dash && dash != id && dot && dot > dash + 1 && dot[1];
	for (const char *p = id; good && *p; p++)
		good = islower((unsigned char)*p) || isdigit((unsigned char)*p) ||
		       strchr("-._", *p);
	if (!good)
		return err_set(
			err, -EINVAL,
			"platform \"%s\": expected <vendor>-<product>.<runtime><version> in "
			"lower case, as in nvidia-b200.cuda13.2 or cpu-amd-epyc-7763.linux6.1",
			id);
	return 0;
}

/* ---- the processor ---- */

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
	const char *maker = value_of(p, cpuinfo, "CPU implementer"),
		   *part = value_of(p, cpuinfo, "CPU part");
	if (!maker || !part)
		return NULL;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strtol(maker, NULL, 16) == parts[i].maker &&
		    strtol(part, NULL, 16) == parts[i].part)
			return parts[i].name;
	return arena_printf(p->a, "Arm %s-%s", maker, part);
}

static void read_cpu(struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const char *text = read_text(p, "/proc/cpuinfo");
	if (!text)
		return;
	i->cpu_model = value_of(p, text, "model name");
	if (!i->cpu_model)
		i->cpu_model = value_of(p, text, "cpu"); /* POWER */
	if (!i->cpu_model)
		i->cpu_model = arm_model(p, text);
	const char *flags = value_of(p, text, "flags");
	if (flags)
		i->tsc_invariant = has_word(flags, "constant_tsc") == YES &&
				   has_word(flags, "nonstop_tsc") == YES;
	if (has_word(flags, "hypervisor") == YES)
		i->hypervisor = "yes";
	else if (flags)
		i->hypervisor = "none";
}

/* Which one, where the kernel or the firmware tells. */
static void read_hypervisor(struct probe *p)
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
	const char *type = read_line(p, "/sys/hypervisor/type"),
		   *vendor = read_line(p, "/sys/class/dmi/id/sys_vendor");
	const char *clock =
		read_line(p, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
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

static void read_system(struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const char *meminfo = read_text(p, "/proc/meminfo"),
		   *release = read_text(p, "/etc/os-release");
	const char *total = meminfo ? value_of(p, meminfo, "MemTotal") : NULL;
	const char *host = read_line(p, "/proc/sys/kernel/hostname");
	i->kernel = read_line(p, "/proc/sys/kernel/osrelease");
	i->os = release ? value_of(p, release, "PRETTY_NAME") : NULL;
	i->clocksource =
		read_line(p, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (host)
		i->host = arena_strndup(p->a, host, strcspn(host, "."));
	if (total)
		i->memory_bytes = strtod(total, NULL) * 1024;
	double smt = read_number(p, "/sys/devices/system/cpu/smt/active");
	if (known(smt))
		i->smt = smt > 0 ? YES : NO;
	double boost = read_number(p, "/sys/devices/system/cpu/cpufreq/boost");
	double no_turbo = read_number(p, "/sys/devices/system/cpu/intel_pstate/no_turbo");
	if (known(boost))
		i->turbo = boost > 0 ? YES : NO;
	else if (known(no_turbo))
		i->turbo = no_turbo > 0 ? NO : YES;
}

static double count(hwloc_topology_t t, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(t, type);
	return n > 0 ? n : (double)NAN;
}

/* hwloc reads another root through its environment only; the caller is single-threaded. */
static void read_topology(struct probe *p)
{
	struct platform_info *i = &p->p->info;
	hwloc_topology_t t;
	if (p->root[0] && isnan(read_number(p, "/sys/devices/system/cpu/cpu0/topology/core_id")))
		return; /* it would print a complaint and take this machine instead */
	if (p->root[0])
		(void)setenv("HWLOC_FSROOT", p->root, 1);
	if (hwloc_topology_init(&t) == 0) {
		(void)hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
		if (hwloc_topology_load(t) == 0) {
			i->sockets = count(t, HWLOC_OBJ_PACKAGE);
			i->cores = count(t, HWLOC_OBJ_CORE);
			i->cpus = count(t, HWLOC_OBJ_PU);
			i->numa_nodes = count(t, HWLOC_OBJ_NUMANODE);
			hwloc_obj_t l3 = hwloc_get_obj_by_type(t, HWLOC_OBJ_L3CACHE, 0);
			if (l3 && l3->attr->cache.size)
				i->l3_bytes = (double)l3->attr->cache.size;
		}
		hwloc_topology_destroy(t);
	}
	if (p->root[0])
		(void)unsetenv("HWLOC_FSROOT");
	if (i->smt == UNKNOWN && known(i->cpus) && known(i->cores))
		i->smt = i->cpus > i->cores ? YES : NO;
}

/* ---- accelerators ---- */

static int name_it(struct probe *p, const char *vendor, const char *product, const char *runtime,
		   const char *why)
{
	struct platform *r = p->p;
	if (!product || !runtime)
		return -ENOMEM;
	r->info.vendor = vendor;
	r->info.product = product;
	r->info.runtime = runtime;
	r->why = why;
	r->id = arena_printf(p->a, "%s-%s.%s", vendor, product, runtime);
	return r->id && why ? 0 : -ENOMEM;
}

/* 0 named, 1 none here. */
static int nvidia_by_nvml(struct probe *p, const char *library)
{
	struct platform_info *i = &p->p->info;
	struct nvml_info n;
	if (!library || nvml_ask(library, &n))
		return 1;
	const char *runtime =
		n.cuda ? arena_printf(p->a, "cuda%d.%d", n.cuda / 1000, n.cuda % 1000 / 10)
		       : arena_printf(p->a, "driver%d", atoi(n.driver));
	i->device_count = n.count;
	if (n.memory_bytes)
		i->device_memory_bytes = (double)n.memory_bytes;
	if (n.driver[0])
		i->driver = arena_strdup(p->a, n.driver);
	return name_it(
		p, "nvidia", platform_gpu_product(p->a, n.name), runtime,
		arena_printf(p->a,
			     "NVML names device 0 of %u \"%s\" and tells the driver's version",
			     n.count, n.name));
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..." */
static const char *driver_version(const struct probe *p)
{
	const char *text = read_line(p, "/proc/driver/nvidia/version");
	for (const char *at = text; at && *at; at++)
		if (isdigit((unsigned char)*at) && (at == text || at[-1] == ' ')) {
			size_t n = strspn(at, "0123456789.");
			if (n > 3 && memchr(at, '.', n))
				return arena_strndup(p->a, at, n);
		}
	return NULL;
}

static int nvidia_by_files(struct probe *p)
{
	struct platform_info *i = &p->p->info;
	char path[PATH_MAX];
	const char *model = NULL;
	double devices = 0;
	(void)snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", p->root);
	DIR *dir = opendir(path);
	if (!dir)
		return 1;
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.200s/information",
			       e->d_name);
		const char *text = read_text(p, path);
		devices++;
		if (text && !model)
			model = value_of(p, text, "Model");
	}
	(void)closedir(dir);
	if (!model)
		return 1;
	i->driver = driver_version(p);
	i->device_count = devices;
	return name_it(p, "nvidia", platform_gpu_product(p->a, model),
		       i->driver ? arena_printf(p->a, "driver%d", atoi(i->driver)) : "cuda0",
		       arena_printf(p->a,
				    "the NVIDIA driver lists a \"%s\"; NVML (%s) is not there to "
				    "tell the CUDA version",
				    model, PLATFORM_NVML));
}

static const char *amd_name(const struct probe *p)
{
	for (int card = 0; card < 128; card++) {
		char path[128];
		(void)snprintf(path, sizeof path, "/sys/class/drm/card%d/device/vendor", card);
		const char *vendor = read_line(p, path);
		if (!vendor || strcmp(vendor, "0x1002") != 0)
			continue;
		(void)snprintf(path, sizeof path, "/sys/class/drm/card%d/device/product_name",
			       card);
		const char *name = read_line(p, path);
		if (name)
			return name;
	}
	return NULL;
}

/* GPUs are the nodes with SIMDs; gfx_target_version 90402 is gfx942. */
static int amd_by_files(struct probe *p)
{
	struct platform_info *i = &p->p->info;
	double devices = 0, target = NAN;
	for (int node = 0; node < 256; node++) {
		char path[128];
		(void)snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/properties",
			       node);
		char *text = read_text(p, path);
		if (!text)
			break;
		const char *simds = strstr(text, "simd_count "),
			   *gfx = strstr(text, "gfx_target_version ");
		if (!simds || strtol(simds + 11, NULL, 10) <= 0)
			continue;
		devices++;
		if (gfx && !known(target))
			target = strtod(gfx + 19, NULL);
	}
	if (devices == 0)
		return 1;
	const char *name = amd_name(p), *rocm = read_line(p, "/opt/rocm/.info/version");
	if (!name && known(target))
		name = arena_printf(p->a, "gfx%.0f%.0f%x", floor(target / 10000),
				    fmod(floor(target / 100), 100), (unsigned)fmod(target, 100));
	i->driver = read_line(p, "/sys/module/amdgpu/version");
	i->device_count = devices;
	int major = 0, minor = 0;
	bool versioned = rocm && sscanf(rocm, "%d.%d", &major, &minor) == 2;
	return name_it(p, "amd", platform_gpu_product(p->a, name ? name : "gpu"),
		       versioned ? arena_printf(p->a, "rocm%d.%d", major, minor) : "rocm0",
		       arena_printf(p->a, "the kernel's compute topology has %.0f GPU%s; %s",
				    devices, devices == 1 ? "" : "s",
				    versioned ? "ROCm is installed"
					      : "no ROCm was found to tell its version"));
}

static int name_by_cpu(struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const char *product = i->cpu_model ? platform_cpu_product(p->a, i->cpu_model) : NULL;
	int major = 0, minor = 0;
	bool versioned = i->kernel && sscanf(i->kernel, "%d.%d", &major, &minor) == 2;
	return name_it(
		p, "cpu", product ? product : "unknown",
		versioned ? arena_printf(p->a, "linux%d.%d", major, minor) : "linux0",
		arena_printf(
			p->a,
			"no accelerator was found, so it is the CPU, \"%s\", and the kernel, %s",
			i->cpu_model ? i->cpu_model : "of unknown model",
			i->kernel ? i->kernel : "of unknown release"));
}

int platform_probe(struct platform *ret, struct arena *a, const struct platform_options *o,
		   struct err *err)
{
	struct probe p = { .p = ret, .a = a, .root = o->root ? o->root : "" };
	*ret = (struct platform){ .id = NULL };
	block_clear(&platform_info_block, &ret->info);
	read_cpu(&p);
	read_hypervisor(&p);
	read_system(&p);
	read_topology(&p);
	int rc = nvidia_by_nvml(&p, o->nvml);
	if (rc > 0)
		rc = nvidia_by_files(&p);
	if (rc > 0)
		rc = amd_by_files(&p);
	if (rc > 0)
		rc = name_by_cpu(&p);
	return rc ? err_set(err, -ENOMEM, "out of memory") : 0;
}
