/* Ten thousand agents that each post a small batch once a second over a connection that they keep,
 * on one event loop: CPU time of the server for each post, its memory, and how long a post takes
 * until it is acknowledged as durable, against a bare epoll loop that reads, writes a constant of
 * the same size and stores nothing. What the daemon's other threads take to store is told apart.
 * And GET report of a large grid, asked ten times a second while that load runs.
 *
 *   agents [--agents N] [--seconds S] [--rounds R] [--report 0]
 *
 * Fewer agents where descriptors are limited. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "bench/ratio.h"
#include "bench/server.h"
#include "store/store.h"
#include "tests/agents/batch.h"

#define TOKEN "bench-token-000000000000"
#define POST_BYTES 4096

struct options {
	unsigned long agents, seconds, rounds, report;
};

static struct options o = { 10000, 4, 3, 1 };

/* ---- the grid: 1,000 applications, 10 inputs, 8 platforms --------------------------------------
 */

static void fill(const char *db)
{
	struct store *s;
	struct err err;
	if (store_open(&s, db, STORE_WRITE, &err) || store_begin(s, &err))
		die(err.text);
	for (unsigned i = 0; i < 80000; i++) {
		struct record rec;
		record_init(&rec);
		struct record_body *b = &rec.body;
		b->run_id = arena_printf(&rec.arena, "202609%02uT%02u%02u%02uZ-%08x", 1 + i / 86400,
					 i / 3600 % 24, i / 60 % 60, i % 60, i);
		b->utc = arena_printf(&rec.arena, "2026-09-%02uT%02u:%02u:%02uZ", 1 + i / 86400,
				      i / 3600 % 24, i / 60 % 60, i % 60);
		b->suite = "bench";
		b->app = arena_printf(&rec.arena, "application%03u", i / 80);
		b->case_ = arena_printf(&rec.arena, "n%u", i % 80 / 8);
		b->platform = arena_printf(&rec.arena, "vendor-p%u.cuda13.2", i % 8);
		b->kind = "measured";
		b->status = "ok";
		b->roi.wall_s = 1 + (double)i / 1e6;
		b->roi.cv = 0.01;
		b->roi.min_s = 1;
		b->roi.max_s = 1.1;
		b->measurement.cleans_used = 3;
		if (store_add_run(s, &rec, &err))
			die(err.text);
		record_done(&rec);
	}
	if (store_commit(s, &err))
		die(err.text);
	store_close(s);
}

/* ---- what they send ----------------------------------------------------------------------------
 */

struct posts {
	struct buf bytes;
	size_t *ends; /* of each: agents of the first second, of the second, .. */
	size_t n;
};

static void make_posts(struct posts *p, uint64_t first_seq, unsigned long seconds)
{
	struct buf body = { 0 };
	p->bytes.len = p->n = 0;
	p->ends = realloc(p->ends, o.agents * seconds * sizeof *p->ends);
	for (uint64_t k = 0; k < seconds; k++)
		for (unsigned a = 0; a < o.agents; a++) {
			body.len = 0;
			batch_make(&body, "bench-", a, first_seq + k, 0);
			buf_printf(&p->bytes,
				   "POST /api/v1/ingest HTTP/1.1\r\nHost: localhost\r\n"
				   "User-Agent: roimeter-agent\r\nAccept: */*\r\n"
				   "Content-Type: " BATCH_TYPE "\r\nAuthorization: Bearer " TOKEN
				   "\r\nContent-Length: %zu\r\n\r\n",
				   body.len);
			buf_put(&p->bytes, body.data, body.len);
			p->ends[p->n++] = p->bytes.len;
		}
	if (p->bytes.failed || !p->ends)
		die("memory");
	buf_done(&body);
}

/* ---- the load ----------------------------------------------------------------------------------
 */

struct load {
	int ep, report_fd;
	int *fds;
	double *sent_s; /* of each agent: when its post should have gone; 0: it waits for none */
	double *took_s, *report_s;
	size_t sent, took, late, refused, closed, reports;
	double asked_s; /* the report; 0: not now */
	size_t report_left;
};

static int order(const void *a, const void *b)
{
	return ratio_order(a, b);
}

