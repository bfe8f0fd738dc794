/* Intel's discrete devices by the files of their drivers, i915 and xe. The one in a processor (bus
 * 0) is no accelerator here. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/num.h"
#include "node/device_impl.h"
#include "node/sysfile.h"

/* The driver tells a number only. */
static const char *name_of(unsigned id)
{
	static const struct {
		unsigned id;
		const char *name;
	} names[] = {
		{ 0x0bd5, "Data Center GPU Max 1550" },
		{ 0x0bd6, "Data Center GPU Max 1550" },
		{ 0x0bd9, "Data Center GPU Max 1100" },
		{ 0x0bda, "Data Center GPU Max 1100" },
		{ 0x0bdb, "Data Center GPU Max 1100" },
		{ 0x56c0, "Data Center GPU Flex 170" },
		{ 0x56c1, "Data Center GPU Flex 140" },
		{ 0x56a0, "Arc A770" },
		{ 0x56a1, "Arc A750" },
		{ 0xe20b, "Arc B580" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].id == id)
			return names[i].name;
	return NULL;
}

/* xe has its files below the device, i915 below the card. */
static double either(const struct gpu *d, const char *xe, const char *i915)
{
	char path[DEVICE_PATH_BYTES + 64];
	double x = device_number(d, xe);
	(void)snprintf(path, sizeof path, "%s/%s", d->card, i915);
	return known(x) ? x : sysfile_number(d->of->root, path);
}

static void describe(const struct gpu *d, struct arena *a, struct accelerator *ret)
{
	char path[DEVICE_PATH_BYTES + 32], text[16];
	unsigned id = 0;
	(void)snprintf(path, sizeof path, "%s/device/device", d->card);
	if (sysfile_read(d->of->root, path, text, sizeof text))
		(void)sscanf(text, "%x", &id);
	ret->vendor = "intel";
	ret->source = "sysfs";
	ret->name = name_of(id);
	if (!ret->name)
		ret->name = arena_printf(a, "GPU %04x", id);
	ret->clock_limit_hz = either(d, "tile0/gt0/freq0/rp0_freq", "gt_RP0_freq_mhz") * 1e6;
	ret->memory_bytes = device_number(d, "tile0/physical_vram_size_bytes");
	ret->power_limit_w = device_sensor(d, "power1_max") / 1e6;
}

/* Each reason is a file with 0 or 1. */
static bool reasons_of(const struct gpu *d, uint32_t *ret)
{
	static const struct {
		const char *name;
		enum device_reason reason;
	} table[] = {
		{ "pl1", DEVICE_POWER_CAP },
		{ "pl2", DEVICE_POWER_CAP },
		{ "pl4", DEVICE_CURRENT },
		{ "thermal", DEVICE_THERMAL_HARDWARE },
		{ "prochot", DEVICE_HARDWARE_SLOWDOWN },
		{ "ratl", DEVICE_THERMAL_HARDWARE },
		{ "vr_thermalert", DEVICE_THERMAL_HARDWARE },
		{ "vr_tdc", DEVICE_CURRENT },
	};
	bool any = false;
	*ret = 0;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char xe[64], i915[64];
		(void)snprintf(xe, sizeof xe, "tile0/gt0/freq0/throttle/reason_%s", table[i].name);
		(void)snprintf(i915, sizeof i915, "gt/gt0/throttle_reason_%s", table[i].name);
		double x = either(d, xe, i915);
		any |= known(x);
		if (x > 0)
			*ret |= table[i].reason;
	}
	return any;
}

static int sample(const struct gpu *d, struct device_sample *ret)
{
	if (!known(device_number(d, "vendor")))
		return -ENODEV;
	ret->clock_hz = either(d, "tile0/gt0/freq0/act_freq", "gt_act_freq_mhz") * 1e6;
	ret->energy_j = device_sensor(d, "energy1_input") / 1e6;
	double milli_c = device_sensor(d, "temp2_input"); /* xe: the package; i915 has one only */
	ret->temperature_c = (known(milli_c) ? milli_c : device_sensor(d, "temp1_input")) / 1e3;
	ret->reasons_known = reasons_of(d, &ret->reasons);
	return 0;
}

/* The drivers tell each process its own use only. */
static int users(const struct gpu *d, pid_t *ret, size_t room, size_t *ret_n)
{
	(void)d;
	(void)ret;
	(void)room;
	(void)ret_n;
	return -ENOTSUP;
}

static const struct device_kind kind = { describe, sample, users };

void intelgpu_find(struct devices *all)
{
	struct gpu found = { .of = all };
	for (int card = 0; device_card_of(&found, "0x8086", &card);) {
		unsigned domain = 0, bus = 0;
		if (sscanf(found.place, "%x:%x:", &domain, &bus) == 2 && bus > 0) {
			struct gpu *d = device_add(all, &kind);
			if (!d)
				return;
			*d = found;
			d->kind = &kind;
		}
		found = (struct gpu){ .of = all };
	}
}
