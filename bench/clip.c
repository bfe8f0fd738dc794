/* Clipping a trace while it comes (core/flow.h), against the two ways in which it is usually done:
 * keep all operations, sort, sweep; and the same in Python. Synthetic operations of 8 streams of
 * one device (about half of them out of order) and of 1, 20 windows; each is clipped, counted by
 * name and category with a histogram, and united. Each measurement has a process of its own, by
 * turns; CPU time, without that of making the operations up. Peak memory is the kernel's (VmHWM).
 * CLIP_OPS=57000000: as many as one published run had; the sort then takes a tenth of them, and its
 * time for each is less than it would be for all. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ratio.h"
#include "core/flow.h"

#define WINDOWS 20
#define NAMES 40
#define STREAMS 8
#define PYTHON_OPS 200000

struct op {
	int64_t begin, end;
	uint32_t name, category, stream;
};

/* ---- operations ----------------------------------------------------------------------------- */

/* Each stream does one after the other; they are told of in order of their end, as drivers do. */
struct maker {
	struct op next[STREAMS];
	unsigned streams;
	uint64_t seed;
};

static uint32_t dice(struct maker *m)
{
	m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(m->seed >> 33);
}

/* Mostly some microseconds, some 100 times that. */
static void advance(struct maker *m, struct op *op)
{
	uint32_t r = dice(m), s = dice(m);
	int64_t length = 1500 + (r & 8191) + ((r >> 13 & 127) == 0 ? (int64_t)(s & 524287) : 0);
	op->begin = op->end + 200 + (s >> 20 & 1023);
	op->end = op->begin + length;
	op->name = r >> 20 & 31;
	op->category = op->name < 28 ? COMPUTE : COPY_H2D + (op->name & 1);
}

static void maker_init(struct maker *m, unsigned streams)
{
	*m = (struct maker){ .streams = streams, .seed = 20260929 };
	for (unsigned i = 0; i < streams; i++) {
		m->next[i].stream = i;
		m->next[i].end = 1700000000000000000;
		advance(m, &m->next[i]);
	}
}

static inline struct op make(struct maker *m)
{
	unsigned first = 0;
	for (unsigned i = 1; i < m->streams; i++)
		first = m->next[i].end < m->next[first].end ? i : first;
	struct op op = m->next[first];
	advance(m, &m->next[first]);
	return op;
}

/* All of it, by the mean length of an operation: 20 windows with as much between them. */
static void window(size_t ops, unsigned streams, int i, int64_t *begin, int64_t *end)
{
	int64_t span = (int64_t)((double)ops * 8400 / streams);
	*begin = 1700000000000000000 + span / WINDOWS * i + span / WINDOWS / 4;
	*end = *begin + span / WINDOWS / 2;
}

/* ---- one measurement in a process of its own ------------------------------------------------- */

struct result {
	double ns, rss_mb;             /* of one operation; of all */
	uint64_t ops, sum, busy, late; /* inside the windows */
	uint64_t out_of_order, worst_ns;
};

static double peak_mb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	double kb = NAN;
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kb = strtod(line + 6, NULL);
	if (f)
		(void)fclose(f);
	return kb / 1024;
}

static struct result run_maker(size_t n, unsigned streams)
{
	struct result r = { .ns = 0 };
	struct maker m;
	int64_t last = 0;
	maker_init(&m, streams);
	double begun = cpu_s();
	for (size_t i = 0; i < n; i++) {
		struct op op = make(&m);
		r.sum += (uint64_t)op.end;
	}
	r.ns = (cpu_s() - begun) / (double)n * 1e9;
	maker_init(&m, streams);
	for (size_t i = 0; i < n && i < 1000000; i++) {
		struct op op = make(&m);
		uint64_t late = op.begin < last ? (uint64_t)(last - op.begin) : 0;
		r.out_of_order += late > 0;
		r.worst_ns = late > r.worst_ns ? late : r.worst_ns;
		last = op.begin > last ? op.begin : last;
	}
	r.out_of_order = r.out_of_order * 100 / (n < 1000000 ? n : 1000000);
	return r;
}

