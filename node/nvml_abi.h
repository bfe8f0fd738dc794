/* The part of NVML's binary interface that is used: numbers and layouts that its header has kept
 * since the version in a call's name, so that no NVIDIA software is needed to build. Where nvml.h
 * is found, tests/double checks all of it against that. */
#ifndef NODE_NVML_ABI_H
#define NODE_NVML_ABI_H

enum {
	NVML_OK = 0,
	NVML_TOO_SMALL = 7,
	NVML_LOST = 15 /* GPU_IS_LOST: off the bus */
};
enum { NVML_OF_SM = 1, NVML_OF_MEMORY = 2 }; /* nvmlClockType_t */
enum { NVML_OF_CORE = 0 };                   /* nvmlTemperatureSensors_t */

/* Of nvmlDeviceGetCurrentClocksThrottleReasons, later ...EventReasons. */
enum {
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_HARDWARE = 0x8,
	NVML_REASON_SYNC_BOOST = 0x10,
	NVML_REASON_THERMAL_SOFTWARE = 0x20,
	NVML_REASON_THERMAL_HARDWARE = 0x40,
	NVML_REASON_POWER_BRAKE = 0x80
};

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_busy { /* percent of the last sampling period */
	unsigned gpu, memory;
};

struct nvml_pci { /* _v3 */
	char bus_id_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct nvml_process { /* _v2 and _v3 */
	unsigned pid;
	unsigned long long memory_bytes;
	unsigned gpu_instance, compute_instance;
};

#endif
