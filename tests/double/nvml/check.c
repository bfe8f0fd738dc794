/* Is node/nvml_abi.h what NVIDIA's own header says? Where that is not found, nothing is checked. */
#include "node/nvml_abi.h"

#if defined __has_include
#if __has_include(<nvml.h>)
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <stddef.h>

#include <nvml.h>

#define SAME(theirs, ours)                                                                         \
	_Static_assert((unsigned long long)(theirs) == (unsigned long long)(ours), #ours)
#define IS(call, ...)                                                                              \
	_Static_assert(__builtin_types_compatible_p(__typeof__(call), nvmlReturn_t(__VA_ARGS__)),  \
		       #call)

SAME(NVML_SUCCESS, NVML_OK);
SAME(NVML_ERROR_INSUFFICIENT_SIZE, NVML_TOO_SMALL);
SAME(NVML_ERROR_GPU_IS_LOST, NVML_LOST);
SAME(NVML_CLOCK_SM, NVML_OF_SM);
SAME(NVML_CLOCK_MEM, NVML_OF_MEMORY);
SAME(NVML_TEMPERATURE_GPU, NVML_OF_CORE);
SAME(nvmlClocksThrottleReasonSwPowerCap, NVML_REASON_POWER_CAP);
SAME(nvmlClocksThrottleReasonHwSlowdown, NVML_REASON_HARDWARE);
SAME(nvmlClocksThrottleReasonSyncBoost, NVML_REASON_SYNC_BOOST);
SAME(nvmlClocksThrottleReasonSwThermalSlowdown, NVML_REASON_THERMAL_SOFTWARE);
SAME(nvmlClocksThrottleReasonHwThermalSlowdown, NVML_REASON_THERMAL_HARDWARE);
SAME(nvmlClocksThrottleReasonHwPowerBrakeSlowdown, NVML_REASON_POWER_BRAKE);
SAME(sizeof(nvmlMemory_t), sizeof(struct nvml_memory));
SAME(sizeof(nvmlUtilization_t), sizeof(struct nvml_busy));
SAME(sizeof(nvmlPciInfo_t), sizeof(struct nvml_pci));
SAME(offsetof(nvmlPciInfo_t, bus), offsetof(struct nvml_pci, bus));
SAME(sizeof(nvmlProcessInfo_t), sizeof(struct nvml_process));
IS(nvmlDeviceGetClockInfo, nvmlDevice_t, nvmlClockType_t, unsigned int *);
IS(nvmlDeviceGetMaxClockInfo, nvmlDevice_t, nvmlClockType_t, unsigned int *);
IS(nvmlDeviceGetTemperature, nvmlDevice_t, nvmlTemperatureSensors_t, unsigned int *);
IS(nvmlDeviceGetPowerUsage, nvmlDevice_t, unsigned int *);
IS(nvmlDeviceGetTotalEnergyConsumption, nvmlDevice_t, unsigned long long *);
IS(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *);
IS(nvmlDeviceGetMigMode, nvmlDevice_t, unsigned int *, unsigned int *);
IS(nvmlDeviceGetNumGpuCores, nvmlDevice_t, unsigned int *);
#endif
#endif

extern const char nvml_double_is_checked;
const char nvml_double_is_checked = 1; /* an empty file is no C */