static struct result run_flow(size_t n, unsigned streams)
{
	struct result r = { .ns = 0 };
	struct flow *f;
	struct flow_options o = { .observes = (1u << CATEGORIES) - 1, .keep_busy = true };
	struct arena a = { 0 };
	struct picture p;
	struct maker m;
	if (flow_new(&f, &o, NULL))
		exit(1);
	(void)flow_device(f, "gpu0", NULL);
	for (unsigned i = 0; i < NAMES; i++) {
		char name[32];
		(void)flow_name(f, name, (size_t)snprintf(name, sizeof name, "kernel_%u", i));
	}
	for (int i = 0; i < WINDOWS; i++) {
		int64_t begin, end;
		window(n, streams, i, &begin, &end);
		(void)flow_range(f, false, begin, end);
	}
	maker_init(&m, streams);
	double begun = cpu_s();
	for (size_t i = 0; i < n; i++) {
		struct op op = make(&m);
		flow_op(f,
			&(struct flow_op){ op.begin, op.end, 4096, 0, op.name + 1, op.category });
	}
	if (flow_picture(f, &a, &p, NULL))
		exit(1);
	r.ns = (cpu_s() - begun) / (double)n * 1e9;
	for (int c = 0; c < CATEGORIES; c++)
		r.ops += (uint64_t)p.roi.ops.items[c];
	r.sum = (uint64_t)p.roi.op_sum_ns;
	r.busy = (uint64_t)p.roi.busy_ns;
	r.late = (uint64_t)p.late;
	r.rss_mb = peak_mb();
	arena_free(&a);
	flow_free(f);
	return r;
}

/* ---- the peer: all kept, sorted, swept ------------------------------------------------------- */

struct tally {
	uint64_t count, total, min, max, bins[64];
};

static int by_begin(const void *a, const void *b)
{
	const struct op *x = a, *y = b;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void tally(struct tally *t, uint64_t ns)
{
	t->min = t->count++ == 0 || ns < t->min ? ns : t->min;
	t->max = ns > t->max ? ns : t->max;
	t->total += ns;
	t->bins[63 - __builtin_clzll(ns | 1)]++;
}

static void sweep(struct result *r, const struct op *ops, size_t n, size_t all, unsigned streams)
{
	static struct tally whole[NAMES + 1], roi[NAMES + 1];
	int64_t begin[WINDOWS], end[WINDOWS], until = 0;
	int at = 0;
	for (int i = 0; i < WINDOWS; i++)
		window(all, streams, i, &begin[i], &end[i]);
	for (size_t i = 0; i < n; i++) {
		const struct op *op = &ops[i];
		uint64_t inside = 0;
		int64_t fresh = op->begin > until ? op->begin : until;
		while (at < WINDOWS && end[at] <= op->begin)
			at++;
		for (int k = at; k < WINDOWS && begin[k] < op->end; k++) {
			int64_t b = begin[k] > op->begin ? begin[k] : op->begin;
			int64_t e = end[k] < op->end ? end[k] : op->end;
			inside += (uint64_t)(e - b);
			b = b > fresh ? b : fresh;
			r->busy += e > b ? (uint64_t)(e - b) : 0;
		}
		until = op->end > until ? op->end : until;
		tally(&whole[op->name], (uint64_t)(op->end - op->begin));
		r->ops += inside > 0;
		r->sum += inside;
		if (inside)
			tally(&roi[op->name], inside);
	}
	if (whole[0].total + roi[0].total == 1)
		(void)puts(""); /* they are used */
}

static struct result run_sort(size_t n, unsigned streams)
{
	struct result r = { .ns = 0 };
	struct maker m;
	maker_init(&m, streams);
	double begun = cpu_s();
	struct op *ops = NULL;
	size_t cap = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == cap) {
			cap = cap ? 2 * cap : 1024;
			ops = realloc(ops, cap * sizeof *ops);
			if (!ops)
				exit(1);
		}
		ops[i] = make(&m);
	}
	qsort(ops, n, sizeof *ops, by_begin);
	sweep(&r, ops, n, n, streams);
	r.ns = (cpu_s() - begun) / (double)n * 1e9;
	r.rss_mb = peak_mb();
	free(ops);
	return r;
}

static struct result apart(struct result (*run)(size_t, unsigned), size_t n, unsigned streams)
{
	struct result r = { .ns = NAN };
	int ends[2];
	if (pipe(ends))
		exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		r = run(n, streams);
		_exit(write(ends[1], &r, sizeof r) == sizeof r ? 0 : 1);
	}
	(void)close(ends[1]);
	if (read(ends[0], &r, sizeof r) != sizeof r)
		exit(1);
	(void)close(ends[0]);
	(void)waitpid(pid, NULL, 0);
	return r;
}

/* ---- Python --------------------------------------------------------------------------------- */

