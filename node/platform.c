/* The machine's name, out of its accelerators or its processor. */
#define _GNU_SOURCE
#include "node/platform.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/num.h"
#include "node/aside.h"
#include "node/device.h"
#include "node/platform_impl.h"
#include "node/sysfile.h"
#include "schema/codec.h"

#define ID_MAX 96
#define DRIVER_LIMIT_S 20.0 /* eight devices whose driver was not loaded yet take several */

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

/* ---- accelerators ---- */

static int name_it(const struct probe *p, const char *vendor, const char *product,
		   const char *runtime, const char *why)
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

/* In the child: all that the drivers tell, as bytes of the block. */
static int ask_drivers(struct buf *out, void *arg)
{
	struct platform_info info;
	struct arena a = { 0 };
	struct devices *d = NULL;
	int rc = devices_open(&d, arg);
	if (rc)
		return rc;
	block_clear(&platform_info_block, &info);
	info.driver = devices_driver(d);
	if (devices_cuda(d))
		info.runtime = arena_printf(&a, "cuda%d.%d", devices_cuda(d) / 1000,
					    devices_cuda(d) % 1000 / 10);
	info.devices.n = devices_count(d);
	info.devices.items = arena_array(&a, info.devices.n + 1, sizeof *info.devices.items);
	for (size_t i = 0; info.devices.items && i < info.devices.n; i++)
		devices_describe(d, i, &a, &info.devices.items[i]);
	rc = info.devices.items ? block_clean(&a, &platform_info_block, &info) : -ENOMEM;
	if (!rc)
		block_put(out, &platform_info_block, &info);
	devices_close(d);
	arena_free(&a);
	return rc;
}

