/* The probe of calls about files: the same work as of a device, out of core. The array lies in a
 * file; each launch reads its part, computes and writes it back. So a launch is exactly these calls
 * on each "device", which is a pair of files a and b:
 *
 *     fstat, pread of the part, pwrite of it                            posix
 *     three times lseek, readv of the counters and writev of them       posix
 *     fprintf and fputc into a log                                      stdio
 *     open and stat of a file that is not there, which fail
 *
 * The copy within the device is lseek, sendfile from a to b, fdatasync. With --queues N each queue
 * has a thread and handles of its own. "io" in the line of JSON is what should have been seen: sums
 * inside of the region and of the whole process, and each file's. What the probe says goes out by a
 * system call of its own, and its files are removed so: neither is in a number. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum {
	COUNTER_BYTES = PROBE_COUNTERS * sizeof(float),
	FIRST_PIECE = 100, /* of the counters; the other one has the rest */
	HEADER_BYTES = 40, /* of the log; so much is written first, and less of it read back */
	HEADER_READ = 33,
	LINE_BYTES = 16, /* "launch 0000001: " and one character more */
};

struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	bool started, busy, ends;
	int device, queue;
	struct probe_slice slice;
};

static const struct probe_options *options;
static char folder[PATH_MAX];
static int a_of[PROBE_MOST], b_of[PROBE_MOST], own_of[PROBE_MOST][PROBE_MOST];
static FILE *notes;
static struct worker workers[PROBE_MOST];
static float *rooms[PROBE_MOST]; /* a slice of each queue */
static int bad;                  /* a call went wrong in a thread */

/* ---- files ---- */

/* "a" of the first device, "a1" of the second. */
static void name_of(char *ret, size_t size, const char *what, int device)
{
	(void)snprintf(ret, size, "%.3900s/roimeter-probe-%ld.%s%.0d", folder, (long)getpid(), what,
		       device);
}

static int open_one(const char *what, int device, int flags)
{
	char path[PATH_MAX];
	name_of(path, sizeof path, what, device);
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		(void)probe_fail("%s: %s", path, strerror(errno));
	return fd;
}

static void remove_one(const char *what, int device)
{
	char path[PATH_MAX];
	name_of(path, sizeof path, what, device);
	(void)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static int went_wrong(const char *call)
{
	__atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
	return probe_fail("%s: %s", call, errno ? strerror(errno) : "less than was asked for");
}

/* ---- a launch ---- */

static int add_to_counters(int fd, size_t counter)
{
	float counters[PROBE_COUNTERS];
	struct iovec pieces[2] = { { counters, FIRST_PIECE },
				   { (char *)counters + FIRST_PIECE,
				     COUNTER_BYTES - FIRST_PIECE } };
	off_t at = (off_t)(counter * sizeof(float));

	if (lseek(fd, at, SEEK_SET) != at || readv(fd, pieces, 2) != COUNTER_BYTES)
		return went_wrong("readv");
	for (size_t i = 0; i < PROBE_COUNTERS; i++)
		counters[i] += 1.0F;
	if (lseek(fd, at, SEEK_SET) != at || writev(fd, pieces, 2) != COUNTER_BYTES)
		return went_wrong("writev");
	return lseek(fd, 0, SEEK_CUR) == at + COUNTER_BYTES ? 0 : went_wrong("lseek");
}

static void compute(float *x, size_t n)
{
	double end_s = probe_now_s() + 1e-6 * options->kernel_us;

	if (options->kernel_us > 0)
		while (probe_now_s() < end_s)
			;
	else
		for (size_t i = 0; i < n; i++)
			for (unsigned r = 0; r < options->repeat; r++)
				x[i] = x[i] * 0.5F + 1.0F;
}

static int note_it(void)
{
	static long number;
	long mine = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED) % 10000000;

	return fprintf(notes, "launch %07ld:", mine) == LINE_BYTES - 1 && fputc('\n', notes) == '\n'
		       ? 0
		       : went_wrong("fprintf");
}

