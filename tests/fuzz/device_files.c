/* Any bytes as the files of a graphics driver: the devices they make are described and looked at.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/file.h"
#include "node/device.h"
#include "node/sysfile.h"
#include "schema/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char root[] = "/tmp/roimeter-fuzz-XXXXXX";

static void put(const char *folder, const char *name, const void *data, size_t n)
{
	char path[256];
	(void)snprintf(path, sizeof path, "%s%s", root, folder);
	if (file_mkdirs(path, NULL))
		abort();
	(void)snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
	if (file_write(path, data, n, NULL))
		abort();
}

static void tidy(void)
{
	(void)file_remove_tree(root, NULL);
}

static void put_all(const uint8_t *data, size_t n)
{
	static const char card[] = "/sys/class/drm/card1/device", sensors[] = "/hwmon/hwmon0";
	static const char *const files[] = { "gpu_metrics",        "pp_dpm_sclk",
					     "pp_dpm_mclk",        "product_name",
					     "gpu_busy_percent",   "current_compute_partition",
					     "mem_info_vram_total" };
	static const char *const values[] = { "power1_average", "power1_cap", "temp2_input" };
	char folder[128];
	(void)snprintf(folder, sizeof folder, "%s%s", card, sensors);
	put("/sys/class/kfd/kfd/topology/nodes/0", "properties", data, n);
	put("/sys/class/kfd/kfd/topology/nodes/0", "gpu_id", data, n);
	put("/sys/class/kfd/kfd/topology/nodes/1", "properties", "simd_count 4\nlocation_id 256\n",
	    29);
	put(card, "vendor", "0x1002\n", 7);
	put(card, "uevent", "PCI_SLOT_NAME=0000:01:00.0\n", 27);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		put(card, files[i], data, n);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		put(folder, values[i], data, n);
	put("/sys/class/drm/card2/device", "vendor", "0x8086\n", 7);
	put("/sys/class/drm/card2/device", "uevent", data, n);
	put("/sys/class/drm/card2/device", "device", data, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool made;
	const struct device_options o = { .root = root };
	struct devices *d = NULL;
	struct arena a = { 0 };
	if (!made) {
		if (!mkdtemp(root))
			abort();
		made = true;
		(void)atexit(tidy);
	}
	put_all(data, n);
	if (devices_open(&d, &o) || devices_count(d) < 1)
		abort(); /* node 1 is always there */
	for (size_t i = 0; i < devices_count(d); i++) {
		struct accelerator what;
		struct device_sample s;
		pid_t pids[4];
		size_t users;
		devices_describe(d, i, &a, &what);
		if (isinf(what.clock_limit_hz) || isinf(what.memory_bytes) || isinf(what.units))
			abort();
		if (devices_sample(d, i, &s) == 0 && (isinf(s.power_w) || isinf(s.clock_hz)))
			abort();
		(void)devices_users(d, i, pids, 4, &users);
	}
	devices_close(d);
	char *text = arena_strndup(&a, (const char *)data, n);
	(void)sysfile_value(&a, text ? text : "", "key");
	if (isinf(sysfile_count(text ? text : "", "simd_count")))
		abort();
	arena_free(&a);
	return 0;
}