/* What a driver did that did not answer, or NULL. */
static int ask(const struct probe *p, const struct platform_options *o, const char **ret_silent)
{
	struct device_options with = { .root = p->root, .nvml = o->nvml };
	double limit_s = o->driver_limit_s > 0 ? o->driver_limit_s : DRIVER_LIMIT_S;
	struct platform_info told;
	struct buf b = { 0 };
	*ret_silent = NULL;
	block_clear(&platform_info_block, &told);
	int rc = aside(&b, limit_s, ask_drivers, &with);
	if (rc == -ETIMEDOUT)
		*ret_silent = arena_printf(p->a, "did not answer within %g s", limit_s);
	else if (rc == -ECHILD)
		*ret_silent = "crashed when it was asked";
	if (*ret_silent && with.nvml) { /* the others may answer */
		with.nvml = NULL;
		rc = aside(&b, limit_s, ask_drivers, &with);
	}
	if (!rc)
		rc = block_get(p->a, &platform_info_block, &told, b.data ? b.data : "", b.len,
			       NULL);
	buf_done(&b);
	if (!rc) {
		p->p->info.driver = told.driver;
		p->p->info.runtime = told.runtime;
		p->p->info.devices.items = told.devices.items;
		p->p->info.devices.n = told.devices.n;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* The first accelerator of a vendor. Counts them all, and takes its memory for that of each. */
static const struct accelerator *first_of(const struct probe *p, const char *vendor)
{
	struct platform_info *i = &p->p->info;
	const struct accelerator *first = NULL;
	double n = 0;
	for (size_t k = 0; k < i->devices.n; k++) {
		const struct accelerator *d = &i->devices.items[k];
		if (!d->vendor || strcmp(d->vendor, vendor) != 0)
			continue;
		first = first ? first : d;
		n++;
	}
	if (first) {
		i->device_count = n;
		i->device_memory_bytes = first->memory_bytes;
	}
	return first;
}

/* 0 named, 1 none here; so do all of these. */
static int nvidia_by_nvml(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const struct accelerator *d = first_of(p, "nvidia");
	if (!d || !d->name)
		return 1;
	const char *runtime = i->runtime;
	if (!runtime)
		runtime = arena_printf(p->a, "driver%d", i->driver ? atoi(i->driver) : 0);
	return name_it(
		p, "nvidia", platform_gpu_product(p->a, d->name), runtime,
		arena_printf(p->a,
			     "NVML names device 0 of %.0f \"%s\" and tells the driver's version",
			     i->device_count, d->name));
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..." */
static const char *driver_version(const struct probe *p)
{
	const char *text = sysfile_line(p->a, p->root, "/proc/driver/nvidia/version");
	for (const char *at = text; at && *at; at++)
		if (isdigit((unsigned char)*at) && (at == text || at[-1] == ' ')) {
			size_t n = strspn(at, "0123456789.");
			if (n > 3 && memchr(at, '.', n))
				return arena_strndup(p->a, at, n);
		}
	return NULL;
}

static int not_dot(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int list_driver_files(const struct probe *p, struct dirent **names, size_t n)
{
	struct accelerator *list = arena_array(p->a, n + 1, sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		char path[PATH_MAX];
		(void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.200s/information",
			       names[i]->d_name);
		const char *text = sysfile_text(p->a, p->root, path);
		block_clear(&accelerator_block, &list[i]);
		list[i].vendor = "nvidia";
		list[i].source = "driver";
		list[i].place = arena_strdup(p->a, names[i]->d_name);
		list[i].name = text ? sysfile_value(p->a, text, "Model") : NULL;
	}
	p->p->info.devices.items = list;
	p->p->info.devices.n = n;
	return 0;
}

static int nvidia_by_files(const struct probe *p, const char *silent)
{
	struct platform_info *i = &p->p->info;
	struct dirent **names = NULL;
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", p->root);
	int n = scandir(path, &names, not_dot, alphasort);
	int rc = n > 0 ? list_driver_files(p, names, (size_t)n) : 1;
	for (int k = 0; k < n; k++)
		free(names[k]);
	free(names);
	const struct accelerator *d = rc ? NULL : first_of(p, "nvidia");
	if (rc || !d || !d->name)
		return rc ? rc : 1;
	i->driver = driver_version(p);
	return name_it(p, "nvidia", platform_gpu_product(p->a, d->name),
		       i->driver ? arena_printf(p->a, "driver%d", atoi(i->driver)) : "cuda0",
		       arena_printf(p->a,
				    "the NVIDIA driver lists a \"%s\"; NVML (%s) %s to tell the "
				    "CUDA version",
				    d->name, PLATFORM_NVML, silent ? silent : "is not there"));
}

static int amd_by_files(const struct probe *p)
{
	struct platform_info *i = &p->p->info;
	const struct accelerator *d = first_of(p, "amd");
	int major = 0, minor = 0;
	if (!d)
		return 1;
	const char *rocm = sysfile_line(p->a, p->root, "/opt/rocm/.info/version");
	bool versioned = rocm && sscanf(rocm, "%d.%d", &major, &minor) == 2;
	i->driver = sysfile_line(p->a, p->root, "/sys/module/amdgpu/version");
	return name_it(p, "amd", platform_gpu_product(p->a, d->name ? d->name : "gpu"),
		       versioned ? arena_printf(p->a, "rocm%d.%d", major, minor) : "rocm0",
		       arena_printf(p->a, "the kernel's compute topology has %.0f GPU%s; %s",
				    i->device_count, i->device_count == 1 ? "" : "s",
				    versioned ? "ROCm is installed"
					      : "no ROCm was found to tell its version"));
}

static const char *linux_version(const struct probe *p)
{
	int major = 0, minor = 0;
	bool versioned =
		p->p->info.kernel && sscanf(p->p->info.kernel, "%d.%d", &major, &minor) == 2;
	return versioned ? arena_printf(p->a, "linux%d.%d", major, minor) : "linux0";
}

/* The driver is a part of the kernel, and no file tells the version of a runtime. */
static int intel_by_files(const struct probe *p)
{
	const struct accelerator *d = first_of(p, "intel");
	if (!d || !d->name)
		return 1;
	return name_it(p, "intel", platform_gpu_product(p->a, d->name), linux_version(p),
		       arena_printf(p->a,
				    "the kernel's graphics driver has a \"%s\", and is of the "
				    "kernel, %s",
				    d->name,
				    p->p->info.kernel ? p->p->info.kernel : "of unknown release"));
}

static int name_by_cpu(const struct probe *p, const char *silent)
{
	struct platform_info *i = &p->p->info;
	const char *product = i->cpu_model ? platform_cpu_product(p->a, i->cpu_model) : NULL;
	return name_it(
		p, "cpu", product ? product : "unknown", linux_version(p),
		arena_printf(p->a,
			     "no accelerator was found%s%s, so it is the CPU, \"%s\", and the "
			     "kernel, %s",
			     silent ? " - a driver " : "", silent ? silent : "",
			     i->cpu_model ? i->cpu_model : "of unknown model",
			     i->kernel ? i->kernel : "of unknown release"));
}

int platform_probe(struct platform *ret, struct arena *a, const struct platform_options *o,
		   struct err *err)
{
	const struct probe p = { .p = ret, .a = a, .root = o->root ? o->root : "" };
	const char *silent = NULL;
	*ret = (struct platform){ .id = NULL };
	block_clear(&platform_info_block, &ret->info);
	platform_read_cpu(&p);
	int rc = ask(&p, o, &silent);
	if (!rc)
		rc = nvidia_by_nvml(&p);
	if (rc > 0)
		rc = nvidia_by_files(&p, silent);
	if (rc > 0)
		rc = amd_by_files(&p);
	if (rc > 0)
		rc = intel_by_files(&p);
	if (rc > 0)
		rc = name_by_cpu(&p, silent);
	return rc ? err_set(err, -ENOMEM, "out of memory") : 0;
}
