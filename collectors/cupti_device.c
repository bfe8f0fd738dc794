/* Which GPU is device 2 of this process? Its UUID says it to all processes of the node; the number
 * does not (CUDA_VISIBLE_DEVICES). The driver is asked when it is started. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "collectors/cupti_impl.h"
#include "collectors/live.h"

#define DEVICES 64

struct found {
	char name[128], id[48];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct found found[DEVICES];
static int n_found;
static int64_t numbers[DEVICES]; /* flow_device's, plus 1; 0: not asked for */

/* As nvidia-smi writes it; a part of a GPU (MIG) has its own, and only its name says that it is
 * one: "NVIDIA H100 80GB HBM3 MIG 1g.10gb". */
static void uuid_text(const char *name, const unsigned char *u, char *text, size_t room)
{
	(void)snprintf(text, room,
		       "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		       strstr(name, " MIG ") ? "MIG" : "GPU", u[0], u[1], u[2], u[3], u[4], u[5],
		       u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void ask_symbol(void *into, const char *name)
{
	void *at = cupti_driver_symbol(name);
	memcpy(into, &at, sizeof at);
}

void cupti_devices_find(void)
{
	int (*count_of)(int *) = NULL, (*get)(int *, int) = NULL;
	int (*name_of)(char *, int, int) = NULL, (*uuid_of)(unsigned char *, int) = NULL;
	int n = 0;
	ask_symbol(&count_of, "cuDeviceGetCount");
	ask_symbol(&get, "cuDeviceGet");
	ask_symbol(&name_of, "cuDeviceGetName");
	ask_symbol(&uuid_of, "cuDeviceGetUuid_v2"); /* from 11.4 on: that of a MIG device, too */
	if (!uuid_of)
		ask_symbol(&uuid_of, "cuDeviceGetUuid");
	if (!count_of || !get || !name_of || count_of(&n) || n <= 0)
		return;
	for (int i = 0; i < n && i < DEVICES; i++) {
		struct found d = { .name = "" };
		unsigned char uuid[16];
		int device;
		if (get(&device, i) || name_of(d.name, sizeof d.name, device))
			continue;
		if (uuid_of && uuid_of(uuid, device) == 0)
			uuid_text(d.name, uuid, d.id, sizeof d.id);
		(void)pthread_mutex_lock(&lock);
		found[i] = d;
		if (n_found <= i)
			n_found = i + 1;
		(void)pthread_mutex_unlock(&lock);
	}
}

uint32_t cupti_device(struct flow *f, uint32_t ordinal)
{
	struct found d = { .name = "" };
	int64_t number;
	if (ordinal < DEVICES && numbers[ordinal] > 0)
		return (uint32_t)(numbers[ordinal] - 1);
	(void)pthread_mutex_lock(&lock);
	if (ordinal < (uint32_t)n_found)
		d = found[ordinal];
	(void)pthread_mutex_unlock(&lock);
	if (!d.name[0])
		(void)snprintf(d.name, sizeof d.name, "CUDA device %u", ordinal);
	number = flow_device(f, d.name, d.id[0] ? d.id : NULL);
	if (number < 0)
		return 0;
	if (ordinal < DEVICES)
		numbers[ordinal] = number + 1;
	return (uint32_t)number;
}