static double percentile(double *list, size_t n, double share)
{
	qsort(list, n, sizeof *list, order);
	return n ? list[(size_t)((double)(n - 1) * share)] : 0;
}

static void open_load(struct load *l, int port, size_t posts, bool report)
{
	*l = (struct load){ .ep = epoll_create1(EPOLL_CLOEXEC), .report_fd = -1 };
	l->fds = calloc(o.agents, sizeof *l->fds);
	l->sent_s = calloc(o.agents, sizeof *l->sent_s);
	l->took_s = calloc(posts, sizeof *l->took_s);
	l->report_s = calloc(4096, sizeof *l->report_s);
	if (l->ep < 0 || !l->fds || !l->sent_s || !l->took_s || !l->report_s)
		die("memory");
	for (unsigned long i = 0; i < o.agents; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = i };
		l->fds[i] = dial(port);
		if (epoll_ctl(l->ep, EPOLL_CTL_ADD, l->fds[i], &e))
			die("epoll_ctl");
	}
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = o.agents };
	if (report) {
		l->report_fd = dial(port);
		(void)epoll_ctl(l->ep, EPOLL_CTL_ADD, l->report_fd, &e);
	}
}

static void close_load(struct load *l)
{
	for (unsigned long i = 0; i < o.agents; i++)
		(void)close(l->fds[i]);
	if (l->report_fd >= 0)
		(void)close(l->report_fd);
	(void)close(l->ep);
	free(l->fds);
	free(l->sent_s);
	free(l->took_s);
	free(l->report_s);
}

static void take_answer(struct load *l, size_t agent)
{
	char text[2048];
	ssize_t n = read(l->fds[agent], text, sizeof text - 1);
	if (n <= 0) {
		(void)epoll_ctl(l->ep, EPOLL_CTL_DEL, l->fds[agent], NULL);
		l->closed++;
		return;
	}
	text[n] = 0;
	l->refused += strncmp(text, "HTTP/1.1 200", 12) != 0;
	if (l->sent_s[agent] > 0)
		l->took_s[l->took++] = wall_s() - l->sent_s[agent];
	l->sent_s[agent] = 0;
}

static void take_report(struct load *l)
{
	static char buf[1 << 18];
	ssize_t n = read(l->report_fd, buf, sizeof buf - 1);
	if (n <= 0)
		die("report");
	if (!l->report_left) {
		buf[n] = 0;
		char *end = strstr(buf, "\r\n\r\n"), *length = strstr(buf, "Content-Length: ");
		if (!end || !length || strncmp(buf, "HTTP/1.1 200", 12) != 0)
			die("report's head");
		l->report_left =
			(size_t)(end + 4 - buf) + strtoul(length + 16, NULL, 10) - (size_t)n;
	} else {
		l->report_left -= (size_t)n;
	}
	if (l->report_left)
		return;
	if (l->reports < 4096)
		l->report_s[l->reports++] = wall_s() - l->asked_s;
	l->asked_s = 0;
}

static void take_all(struct load *l, double until_s)
{
	struct epoll_event got[256];
	double left = until_s - wall_s();
	int n = epoll_wait(l->ep, got, 256, left > 0.001 ? (int)(left * 1000) : 0);
	for (int i = 0; i < n; i++)
		if (got[i].data.u64 == o.agents)
			take_report(l);
		else
			take_answer(l, got[i].data.u64);
}

/* One that waits for its last answer is late, and posts the next when its time comes again. */
static void send_post(struct load *l, const struct posts *p, size_t i, double at_s)
{
	size_t agent = i % o.agents, from = i ? p->ends[i - 1] : 0, n = p->ends[i] - from;
	if (l->sent_s[agent] > 0) {
		l->late++;
		return;
	}
	l->sent_s[agent] = at_s;
	l->sent++;
	if (write(l->fds[agent], p->bytes.data + from, n) != (ssize_t)n)
		die("write");
}

