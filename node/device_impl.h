/* Between the files of device: one table of functions for each way to ask. */
#ifndef NODE_DEVICE_IMPL_H
#define NODE_DEVICE_IMPL_H

#include "node/device.h"

#define DEVICE_PATH_BYTES 96
#define DEVICES_MAX 256

struct device_kind;

struct gpu {
	const struct device_kind *kind;
	const struct devices *of;
	void *handle;                  /* NVML */
	char place[32];                /* on the PCI bus; "" unknown */
	char card[DEVICE_PATH_BYTES];  /* "/sys/class/drm/card1"; "" none */
	char hwmon[DEVICE_PATH_BYTES]; /* "/sys/class/drm/card1/device/hwmon/hwmon3"; "" none */
	int node;                      /* in AMD's topology */
	unsigned gpu_id;
};

struct devices {
	char root[512];
	struct nvml *nvml; /* NULL: not there */
	struct gpu *items;
	size_t n;
};

struct device_kind {
	void (*describe)(const struct gpu *d, struct arena *a, struct accelerator *ret);
	int (*sample)(const struct gpu *d, struct device_sample *ret);
	int (*users)(const struct gpu *d, pid_t *ret, size_t room, size_t *ret_n);
};

/* One more, cleared; NULL: there are too many. */
struct gpu *device_add(struct devices *all, const struct device_kind *kind);

/* Each adds what it finds. */
void nvml_find(struct devices *all, const char *library);
void amdgpu_find(struct devices *all);
void intelgpu_find(struct devices *all);

void nvml_close(struct nvml *n); /* NULL is fine */
const char *nvml_driver(const struct nvml *n);
int nvml_cuda(const struct nvml *n);

/* Cards of the kernel's graphics drivers: the one at a place, and one of a vendor after another.
 * False: there is none. */
bool device_card_at(struct gpu *d, const char *place);
bool device_card_of(struct gpu *d, const char *vendor, int *card);

/* A file of the card's device, or of its sensors; NAN. */
double device_number(const struct gpu *d, const char *file);
double device_sensor(const struct gpu *d, const char *file);

double device_numa_node(const struct gpu *d);

#endif
