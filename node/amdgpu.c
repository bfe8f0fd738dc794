/* AMD devices by the kernel's compute topology (kfd) and the files of its driver, amdgpu. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/num.h"
#include "node/device_impl.h"
#include "node/sysfile.h"

#define NODES_MAX 512
#define MHZ_MAX 1e6 /* what is more is no clock */
#define TOPOLOGY "/sys/class/kfd/kfd/topology/nodes"

static size_t properties(const struct devices *all, int node, char *text, size_t room)
{
	char path[128];
	(void)snprintf(path, sizeof path, TOPOLOGY "/%d/properties", node);
	return sysfile_read(all->root, path, text, room);
}

/* ---- what it is ---- */

/* gfx_target_version 90402 is gfx942, 90010 gfx90a. */
static const char *architecture(struct arena *a, double target)
{
	if (!(target > 0))
		return NULL;
	return arena_printf(a, "gfx%.0f%.0f%x", floor(target / 10000),
			    fmod(floor(target / 100), 100), (unsigned)fmod(target, 100));
}

/* The largest clock of a list as "0: 500Mhz\n1: 1700Mhz *"; now: the one with the star. Hz. */
static double listed_clock(const struct gpu *d, const char *file, bool now)
{
	char path[DEVICE_PATH_BYTES + 64], text[2048];
	double best = NAN;
	(void)snprintf(path, sizeof path, "%s/device/%s", d->card, file);
	if (!d->card[0] || !sysfile_read(d->of->root, path, text, sizeof text))
		return NAN;
	for (char *line = text, *rest = NULL; (line = strtok_r(line, "\n", &rest)); line = NULL) {
		const char *colon = strchr(line, ':');
		char *end = NULL;
		double mhz = colon ? strtod(colon + 1, &end) : 0;
		if (!colon || end == colon + 1 || !(mhz > 0 && mhz < MHZ_MAX) ||
		    strncasecmp(end, "mhz", 3) != 0 || (now && !strchr(end, '*')))
			continue;
		best = fmax(best, mhz * 1e6);
	}
	return best;
}

static const char *card_line(const struct gpu *d, struct arena *a, const char *file)
{
	char path[DEVICE_PATH_BYTES + 64];
	(void)snprintf(path, sizeof path, "%s/device/%s", d->card, file);
	return d->card[0] ? sysfile_line(a, d->of->root, path) : NULL;
}

/* Where the topology does not say which card it is, they are taken to be all the same. */
static const char *product_name(const struct gpu *d, struct arena *a)
{
	const char *name = card_line(d, a, "product_name");
	struct gpu other = { .of = d->of };
	for (int card = 0; !name && !d->card[0] && device_card_of(&other, "0x1002", &card);)
		name = card_line(&other, a, "product_name");
	return name;
}

static void describe(const struct gpu *d, struct arena *a, struct accelerator *ret)
{
	char text[4096];
	(void)properties(d->of, d->node, text, sizeof text);
	double simds = sysfile_count(text, "simd_count"), each = sysfile_count(text, "simd_per_cu");
	double engine_mhz = sysfile_count(text, "max_engine_clk_fcompute");
	ret->vendor = "amd";
	ret->source = "sysfs";
	ret->architecture = architecture(a, sysfile_count(text, "gfx_target_version"));
	ret->name = product_name(d, a);
	if (!ret->name)
		ret->name = ret->architecture;
	if (simds > 0 && each >= 1)
		ret->units = simds / each;
	ret->memory_bytes = device_number(d, "mem_info_vram_total");
	ret->clock_limit_hz = listed_clock(d, "pp_dpm_sclk", false);
	if (!known(ret->clock_limit_hz) && engine_mhz > 0 && engine_mhz < MHZ_MAX)
		ret->clock_limit_hz = engine_mhz * 1e6;
	ret->memory_clock_limit_hz = listed_clock(d, "pp_dpm_mclk", false);
	ret->power_limit_w = device_sensor(d, "power1_cap") / 1e6;
	ret->partition = card_line(d, a, "current_compute_partition");
}

/* ---- how it runs ---- */

/* gpu_metrics of format 1.3 has, at its end, reasons in an order that is the same for all devices:
 * from bit 0 power, 16 current, 32 temperature (46 and 47: from outside), 56 others. All bits set:
 * this device does not tell. */