static int do_launch(int device, int queue, const struct probe_slice *s)
{
	int fd = own_of[device][queue], nothing;
	size_t bytes = s->count * sizeof(float);
	off_t at = (off_t)(s->first * sizeof(float));
	struct stat st;
	char path[PATH_MAX];

	name_of(path, sizeof path, "nothing", device);
	errno = 0;
	if (fstat(fd, &st) || pread(fd, rooms[queue], bytes, at) != (ssize_t)bytes)
		return went_wrong("pread");
	compute(rooms[queue], s->count);
	if (pwrite(fd, rooms[queue], bytes, at) != (ssize_t)bytes)
		return went_wrong("pwrite");
	nothing = open(path, O_RDONLY | O_CLOEXEC);
	if (nothing >= 0 || stat(path, &st) == 0)
		return (void)close(nothing), probe_fail("%s is there", path);
	return add_to_counters(fd, s->counter) || note_it();
}

/* ---- threads of queues ---- */

static void *serve(void *of)
{
	struct worker *w = of;

	(void)pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->busy && !w->ends)
			(void)pthread_cond_wait(&w->turn, &w->lock);
		if (!w->busy)
			break;
		(void)pthread_mutex_unlock(&w->lock);
		(void)do_launch(w->device, w->queue, &w->slice);
		(void)pthread_mutex_lock(&w->lock);
		w->busy = false;
		(void)pthread_cond_broadcast(&w->turn);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void wait_for(struct worker *w)
{
	while (w->busy)
		(void)pthread_cond_wait(&w->turn, &w->lock);
}

static int io_launch(int device, int queue, const struct probe_slice *s)
{
	struct worker *w = &workers[queue];

	if (!w->started)
		return do_launch(device, queue, s);
	(void)pthread_mutex_lock(&w->lock);
	wait_for(w);
	w->device = device;
	w->queue = queue;
	w->slice = *s;
	w->busy = true;
	(void)pthread_cond_broadcast(&w->turn);
	(void)pthread_mutex_unlock(&w->lock);
	return 0;
}

static int io_finish(void)
{
	for (int q = 0; q < options->queues; q++) {
		struct worker *w = &workers[q];
		if (!w->started)
			continue;
		(void)pthread_mutex_lock(&w->lock);
		wait_for(w);
		(void)pthread_mutex_unlock(&w->lock);
	}
	return __atomic_load_n(&bad, __ATOMIC_RELAXED);
}

static int start_workers(void)
{
	for (int q = 0; options->queues > 1 && q < options->queues; q++) {
		struct worker *w = &workers[q];
		if (pthread_mutex_init(&w->lock, NULL) || pthread_cond_init(&w->turn, NULL) ||
		    pthread_create(&w->thread, NULL, serve, w))
			return probe_fail("no thread for queue %d", q);
		w->started = true;
	}
	return 0;
}

static void stop_workers(void)
{
	for (int q = 0; q < PROBE_MOST; q++) {
		struct worker *w = &workers[q];
		if (!w->started)
			continue;
		(void)pthread_mutex_lock(&w->lock);
		w->ends = true;
		(void)pthread_cond_broadcast(&w->turn);
		(void)pthread_mutex_unlock(&w->lock);
		(void)pthread_join(w->thread, NULL);
		w->started = false;
	}
}

/* ---- begin and end ---- */

static int begin_log(void)
{
	char path[PATH_MAX], line[HEADER_BYTES + 1];

	name_of(path, sizeof path, "log", 0);
	notes = fopen(path, "w+e");
	if (!notes)
		return probe_fail("%s: %s", path, strerror(errno));
	(void)snprintf(line, sizeof line, "%-*s\n", HEADER_BYTES - 1, "what was launched");
	return fwrite(line, 1, HEADER_BYTES, notes) == HEADER_BYTES &&
			       fseek(notes, 0, SEEK_SET) == 0 &&
			       fread(line, 1, HEADER_READ, notes) == HEADER_READ &&
			       fseek(notes, 0, SEEK_END) == 0
		       ? 0
		       : went_wrong("the log");
}

static int open_files(void)
{
	for (int d = 0; d < options->devices; d++) {
		a_of[d] = open_one("a", d, O_RDWR | O_CREAT | O_TRUNC);
		b_of[d] = open_one("b", d, O_RDWR | O_CREAT | O_TRUNC);
		if (a_of[d] < 0 || b_of[d] < 0)
			return 1;
		for (int q = 0; q < options->queues; q++) {
			own_of[d][q] = open_one("a", d, O_RDWR);
			if (own_of[d][q] < 0)
				return 1;
		}
	}
	return begin_log();
}