/* All posts, spread evenly; then a second for the last answers. */
static void drive(struct load *l, const struct posts *p)
{
	double begin = wall_s(), next_report = begin;
	size_t i = 0;
	while (i < p->n) {
		double now = wall_s();
		for (; i < p->n; i++) {
			double at = begin + (double)i / (double)o.agents;
			if (at > now)
				break;
			send_post(l, p, i, at);
		}
		if (l->report_fd >= 0 && now >= next_report && l->asked_s <= 0) {
			l->asked_s = now;
			next_report = now + 0.1;
			ask(l->report_fd, "/api/v1/report", "Accept-Encoding: gzip\r\n");
		}
		take_all(l, begin + (double)i / (double)o.agents);
	}
	for (double end = wall_s() + 5; wall_s() < end && l->took < l->sent;)
		take_all(l, end);
}

/* ---- rounds ------------------------------------------------------------------------------------
 */

struct server {
	const char *name;
	pid_t pid;
	int port;
	const char *loop; /* the threads that speak HTTP: as used_by_s takes it */
};

struct figures {
	double loop_us, all_us, p50_ms, p99_ms, rss, report_p50_ms, report_p99_ms;
	size_t late, lost, refused, reports;
};

static struct figures measure(const struct server *s, const struct posts *p, bool report)
{
	struct load l;
	struct figures f = { 0 };
	open_load(&l, s->port, p->n, report);
	(void)usleep(300000);
	double loop = used_by_s(s->pid, s->loop), all = used_s(s->pid);
	drive(&l, p);
	f.loop_us = (used_by_s(s->pid, s->loop) - loop) / (double)l.sent * 1e6;
	f.all_us = (used_s(s->pid) - all) / (double)l.sent * 1e6;
	f.rss = rss_mb(s->pid);
	f.late = l.late;
	f.lost = l.sent - l.took;
	f.refused = l.refused;
	f.p50_ms = percentile(l.took_s, l.took, 0.5) * 1e3;
	f.p99_ms = percentile(l.took_s, l.took, 0.99) * 1e3;
	f.report_p50_ms = percentile(l.report_s, l.reports, 0.5) * 1e3;
	f.report_p99_ms = percentile(l.report_s, l.reports, 0.99) * 1e3;
	f.reports = l.reports;
	close_load(&l);
	(void)printf(
		"# %s: %.1f us a post (%.1f of them storing), RSS %.1f MB, p50 %.2f ms, p99 %.2f "
		"ms, %zu late, %zu refused, %zu lost\n",
		s->name, f.all_us, f.all_us - f.loop_us, f.rss, f.p50_ms, f.p99_ms, f.late,
		f.refused, f.lost);
	(void)fflush(stdout);
	return f;
}

static double number_of(const struct buf *text, const char *name)
{
	const char *at = strstr(text->data, name);
	return at ? strtod(at + strlen(name), NULL) : 0;
}

/* How posts were put together, and how long the disk took. */
static void show_commits(int port)
{
	struct buf b = { 0 };
	int fd = dial(port);
	ask(fd, "/metrics", NULL);
	(void)take(fd, &b);
	(void)close(fd);
	double commits = number_of(&b, "\nroimeterd_commit_seconds_count ");
	(void)printf(
		"# commits: %.0f of %.1f posts, %.2f ms each; longer than 10 ms %.0f, than 100 ms "
		"%.0f\n",
		commits, number_of(&b, "\nroimeterd_ingest_posts_total ") / commits,
		number_of(&b, "\nroimeterd_commit_seconds_sum ") / commits * 1e3,
		commits - number_of(&b, "\nroimeterd_commit_seconds_bucket{le=\"0.01\"} "),
		commits - number_of(&b, "\nroimeterd_commit_seconds_bucket{le=\"0.1\"} "));
	buf_done(&b);
}

static int below(const char *name, double value, double goal)
{
	(void)printf("%s %.3g goal %g %s\n", name, value, goal, value <= goal ? "ok" : "missed");
	return value <= goal;
}