#define METRICS_THROTTLE_AT 112
static bool reasons_of(const struct gpu *d, uint32_t *ret)
{
	char path[DEVICE_PATH_BYTES + 32], bytes[512];
	uint64_t bits = 0;
	(void)snprintf(path, sizeof path, "%s/device/gpu_metrics", d->card);
	size_t n = d->card[0] ? sysfile_read(d->of->root, path, bytes, sizeof bytes) : 0;
	if (n < METRICS_THROTTLE_AT + sizeof bits || bytes[2] != 1 || bytes[3] != 3)
		return false;
	for (size_t i = sizeof bits; i-- > 0;)
		bits = bits << 8 | (unsigned char)bytes[METRICS_THROTTLE_AT + i];
	if (bits == UINT64_MAX)
		return false;
	*ret = 0;
	if (bits & UINT64_C(0xffff))
		*ret |= DEVICE_POWER_CAP;
	if (bits & UINT64_C(0xffff0000))
		*ret |= DEVICE_CURRENT;
	if (bits & UINT64_C(0x3fff) << 32)
		*ret |= DEVICE_THERMAL_HARDWARE;
	if (bits & UINT64_C(0x3) << 46)
		*ret |= DEVICE_HARDWARE_SLOWDOWN;
	if (bits >> 48)
		*ret |= DEVICE_OTHER;
	return true;
}

static double first_known(double a, double b)
{
	return known(a) ? a : b;
}

static int sample(const struct gpu *d, struct device_sample *ret)
{
	/* The driver leaves, or the device has left the bus: its files are gone, or answer ENODEV.
	 */
	double vendor = d->card[0] ? device_number(d, "vendor") : 0;
	if (!known(vendor))
		return -ENODEV;
	ret->clock_hz =
		first_known(device_sensor(d, "freq1_input"), listed_clock(d, "pp_dpm_sclk", true));
	ret->memory_clock_hz =
		first_known(device_sensor(d, "freq2_input"), listed_clock(d, "pp_dpm_mclk", true));
	ret->power_w =
		first_known(device_sensor(d, "power1_average"), device_sensor(d, "power1_input")) /
		1e6;
	/* The hottest place of the chip where there is one, else its edge. */
	ret->temperature_c =
		first_known(device_sensor(d, "temp2_input"), device_sensor(d, "temp1_input")) / 1e3;
	ret->busy_frac = device_number(d, "gpu_busy_percent") / 100;
	ret->reasons_known = reasons_of(d, &ret->reasons);
	return 0;
}

/* Who has memory on it: a process that has only looked at what is there has none. */
static int users(const struct gpu *d, pid_t *ret, size_t room, size_t *ret_n)
{
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/sys/class/kfd/kfd/proc", d->of->root);
	DIR *dir = opendir(path);
	int rc = dir ? 0 : -ENOTSUP;
	for (struct dirent *e; dir && !rc && (e = readdir(dir));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		(void)snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%.20s/vram_%u",
			       e->d_name, d->gpu_id);
		if (!(sysfile_number(d->of->root, path) > 0))
			continue;
		if (*ret_n == room)
			rc = -ENOSPC;
		else
			ret[(*ret_n)++] = (pid_t)strtol(e->d_name, NULL, 10);
	}
	if (dir)
		(void)closedir(dir);
	return rc;
}

static const struct device_kind kind = { describe, sample, users };

/* ---- which there are ---- */

/* location_id is bus, device and function as PCI packs them. */
static void find_place(struct gpu *d, const char *text)
{
	double at = sysfile_count(text, "location_id"), domain = sysfile_count(text, "domain");
	if (!(at > 0 && at <= 0xffff) || (known(domain) && !(domain >= 0 && domain <= 0xffffff)))
		return;
	unsigned location = (unsigned)at;
	(void)snprintf(d->place, sizeof d->place, "%04x:%02x:%02x.%x",
		       known(domain) ? (unsigned)domain : 0u, location >> 8, location >> 3 & 0x1f,
		       location & 7);
	(void)device_card_at(d, d->place);
}

static bool is_there(const struct devices *all, int node)
{
	char path[sizeof all->root + 128];
	(void)snprintf(path, sizeof path, "%s" TOPOLOGY "/%d", all->root, node);
	return access(path, F_OK) == 0;
}

/* GPUs are the nodes with SIMDs. */
void amdgpu_find(struct devices *all)
{
	for (int node = 0; node < NODES_MAX; node++) {
		char text[4096], path[128];
		/* Of a node that this control group may not use the file is there, and empty. */
		if (!properties(all, node, text, sizeof text) && !is_there(all, node))
			return;
		if (!(sysfile_count(text, "simd_count") > 0))
			continue;
		struct gpu *d = device_add(all, &kind);
		if (!d)
			return;
		(void)snprintf(path, sizeof path, TOPOLOGY "/%d/gpu_id", node);
		double id = sysfile_number(all->root, path);
		d->node = node;
		d->gpu_id = id > 0 && id <= UINT32_MAX ? (unsigned)id : 0;
		find_place(d, text);
	}
}