static int io_open(const struct probe_options *o)
{
	const char *base = o->folder ? o->folder : getenv("TMPDIR");
	size_t most = o->elements / (size_t)o->queues * sizeof(float);

	options = o;
	memset(a_of, -1, sizeof a_of);
	memset(b_of, -1, sizeof b_of);
	memset(own_of, -1, sizeof own_of);
	(void)snprintf(probe_device, sizeof probe_device, "%s", "files");
	base = base && *base ? base : "/tmp";
	if (!realpath(base, folder)) {
		folder[0] = 0;
		return probe_fail("--folder %s: %s", base, strerror(errno));
	}
	if (strlen(folder) > 3900)
		return probe_fail("--folder %s: its name is too long", base);
	if (o->elements % (size_t)o->queues)
		return -probe_fail("--elements %zu: here it must be a multiple of --queues",
				   o->elements);
	for (int q = 0; q < o->queues; q++) {
		rooms[q] = malloc(most);
		if (!rooms[q])
			return probe_fail("no memory for %zu bytes", most);
	}
	return open_files() || start_workers();
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void io_close(void)
{
	stop_workers();
	for (int d = 0; options && d < options->devices; d++) {
		close_one(&a_of[d]);
		close_one(&b_of[d]);
		for (int q = 0; q < options->queues; q++)
			close_one(&own_of[d][q]);
		remove_one("a", d);
		remove_one("b", d);
	}
	if (notes)
		(void)fclose(notes);
	notes = NULL;
	if (folder[0])
		remove_one("log", 0);
	for (int q = 0; q < PROBE_MOST; q++)
		free(rooms[q]);
}

/* ---- the other operations ---- */

static size_t all_bytes(const struct probe_options *o)
{
	return o->floats * sizeof(float);
}

static int io_upload(int device, const float *from)
{
	size_t n = all_bytes(options);
	return write(a_of[device], from, n) == (ssize_t)n ? 0 : went_wrong("write");
}

static int io_fill(int device, size_t first, size_t count)
{
	size_t n = count * sizeof(float);
	void *zeros = calloc(1, n);
	bool good = zeros &&
		    pwrite(a_of[device], zeros, n, (off_t)(first * sizeof(float))) == (ssize_t)n;

	free(zeros);
	return good && ftruncate(b_of[device], (off_t)all_bytes(options)) == 0
		       ? 0
		       : went_wrong("pwrite");
}

static int io_copy(int device)
{
	size_t n = all_bytes(options);
	off_t from = 0;

	if (lseek(b_of[device], 0, SEEK_SET) != 0 ||
	    sendfile(b_of[device], a_of[device], &from, n) != (ssize_t)n)
		return went_wrong("sendfile");
	return fdatasync(b_of[device]) == 0 ? 0 : went_wrong("fdatasync");
}

static int io_download(int device, bool b, size_t first, size_t count, float *to)
{
	size_t n = count * sizeof *to;
	ssize_t got = pread(b ? b_of[device] : a_of[device], to, n, (off_t)(first * sizeof *to));

	return got == (ssize_t)n ? 0 : went_wrong("pread");
}

/* ---- what should be seen ---- */

struct sums {
	long long read_bytes, write_bytes, read_ops, write_ops, open_ops, seek_ops, sync_ops,
		meta_ops, failed_ops;
};

static void put_accesses(const struct sums *s)
{
	probe_put("\"read_bytes\": %lld, \"write_bytes\": %lld, \"read_ops\": %lld, "
		  "\"write_ops\": %lld",
		  s->read_bytes, s->write_bytes, s->read_ops, s->write_ops);
}

static void put_sums(const char *name, const struct sums *s)
{
	probe_put("\"%s\": {", name);
	put_accesses(s);
	probe_put(", \"open_ops\": %lld, \"seek_ops\": %lld, \"sync_ops\": %lld, \"meta_ops\": "
		  "%lld, \"failed_ops\": %lld}, ",
		  s->open_ops, s->seek_ops, s->sync_ops, s->meta_ops, s->failed_ops);
}

/* The accesses to one device's a and b, and to the log by one device. */
static void files_of(const struct probe_options *o, const struct probe_counts *all, struct sums *a,
		     struct sums *b, struct sums *log)
{
	long long slice = (long long)(o->elements / (size_t)o->queues * sizeof(float)),
		  array = (long long)all_bytes(o),
		  tail = (long long)((o->floats - probe_tail(o)) * sizeof(float));
	long devices = o->devices, launches = all->compute / devices,
	     copies = all->copy_d2d / devices;

	a->read_ops = 2 * launches + copies;
	a->write_ops = 2 * launches;
	a->read_bytes = launches * (slice + COUNTER_BYTES) + copies * array;
	a->write_bytes = launches * (slice + COUNTER_BYTES);
	a->write_ops += all->copy_h2d / devices + all->fill / devices;
	a->write_bytes +=
		all->copy_h2d / devices * array + all->fill / devices * o->queues * COUNTER_BYTES;
	b->write_ops = copies;
	b->write_bytes = copies * array;
	b->read_ops = all->copy_d2h / devices; /* a copy was made before that */
	b->read_bytes = all->copy_d2h / devices * tail;
	log->write_ops = 2 * launches;
	log->write_bytes = launches * LINE_BYTES;
}

static void add_accesses(struct sums *to, const struct sums *from, long times)
{
	to->read_bytes += times * from->read_bytes;
	to->write_bytes += times * from->write_bytes;
	to->read_ops += times * from->read_ops;
	to->write_ops += times * from->write_ops;
}

static struct sums sums_of(const struct probe_options *o, const struct probe_counts *all)
{
	struct sums a = { 0 }, b = { 0 }, log = { 0 }, s = { 0 };

	files_of(o, all, &a, &b, &log);
	add_accesses(&s, &a, o->devices);
	add_accesses(&s, &b, o->devices);
	add_accesses(&s, &log, o->devices);
	s.seek_ops = 3 * all->compute + all->copy_d2d;
	s.sync_ops = all->copy_d2d;
	s.meta_ops = all->compute + all->fill;
	s.failed_ops = 2 * all->compute;
	return s;
}

/* What is done once, outside of every region. Who is killed closes nothing. */
static void add_ends(const struct probe_options *o, struct sums *s, struct sums *log)
{
	long opened = (long)o->devices * (2 + o->queues) + 1;
	struct sums header = { .read_ops = 1,
			       .read_bytes = HEADER_READ,
			       .write_ops = 1,
			       .write_bytes = HEADER_BYTES };

	add_accesses(s, &header, 1);
	add_accesses(log, &header, 1);
	s->seek_ops += 2;
	s->open_ops += o->kill_at > 0 ? opened : 2 * opened;
}

static void put_file(const char *what, int device, const char *interface, const struct sums *inside,
		     const struct sums *whole, const char *behind)
{
	char path[PATH_MAX];

	name_of(path, sizeof path, what, device);
	probe_put("{\"name\": \"%s\", \"interface\": \"%s\", \"inside\": {", path, interface);
	put_accesses(inside);
	probe_put("}, \"whole\": {");
	put_accesses(whole);
	probe_put("}}%s", behind);
}

static void io_expect(const struct probe_options *o, const struct probe_did *want)
{
	struct sums a = { 0 }, b = { 0 }, log = { 0 }, a_all = { 0 }, b_all = { 0 },
		    log_all = { 0 }, all_logs = { 0 }, inside_logs = { 0 };
	struct sums inside = sums_of(o, &want->inside), whole = sums_of(o, &want->whole);

	files_of(o, &want->inside, &a, &b, &log);
	files_of(o, &want->whole, &a_all, &b_all, &log_all);
	add_accesses(&inside_logs, &log, o->devices);
	add_accesses(&all_logs, &log_all, o->devices);
	add_ends(o, &whole, &all_logs);
	probe_put("\"io\": {");
	put_sums("inside", &inside);
	put_sums("whole", &whole);
	probe_put("\"files\": [");
	for (int d = 0; d < o->devices; d++) {
		put_file("a", d, "posix", &a, &a_all, ", ");
		put_file("b", d, "posix", &b, &b_all, ", ");
	}
	put_file("log", 0, "stdio", &inside_logs, &all_logs, "");
	probe_put("]}, ");
}

int main(int argc, char **argv)
{
	static const struct probe_backend files = {
		.name = "io",
		.open = io_open,
		.upload = io_upload,
		.fill = io_fill,
		.launch = io_launch,
		.copy = io_copy,
		.download = io_download,
		.finish = io_finish,
		.close = io_close,
		.elements = 1 << 17,
		.expect = io_expect,
	};

	return probe_main(argc, argv, &files);
}
