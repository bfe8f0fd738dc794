/* All kinds of accelerators in one list, and what the kernel's graphics drivers have in common. */
#define _GNU_SOURCE
#include "node/device_impl.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/num.h"
#include "node/sysfile.h"
#include "schema/codec.h"

#define CARDS_MAX 256

const char *const device_reason_names[DEVICE_REASON_COUNT] = {
#define NAME(name, text) text,
	DEVICE_REASONS(NAME)
#undef NAME
};

struct gpu *device_add(struct devices *all, const struct device_kind *kind)
{
	if (all->n == DEVICES_MAX)
		return NULL;
	struct gpu *d = &all->items[all->n++];
	*d = (struct gpu){ .kind = kind, .of = all };
	return d;
}

int devices_open(struct devices **ret, const struct device_options *o)
{
	struct devices *all = calloc(1, sizeof *all);
	struct gpu *items = calloc(DEVICES_MAX, sizeof *items);
	if (!all || !items) {
		free(all);
		free(items);
		return -ENOMEM;
	}
	all->items = items;
	(void)snprintf(all->root, sizeof all->root, "%s", o->root ? o->root : "");
	if (o->nvml)
		nvml_find(all, o->nvml);
	amdgpu_find(all);
	intelgpu_find(all);
	*ret = all;
	return 0;
}

void devices_close(struct devices *d)
{
	if (!d)
		return;
	nvml_close(d->nvml);
	free(d->items);
	free(d);
}

size_t devices_count(const struct devices *d)
{
	return d->n;
}

const char *devices_driver(const struct devices *d)
{
	return d->nvml ? nvml_driver(d->nvml) : NULL;
}

int devices_cuda(const struct devices *d)
{
	return d->nvml ? nvml_cuda(d->nvml) : 0;
}

void devices_describe(const struct devices *d, size_t i, struct arena *a, struct accelerator *ret)
{
	const struct gpu *one = &d->items[i];
	block_clear(&accelerator_block, ret);
	if (one->place[0])
		ret->place = arena_strdup(a, one->place);
	ret->numa_node = device_numa_node(one);
	one->kind->describe(one, a, ret);
	(void)block_clean(a, &accelerator_block, ret); /* drivers say anything */
}

int devices_sample(const struct devices *d, size_t i, struct device_sample *ret)
{
	*ret = (struct device_sample){ NAN, NAN, NAN, NAN, NAN, NAN, 0, false };
	return d->items[i].kind->sample(&d->items[i], ret);
}

int devices_users(const struct devices *d, size_t i, pid_t *ret, size_t room, size_t *ret_n)
{
	*ret_n = 0;
	return d->items[i].kind->users(&d->items[i], ret, room, ret_n);
}

/* ---- cards ---- */

/* "PCI_SLOT_NAME=0000:17:00.0" of the card's uevent. */
static void card_place(const struct devices *all, const char *card, char *ret, size_t room)
{
	char path[DEVICE_PATH_BYTES + 32], text[1024];
	(void)snprintf(path, sizeof path, "%s/device/uevent", card);
	(void)sysfile_read(all->root, path, text, sizeof text);
	const char *at = strstr(text, "PCI_SLOT_NAME=");
	at = at ? at + strlen("PCI_SLOT_NAME=") : "";
	(void)snprintf(ret, room, "%.*s", (int)strcspn(at, "\n"), at);
}

/* Its sensors are in the only folder there. */
static void find_sensors(struct gpu *d)
{
	char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s%s/device/hwmon", d->of->root, d->card);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (strncmp(e->d_name, "hwmon", 5) == 0)
			(void)snprintf(d->hwmon, sizeof d->hwmon, "%.40s/device/hwmon/%.16s",
				       d->card, e->d_name);
	(void)closedir(dir);
}

bool device_card_of(struct gpu *d, const char *vendor, int *card)
{
	for (; *card < CARDS_MAX; ++*card) {
		char path[DEVICE_PATH_BYTES], text[16];
		(void)snprintf(path, sizeof path, "/sys/class/drm/card%d/device/vendor", *card);
		(void)sysfile_read(d->of->root, path, text, sizeof text);
		if (strncmp(text, vendor, strlen(vendor)) != 0)
			continue;
		(void)snprintf(d->card, sizeof d->card, "/sys/class/drm/card%d", *card);
		card_place(d->of, d->card, d->place, sizeof d->place);
		find_sensors(d);
		++*card;
		return true;
	}
	return false;
}

bool device_card_at(struct gpu *d, const char *place)
{
	for (int card = 0; card < CARDS_MAX; card++) {
		char path[DEVICE_PATH_BYTES], at[32];
		(void)snprintf(path, sizeof path, "/sys/class/drm/card%d", card);
		card_place(d->of, path, at, sizeof at);
		if (!at[0] || strcmp(at, place) != 0)
			continue;
		memcpy(d->card, path, sizeof d->card);
		find_sensors(d);
		return true;
	}
	return false;
}

double device_number(const struct gpu *d, const char *file)
{
	char path[DEVICE_PATH_BYTES + 64];
	(void)snprintf(path, sizeof path, "%s/device/%s", d->card, file);
	return d->card[0] ? sysfile_number(d->of->root, path) : (double)NAN;
}

double device_sensor(const struct gpu *d, const char *file)
{
	char path[DEVICE_PATH_BYTES + 64];
	(void)snprintf(path, sizeof path, "%s/%s", d->hwmon, file);
	return d->hwmon[0] ? sysfile_number(d->of->root, path) : (double)NAN;
}

/* -1 is the kernel's "none". */
double device_numa_node(const struct gpu *d)
{
	char path[DEVICE_PATH_BYTES];
	(void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", d->place);
	double node = d->place[0] ? sysfile_number(d->of->root, path) : (double)NAN;
	if (!known(node))
		node = device_number(d, "numa_node");
	return node >= 0 ? node : (double)NAN;
}