static int rounds(const struct server *floor, const struct server *daemon)
{
	struct ratio loop = { .n = 0 }, all = { .n = 0 }, p99 = { .n = 0 };
	struct posts p = { 0 };
	double rss = 0, bad = 0;
	uint64_t seq = 1;
	for (unsigned long i = 0; i < o.rounds; i++) {
		make_posts(&p, seq, o.seconds);
		seq += o.seconds;
		struct figures theirs = measure(floor, &p, false),
			       ours = measure(daemon, &p, false);
		ratio_add(&loop, ours.loop_us, theirs.all_us);
		ratio_add(&all, ours.all_us, theirs.all_us);
		ratio_add(&p99, ours.p99_ms, theirs.p99_ms);
		rss = ours.rss > rss ? ours.rss : rss;
		bad += (double)(ours.refused + ours.lost);
		show_commits(daemon->port);
	}
	int good = ratio_print(&loop, "agents_http_cpu_vs_epoll", 1.25);
	(void)ratio_print(&all, "agents_all_cpu_with_storing_vs_epoll", 99);
	good &= ratio_print(&p99, "agents_p99_durable_vs_epoll", 3);
	good &= below("agents_rss_mb", rss, 60);
	good &= below("agents_posts_refused_or_lost", bad, 0);
	buf_done(&p.bytes);
	free(p.ends);
	return good;
}

static int report_rounds(const struct server *daemon)
{
	struct posts p = { 0 };
	struct ratio p50 = { .n = 0 }, p99 = { .n = 0 };
	for (unsigned long i = 0; i < o.rounds; i++) {
		make_posts(&p, 1 + (o.rounds + i) * o.seconds, o.seconds);
		struct figures f = measure(daemon, &p, true);
		ratio_add(&p50, f.report_p50_ms, 1);
		ratio_add(&p99, f.report_p99_ms, 1);
		(void)printf("# GET report %zu times: p50 %.2f ms, p99 %.2f ms\n", f.reports,
			     f.report_p50_ms, f.report_p99_ms);
	}
	int good = ratio_print(&p50, "report_80000_cells_under_load_ms_p50", 10);
	good &= ratio_print(&p99, "report_80000_cells_under_load_ms_p99", 10);
	buf_done(&p.bytes);
	free(p.ends);
	return good;
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		unsigned long n = strtoul(argv[i + 1], NULL, 10);
		if (strcmp(argv[i], "--agents") == 0)
			o.agents = n;
		else if (strcmp(argv[i], "--seconds") == 0)
			o.seconds = n;
		else if (strcmp(argv[i], "--rounds") == 0)
			o.rounds = n;
		else if (strcmp(argv[i], "--report") == 0)
			o.report = n;
	}
	unsigned long most = descriptors() - 200;
	if (o.agents > most) {
		(void)printf("# %lu agents, as descriptors are limited\n", most);
		o.agents = most;
	}
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX", path[64];
	struct buf config = { 0 }, answer = { 0 };
	parse(argc, argv);
	if (!mkdtemp(folder))
		die("folder");
	(void)snprintf(path, sizeof path, "%s/token", folder);
	if (file_write(path, TOKEN "\n", strlen(TOKEN) + 1, NULL) || chmod(path, 0600))
		die(path);
	buf_printf(&config,
		   "[http]\nlisten = 127.0.0.1:0\n[store]\ndb = %s/d.db\n[auth]\ningest_tokens = "
		   "%s\n[limits]\nconnections = %lu\nper_ip = %lu\n[log]\naccess = no\n",
		   folder, path, o.agents + 100, o.agents + 100);
	(void)signal(SIGPIPE, SIG_IGN);
	/* The constant has the size of the daemon's answer. */
	buf_puts(&answer, "HTTP/1.1 200 OK\r\nContent-Length: 29\r\n");
	while (answer.len < 470)
		buf_puts(&answer, "X: 0123456789abcdef0123\r\n");
	buf_puts(&answer, "\r\n{\"batches\":1,\"duplicates\":0}\n");
	struct server daemon = { .name = "roimeterd", .loop = "MHD-single" };
	struct server floor = { .name = "epoll" };
	daemon.pid = start_daemon(argv[0], folder, config.data, true, &daemon.port);
	floor.pid = start_floor(&floor.port, &answer);
	pin(1);
	int good = rounds(&floor, &daemon);
	end_child(floor.pid, SIGKILL);
	end_child(daemon.pid, SIGTERM);
	if (o.report) {
		(void)snprintf(path, sizeof path, "%s/d.db", folder);
		fill(path);
		daemon.pid = start_daemon(argv[0], folder, config.data, true, &daemon.port);
		good &= report_rounds(&daemon);
		end_child(daemon.pid, SIGTERM);
	}
	(void)file_remove_tree(folder, NULL);
	buf_done(&answer);
	buf_done(&config);
	return good ? 0 : 1;
}