static const char script[] =
	"import random,sys,time\n"
	"n,k=int(sys.argv[1]),int(sys.argv[2])\n"
	"random.seed(1); t=[0]*k; ops=[]\n"
	"for i in range(n):\n"
	" s=i%k; b=t[s]+200+random.randrange(1024); e=b+1500+random.randrange(8192); t[s]=e\n"
	" ops.append((b,e,random.randrange(32)))\n"
	"ops.sort(key=lambda o:o[1]); span=max(t)\n"
	"win=[(span*i//20+span//80,span*i//20+span*3//80) for i in range(20)]\n"
	"x=time.process_time()\n"
	"ops.sort(); at=0; until=0; busy=0; total=0; names={}\n"
	"for b,e,name in ops:\n"
	" while at<20 and win[at][1]<=b: at+=1\n"
	" j=at; inside=0; fresh=b if b>until else until\n"
	" while j<20 and win[j][0]<e:\n"
	"  p=max(win[j][0],b); q=min(win[j][1],e); inside+=q-p\n"
	"  if p<fresh: p=fresh\n"
	"  if q>p: busy+=q-p\n"
	"  j+=1\n"
	" if e>until: until=e\n"
	" if inside:\n"
	"  total+=inside; r=names.get(name)\n"
	"  if r is None: names[name]=[1,inside,inside,inside]\n"
	"  else:\n"
	"   r[0]+=1; r[1]+=inside\n"
	"   if inside<r[2]: r[2]=inside\n"
	"   if inside>r[3]: r[3]=inside\n"
	"print((time.process_time()-x)/n*1e9)\n";

/* ns for each operation; NAN without Python. */
static double run_python(unsigned streams)
{
	const char *python = getenv("PYTHON");
	char n[16], k[16], text[64] = { 0 };
	int ends[2];
	if (pipe(ends))
		return NAN;
	(void)snprintf(n, sizeof n, "%d", PYTHON_OPS);
	(void)snprintf(k, sizeof k, "%u", streams);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execlp(python ? python : "python3", "python3", "-c", script, n, k,
			     (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	ssize_t got = read(ends[0], text, sizeof text - 1);
	(void)close(ends[0]);
	(void)waitpid(pid, NULL, 0);
	return got > 0 ? strtod(text, NULL) : NAN;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int check(const struct result *flow, const struct result *sorted)
{
	if (flow->late == 0 && flow->ops == sorted->ops && flow->sum == sorted->sum &&
	    flow->busy == sorted->busy)
		return 1;
	(void)printf(
		"# the two differ: %llu %llu operations, %llu %llu ns, %llu %llu busy, %llu late\n",
		(unsigned long long)flow->ops, (unsigned long long)sorted->ops,
		(unsigned long long)flow->sum, (unsigned long long)sorted->sum,
		(unsigned long long)flow->busy, (unsigned long long)sorted->busy,
		(unsigned long long)flow->late);
	return 0;
}

static int bench(size_t n, unsigned streams, int rounds)
{
	struct ratio per_op = { .n = 0 }, rss = { .n = 0 }, sort = { .n = 0 }, python = { .n = 0 };
	size_t sorted_n = n;
	char name[64];
	int good = 1;
	for (int i = 0; i < rounds; i++) {
		struct result made = apart(run_maker, n, streams);
		struct result flow = apart(run_flow, n, streams);
		struct result kept = apart(run_sort, sorted_n, streams);
		struct result same = sorted_n == n ? flow : apart(run_flow, sorted_n, streams);
		double snake = run_python(streams), ours = flow.ns - made.ns;
		good &= check(&same, &kept);
		ratio_add(&per_op, ours, 1);
		ratio_add(&rss, flow.rss_mb, 1);
		ratio_add(&sort, ours, kept.ns - made.ns);
		if (!isnan(snake))
			ratio_add(&python, ours, snake);
		(void)printf(
			"# %u streams: %zu operations, %llu %% out of order, at most %.2f ms; ns "
			"each: making %.1f, flow %.1f, sort of %zu %.0f, Python %.0f; MB: flow "
			"%.1f, sort %.0f\n",
			streams, n, (unsigned long long)made.out_of_order,
			(double)made.worst_ns / 1e6, made.ns, ours, sorted_n, kept.ns - made.ns,
			snake, flow.rss_mb, kept.rss_mb);
	}
	(void)snprintf(name, sizeof name, "clip_%u_streams_ns", streams);
	good &= ratio_print(&per_op, name, 40);
	(void)snprintf(name, sizeof name, "clip_%u_streams_peak_MB", streams);
	good &= ratio_print(&rss, name, 16);
	(void)snprintf(name, sizeof name, "clip_%u_streams_vs_sort_and_sweep", streams);
	good &= ratio_print(&sort, name, 0.2);
	(void)snprintf(name, sizeof name, "clip_%u_streams_vs_python", streams);
	if (python.n)
		good &= ratio_print(&python, name, 0.1);
	else
		(void)printf("# no Python here: %s is left out\n", name);
	return good;
}

int main(void)
{
	const char *ops = getenv("CLIP_OPS");
	size_t n = ops ? strtoull(ops, NULL, 10) : 10000000;
	int rounds = n > 20000000 ? 1 : 3;
	int good = bench(n, STREAMS, rounds);
	good &= bench(n, 1, rounds);
	return good ? 0 : 1;
}
