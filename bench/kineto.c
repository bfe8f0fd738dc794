/* PyTorch's JSON made into a record, against the least that must be done (reading the file and looking
 * for its line ends) and against Python's parser, by turns. The events are in the mix and of the
 * length of a training step with shapes recorded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "import/trace.h"

#define LAUNCHES 100000 /* kernels; about 180 MB */
#define ROUNDS 7
#define SNAKES 2 /* of them with Python, which takes seconds */
#define GOAL_MB_S 300.0
#define PIECE ((size_t)256 << 10)

/* ---- the file ------------------------------------------------------------------------------- */

static void operator_event(FILE *f, const char *name, int i, double ts, double dur)
{
	(void)fprintf(f,
		      "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 5617, \"tid\": 5617, "
		      "\"ts\": %.3f, \"dur\": %.3f, \"args\": {\"External id\": %d, \"Record function id\": "
		      "0, \"Concrete Inputs\": [\"\",\"\",\"\",\"[16, 16]\",\"[0, 0]\",\"1\"], \"Input "
		      "type\": [\"c10::BFloat16\",\"c10::BFloat16\",\"ScalarList\",\"Scalar\"], \"Input "
		      "Strides\": [[150528,50176,224,1],[768,256,16,1],[1],[]], \"Input Dims\": "
		      "[[4,3,224,224],[768,3,16,16],[768],[]], \"Ev Idx\": %d}},\n",
		      name, ts, dur, i, i);
}

static void launch(FILE *f, int i, double ts)
{
	static const char *const kernels[] = {
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
		"at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)",
		"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize96x128x32_stage4_warpsize2x2x1_kernel",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
	};
	operator_event(f, "aten::convolution", 2 * i, ts, 9.5);
	operator_event(f, "aten::_convolution", 2 * i + 1, ts + 1, 7.25);
	(void)fprintf(f,
		      "  {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
		      "5617, \"tid\": 5617, \"ts\": %.3f, \"dur\": 5.65, \"args\": {\"External id\": %d, "
		      "\"cbid\": 211, \"correlation\": %d}},\n"
		      "  {\"ph\": \"s\", \"id\": %d, \"pid\": 5617, \"tid\": 5617, \"ts\": %.3f, \"cat\": "
		      "\"ac2g\", \"name\": \"ac2g\"},\n",
		      ts + 2, i, i, i, ts + 2);
	(void)fprintf(f,
		      "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7, \"ts\": "
		      "%.3f, \"dur\": %.3f, \"args\": {\"External id\": %d, \"queued\": 0, \"device\": 0, "
		      "\"context\": 1, \"stream\": 7, \"correlation\": %d, \"registers per thread\": 32, "
		      "\"shared memory\": 2112, \"blocks per SM\": 47.515152, \"warps per SM\": 380.121216, "
		      "\"grid\": [1568,1,4], \"block\": [256,1,1], \"est. achieved occupancy %%\": 100}},\n"
		      "  {\"ph\": \"f\", \"id\": %d, \"pid\": 0, \"tid\": 7, \"ts\": %.3f, \"cat\": \"ac2g\", "
		      "\"name\": \"ac2g\", \"bp\": \"e\"},\n",
		      kernels[i % 3], ts + 11.002, 4 + i % 7 * 0.991, i, i, i, ts + 11.002);
}

static double make_file(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		exit(1);
	(void)fputs("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}],\n"
		    "\"baseTimeNanoseconds\": 1751410836000000000, \"traceEvents\": [\n",
		    f);
	double begin = 1414456661601.5;
	for (int i = 0; i < LAUNCHES; i++) {
		if (i % 1000 == 0)
			(void)fprintf(f,
				      "  {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
				      "\"ProfilerStep#%d\", \"pid\": 5617, \"tid\": 5617, \"ts\": %.3f, "
				      "\"dur\": 9999.000},\n",
				      i / 1000, begin + 10.0 * i);
		launch(f, i, begin + 10.0 * i);
	}
	(void)fprintf(f, "  {\"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window End\", \"ts\": %.3f}\n]}\n",
		      begin + 10.0 * LAUNCHES);
	double bytes = (double)ftell(f);
	if (fclose(f))
		exit(1);
	return bytes;
}

/* ---- who reads it --------------------------------------------------------------------------- */

static double floor_of(const char *path)
{
	double begin = cpu_s();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *piece = malloc(PIECE);
	size_t lines = 0;
	ssize_t n;
	if (fd < 0 || !piece)
		exit(1);
	while ((n = read(fd, piece, PIECE)) > 0)
		for (const char *p = piece, *end = piece + n;
		     (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
			lines++;
	(void)close(fd);
	free(piece);
	if (lines < LAUNCHES)
		abort();
	return cpu_s() - begin;
}

static double ours(const char *path)
{
	double begin = cpu_s();
	struct imports in = { 0 };
	struct err err = { "" };
	const struct trace_options o = { .case_ = "bench", .range = "ProfilerStep#*" };
	if (import_traces(&in, &kineto_reader, &path, 1, &o, &err)) {
		(void)fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	double took = cpu_s() - begin;
	const struct whole_process *w = &in.records[0]->body.context.whole_process;
	if (in.n_records != 1 || w->compute_ops + w->collective_ops != LAUNCHES)
		abort();
	imports_done(&in);
	return took;
}

/* CPU time of Python; NAN where there is none. */
static double snake(const char *path)
{
	static const char script[] = "import json, sys\n"
				     "events = json.load(open(sys.argv[1]))['traceEvents']\n"
				     "sum(e['dur'] for e in events if e.get('cat') == 'kernel')\n";
	const char *python = getenv("PYTHON");
	struct rusage before, after;
	int status;
	(void)getrusage(RUSAGE_CHILDREN, &before);
	pid_t pid = fork();
	if (pid == 0) {
		(void)execlp(python ? python : "python3", "python3", "-c", script, path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return NAN;
	(void)getrusage(RUSAGE_CHILDREN, &after);
	return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
	       (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6 +
	       (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
	       (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec) / 1e6;
}

int main(void)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", path[64];
	struct ratio floor_ratio = { .n = 0 }, snake_ratio = { .n = 0 }, speed = { .n = 0 };
	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(path, sizeof path, "%s/trace.json", folder);
	double bytes = make_file(path);
	(void)floor_of(path); /* into the page cache */
	for (int i = 0; i < ROUNDS; i++) {
		double least = floor_of(path), mine = ours(path);
		double theirs = i < SNAKES ? snake(path) : NAN;
		ratio_add(&floor_ratio, mine, least);
		ratio_add(&speed, mine, bytes / GOAL_MB_S / 1e6);
		if (!isnan(theirs))
			ratio_add(&snake_ratio, mine, theirs);
	}
	struct rusage self;
	(void)getrusage(RUSAGE_SELF, &self);
	int met = ratio_print(&speed, "kineto_import_against_300_MB_a_second", 1);
	(void)ratio_print(&floor_ratio, "kineto_import_against_reading_lines", 20);
	if (snake_ratio.n)
		met &= ratio_print(&snake_ratio, "kineto_import_against_python_json", 0.1);
	(void)printf("kineto_import_MB_a_second %.0f\nkineto_import_rss_MB %.1f\n",
		     GOAL_MB_S / speed.rounds[speed.n / 2], (double)self.ru_maxrss / 1024);
	(void)unlink(path);
	(void)rmdir(folder);
	return !met;
}
