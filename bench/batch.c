/* A batch, packed and unpacked, against zstd alone on the same bytes: what the format costs beyond
 * its compression. Large: the log of a process. Small: a context sample of 40 counters, as 10,000
 * agents post it once a second. */
#define _GNU_SOURCE
#include <string.h>
#include <zstd.h>

#include "bench/ratio.h"
#include "schema/batch.h"

#define ROUNDS 21
#define LARGE (155u << 10)
#define SMALL_EACH 2000
#define LARGE_EACH 40

static char log_bytes[LARGE];
static char room[LARGE * 2];

static void die(const char *what)
{
	(void)fprintf(stderr, "bench/batch: %s\n", what);
	exit(1);
}

/* Records of 32 bytes whose times grow by about the same each, as marks in a loop do. */
static void fill_log(void)
{
	unsigned long long t = 1, seed = 7;
	for (size_t at = 0; at + 32 <= LARGE / 2; at += 32) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned long long end = t + 20000 + (seed >> 33) % 2000;
		memcpy(log_bytes + at, &t, 8);
		memcpy(log_bytes + at + 8, &end, 8);
		t = end + 500;
	}
}

static struct batch_sender sender(void)
{
	struct batch_sender s;
	batch_sender_clear(&s);
	s.agent = str_of("node17");
	s.spool = str_of("1a2b3c4d5e6f7081");
	s.boot = str_of("0f3c9a52-9a3f-4a0e-8a6b-5d2f5b1c7e10");
	s.seq = 1;
	return s;
}

static struct frame process_frame(void)
{
	struct frame f;
	frame_clear(&f, FRAME_PROCESS);
	f.as.process.stream = str_of("0f3c9a52-1234-567.0");
	f.as.process.size = LARGE;
	f.as.process.data = (struct str){ .p = log_bytes, .n = LARGE };
	return f;
}

static struct frame context_frame(struct buf *values)
{
	struct frame f;
	char name[32];
	frame_clear(&f, FRAME_CONTEXT);
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof name, "counter_%d_bytes", i);
		batch_pair_put(values, str_of(name), 1e6 * i + 17);
	}
	f.as.context.scope = str_of("node");
	f.as.context.values = batch_list(values);
	return f;
}

static void there_and_back(struct batch_out *out, struct batch_in *in, const struct frame *f,
			   struct buf *b)
{
	struct batch_sender s = sender();
	struct frame got;
	b->len = 0;
	if (batch_put(out, f) || batch_end(out, &s, b, NULL) ||
	    batch_open(in, b->data, b->len, NULL) || batch_next(in, &got, NULL) != 1 ||
	    got.type != f->type)
		die("a batch did not come back");
}

static double ours(const struct frame *f, int each, struct batch_out *out, struct batch_in *in,
		   struct buf *b)
{
	double begin = cpu_s();
	for (int i = 0; i < each; i++)
		there_and_back(out, in, f, b);
	return cpu_s() - begin;
}

static double zstd_alone(const char *bytes, size_t n, int each)
{
	static char back[LARGE];
	static ZSTD_CCtx *c;
	static ZSTD_DCtx *d;
	c = c ? c : ZSTD_createCCtx();
	d = d ? d : ZSTD_createDCtx();
	double begin = cpu_s();
	for (int i = 0; i < each; i++) {
		size_t packed = ZSTD_compressCCtx(c, room, sizeof room, bytes, n, 1);
		if (ZSTD_decompressDCtx(d, back, sizeof back, room, packed) != n)
			die("zstd");
	}
	return cpu_s() - begin;
}

int main(void)
{
	struct ratio large = { .n = 0 }, small = { .n = 0 };
	struct batch_out out = { .frames = 0 };
	struct batch_in in = { .left = 0 };
	struct buf b = { 0 }, values = { 0 };
	double best = 1;
	fill_log();
	struct frame process = process_frame(), context = context_frame(&values);
	for (int i = 0; i < ROUNDS; i++) {
		double floor = zstd_alone(log_bytes, LARGE, LARGE_EACH);
		ratio_add(&large, ours(&process, LARGE_EACH, &out, &in, &b), floor);
		floor = zstd_alone(values.data, values.len, SMALL_EACH);
		double cpu = ours(&context, SMALL_EACH, &out, &in, &b);
		ratio_add(&small, cpu, floor);
		best = cpu / SMALL_EACH < best ? cpu / SMALL_EACH : best;
	}
	int ok = ratio_print(&large, "batch of a process log, there and back / zstd alone", 1.5);
	ok &= ratio_print(&small, "batch of 40 counters, there and back / zstd alone", 2);
	(void)printf("# 40 counters: %zu bytes as sent, %.3g us both ways, best round\n", b.len,
		     best * 1e6);
	batch_out_done(&out);
	batch_in_done(&in);
	buf_done(&b);
	buf_done(&values);
	return !ok;
}
