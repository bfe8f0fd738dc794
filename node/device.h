/* Accelerators of this machine, whatever their vendor: what each is, and how it runs now. NVIDIA by
 * NVML, AMD and Intel by the files of their drivers in /sys.
 *
 * A driver may take seconds, hang or crash: who asks, asks from a process of its own
 * (node/aside.h, run/sampler.h). Nothing here starts a device's runtime, and nothing needs a
 * privilege; what can't be read is null. */
#ifndef NODE_DEVICE_H
#define NODE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "schema/record.h"

/* What holds the clocks down, in words that all vendors share. That nothing runs is none of these,
 * and neither are clocks that somebody has set. */
#define DEVICE_REASONS(X)                                                                          \
	X(POWER_CAP, "power_cap")                 /* at its power limit */                         \
	X(THERMAL_SOFTWARE, "thermal_software")   /* the driver, near the limit */                 \
	X(THERMAL_HARDWARE, "thermal_hardware")   /* the device itself, at it */                   \
	X(POWER_BRAKE, "power_brake")             /* the machine's power supply */                 \
	X(HARDWARE_SLOWDOWN, "hardware_slowdown") /* the device, for any of these */               \
	X(CURRENT, "current")                     /* electrical, not the power cap */              \
	X(SYNC_BOOST, "sync_boost")               /* held to the slowest of a group */             \
	X(OTHER, "other")

enum device_reason_place {
#define PLACE(name, text) DEVICE_PLACE_##name,
	DEVICE_REASONS(PLACE)
#undef PLACE
		DEVICE_REASON_COUNT
};
enum device_reason {
#define BIT(name, text) DEVICE_##name = 1 << DEVICE_PLACE_##name,
	DEVICE_REASONS(BIT)
#undef BIT
};
extern const char *const device_reason_names[DEVICE_REASON_COUNT];

/* One look at one device; NAN unknown. */
struct device_sample {
	double clock_hz, memory_clock_hz, power_w, temperature_c, busy_frac;
	double energy_j; /* of a counter that only grows */
	uint32_t reasons;
	bool reasons_known;
};

struct device_options {
	const char *root; /* "" for this machine, else a folder with proc and sys in it */
	const char *nvml; /* library to ask for NVIDIA devices; NULL: none is asked */
};

struct devices;

/* None at all is good. -ENOMEM. */
int devices_open(struct devices **ret, const struct device_options *o);
void devices_close(struct devices *d); /* NULL is fine */

size_t devices_count(const struct devices *d);

/* In the order of the drivers: all of NVIDIA, of AMD, of Intel. Texts are in the arena. */
void devices_describe(const struct devices *d, size_t i, struct arena *a, struct accelerator *ret);

/* -ENODEV: it is gone. */
int devices_sample(const struct devices *d, size_t i, struct device_sample *ret);

/* Processes on it. -ENOTSUP: that can't be told; -ENOSPC: there are more than that. */
int devices_users(const struct devices *d, size_t i, pid_t *ret, size_t room, size_t *ret_n);

/* What NVML tells of the whole: versions of the driver (NULL) and of CUDA (13020 for 13.2; 0). */
const char *devices_driver(const struct devices *d);
int devices_cuda(const struct devices *d);

#endif
