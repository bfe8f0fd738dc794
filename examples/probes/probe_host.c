/* The probe without a device: the processor does the same arithmetic in the same order, with the
 * same marks. For machines without an accelerator, and to see what the marks alone cost. */
#include "probe.h"

static const struct probe_options *options;
static float *array[PROBE_MOST][2];

static int host_open(const struct probe_options *o)
{
	options = o;
	(void)snprintf(probe_device, sizeof probe_device, "%s", "none");
	for (int d = 0; d < o->devices; d++)
		for (int k = 0; k < 2; k++) {
			array[d][k] = calloc(o->floats, sizeof **array);
			if (!array[d][k])
				return probe_fail("no memory for %zu floats", o->floats);
		}
	return 0;
}

static int host_upload(int device, const float *from)
{
	memcpy(array[device][0], from, options->floats * sizeof *from);
	return 0;
}

static int host_fill(int device, size_t first, size_t count)
{
	memset(array[device][0] + first, 0, count * sizeof(float));
	return 0;
}

static int host_launch(int device, int queue, const struct probe_slice *s)
{
	float *a = array[device][0];
	double end_s = probe_now_s() + 1e-6 * options->kernel_us;

	(void)queue;
	if (options->kernel_us > 0)
		while (probe_now_s() < end_s)
			;
	else
		for (size_t i = s->first; i < s->first + s->count; i++)
			for (unsigned r = 0; r < options->repeat; r++)
				a[i] = a[i] * 0.5F + 1.0F;
	for (size_t i = 0; i < PROBE_COUNTERS; i++)
		a[s->counter + i] += 1.0F;
	return 0;
}

static int host_copy(int device)
{
	memcpy(array[device][1], array[device][0], options->floats * sizeof(float));
	return 0;
}

static int host_download(int device, bool b, size_t first, size_t count, float *to)
{
	memcpy(to, array[device][b] + first, count * sizeof *to);
	return 0;
}

static int host_graph(int device, const struct probe_slice *s)
{
	for (int i = 0; i < PROBE_GRAPH_NODES; i++)
		if (host_launch(device, 0, s))
			return 1;
	return 0;
}

static int host_finish(void)
{
	return 0;
}

static void host_close(void)
{
	for (int d = 0; d < PROBE_MOST; d++)
		for (int k = 0; k < 2; k++)
			free(array[d][k]);
}

int main(int argc, char **argv)
{
	static const struct probe_backend host = {
		.name = "host",
		.open = host_open,
		.upload = host_upload,
		.fill = host_fill,
		.launch = host_launch,
		.copy = host_copy,
		.download = host_download,
		.graph = host_graph,
		.finish = host_finish,
		.close = host_close,
		.elements = 1 << 17,
	};

	return probe_main(argc, argv, &host);
}
