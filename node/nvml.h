/* NVIDIA devices by NVML, loaded when asked for: no NVIDIA software is needed to build. */
#ifndef NODE_NVML_H
#define NODE_NVML_H

struct nvml_info {
	unsigned count;
	char name[96], driver[80];       /* of the first device */
	int cuda;                        /* 13020 for 13.2; 0 unknown */
	unsigned long long memory_bytes; /* of the first device; 0 unknown */
};

/* 0, or -ENOENT: no library, no driver or no device. */
int nvml_ask(const char *library, struct nvml_info *ret);

#endif
