/* What an answer of roimeterd costs beside a bare epoll loop (one read and one write a request, a
 * constant of the same size) and beside nginx, where it is installed: a constant, and the page's
 * script from a descriptor against a file of the same bytes by sendfile. CPU time of the server
 * alone, for each request, by turns. /health is made anew each time, runs comes from the cache and
 * asks the store whether it has changed. */
#define _GNU_SOURCE
#include "bench/ratio.h"
#include "bench/server.h"

#define CONNECTIONS 32
#define REQUESTS 8000
#define ROUNDS 9
#define GOAL 1.25
#define NGINX_GOAL 1.1

struct target {
	pid_t pid;
	int port;
	const char *path, *headers;
};

/* ---- nginx ----------------------------------------------------------------------------------- */

static const char *nginx_program(void)
{
	static const char *const places[] = { "/usr/sbin/nginx", "/usr/bin/nginx",
					      "/usr/local/sbin/nginx" };
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

static bool answers(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
	(void)close(fd);
	return good;
}

/* One process without a master, all it writes in our folder. */
static pid_t start_nginx(const char *program, const char *folder, const char *constant,
			 int *ret_port)
{
	char path[128];
	struct buf b = { 0 };
	int fd = listen_any(ret_port); /* a port that was free just now */
	(void)close(fd);
	buf_printf(
		&b,
		"daemon off; master_process off; worker_processes 1; pid %s/nginx.pid;\n"
		"error_log /dev/null;\nevents { worker_connections 512; }\nhttp {\n"
		"access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;\n"
		"client_body_temp_path %s/body; proxy_temp_path %s/proxy; fastcgi_temp_path "
		"%s/fcgi; uwsgi_temp_path %s/uwsgi; scgi_temp_path %s/scgi;\n"
		"open_file_cache max=10; open_file_cache_valid 1h;\n"
		"server { listen 127.0.0.1:%d; root %s;\n"
		"location = /constant { default_type application/json; return 200 '%s'; } }\n}\n",
		folder, folder, folder, folder, folder, folder, *ret_port, folder, constant);
	(void)snprintf(path, sizeof path, "%s/nginx.conf", folder);
	if (b.failed || file_write(path, b.data, b.len, NULL))
		die(path);
	buf_done(&b);
	pid_t pid = fork();
	if (pid == 0) {
		pin(0);
		(void)execl(program, program, "-p", folder, "-c", path, "-e", "/dev/null",
			    (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 200 && !answers(*ret_port); i++)
		(void)usleep(20000);
	return pid;
}

/* ---- load ------------------------------------------------------------------------------------ */

/* Microseconds of the server's CPU for each request. */
static double load_us(const struct target *t, int requests)
{
	int fds[CONNECTIONS];
	for (int i = 0; i < CONNECTIONS; i++) {
		fds[i] = dial(t->port);
		ask(fds[i], t->path, t->headers);
		(void)take(fds[i], NULL);
	}
	double before = used_s(t->pid);
	for (int k = 0; k < requests / CONNECTIONS; k++) {
		for (int i = 0; i < CONNECTIONS; i++)
			ask(fds[i], t->path, t->headers);
		for (int i = 0; i < CONNECTIONS; i++)
			(void)take(fds[i], NULL);
	}
	double after = used_s(t->pid);
	for (int i = 0; i < CONNECTIONS; i++)
		(void)close(fds[i]);
	return (after - before) / (requests / CONNECTIONS * CONNECTIONS) * 1e6;
}

static void get(const struct target *t, struct buf *answer)
{
	int fd = dial(t->port);
	ask(fd, t->path, t->headers);
	(void)take(fd, answer);
	(void)close(fd);
	if (answer->failed || strncmp(answer->data, "HTTP/1.1 200", 12) != 0)
		die(t->path);
}

static int compare(const char *name, const struct target *ours, const struct target *theirs,
		   int requests, double goal)
{
	struct ratio r = { .n = 0 };
	double best = 1e9;
	for (int i = -1; i < ROUNDS; i++) {
		double floor = load_us(theirs, requests), us = load_us(ours, requests);
		if (i < 0)
			continue;
		ratio_add(&r, us, floor);
		best = floor < best ? floor : best;
	}
	(void)printf("# %s: the other one %.1f us a request\n", name, best);
	return ratio_print(&r, name, goal);
}

static int compare_floor(const char *name, const struct target *ours)
{
	struct buf answer = { 0 };
	struct target floor = { .path = ours->path };
	get(ours, &answer);
	floor.pid = start_floor(&floor.port, &answer);
	int good = compare(name, ours, &floor, REQUESTS, GOAL);
	end_child(floor.pid, SIGKILL);
	buf_done(&answer);
	return good;
}

/* The address of the page's script, as the page names it. */
static bool find_script(const struct target *daemon, char path[128])
{
	struct buf page = { 0 };
	struct target root = *daemon;
	root.path = "/";
	get(&root, &page);
	char *at = strstr(page.data, "src=\"assets/"), *end = at ? strchr(at + 5, '"') : NULL;
	bool found = end && end - at < 128;
	if (found)
		(void)snprintf(path, 128, "/%.*s", (int)(end - at - 5), at + 5);
	buf_done(&page);
	return found;
}

static int compare_nginx(const struct target *daemon, const char *folder)
{
	const char *program = nginx_program();
	char script[128], file[200];
	struct buf constant = { 0 }, page = { 0 };
	struct target health = *daemon, asset = *daemon, nginx = { .path = "/constant" };
	if (!program) {
		(void)printf("# nginx is not installed: its ratios are left out\n");
		return 1;
	}
	health.path = "/health";
	get(&health, &constant);
	char *body = strstr(constant.data, "\r\n\r\n") + 4;
	body[strcspn(body, "\n")] = 0;
	nginx.pid = start_nginx(program, folder, body, &nginx.port);
	int good = compare("http_constant_vs_nginx_cpu", &health, &nginx, REQUESTS, NGINX_GOAL);
	asset.path = script;
	asset.headers = "Accept-Encoding: br\r\n";
	if (find_script(daemon, script)) {
		for (int k = 0; k < 2; k++) {
			page.len = 0;
			get(&asset, &page);
			body = strstr(page.data, "\r\n\r\n") + 4;
			(void)snprintf(file, sizeof file, "%s/page%d", folder, k);
			size_t n = page.len - (size_t)(body - page.data);
			if (file_write(file, body, n, NULL))
				die(file);
			nginx.path = k ? "/page1" : "/page0";
			(void)printf("# the page's script, %zu bytes\n", n);
			good &= compare(k ? "http_page_plain_vs_nginx_sendfile_cpu"
					  : "http_page_br_vs_nginx_sendfile_cpu",
					&asset, &nginx, REQUESTS / 4, NGINX_GOAL);
			asset.headers = "";
		}
	} else {
		(void)printf("# no page was built: its ratios are left out\n");
	}
	end_child(nginx.pid, SIGKILL);
	buf_done(&page);
	buf_done(&constant);
	return good;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/roimeter-bench.XXXXXX";
	struct buf b = { 0 };
	int good = 1;
	(void)argc;
	if (!mkdtemp(folder))
		die("folder");
	buf_printf(&b, "[http]\nlisten = 127.0.0.1:0\n[store]\ndb = %s/d.db\n[log]\naccess = no\n",
		   folder);
	(void)signal(SIGPIPE, SIG_IGN);
	struct target daemon = { .path = "/health" };
	daemon.pid = start_daemon(argv[0], folder, b.data, true, &daemon.port);
	pin(1);
	good &= compare_floor("http_constant_vs_epoll_cpu", &daemon);
	daemon.path = "/api/v1/runs?limit=5";
	good &= compare_floor("http_runs_cached_vs_epoll_cpu", &daemon);
	good &= compare_nginx(&daemon, folder);
	end_child(daemon.pid, SIGTERM);
	buf_done(&b);
	(void)file_remove_tree(folder, NULL);
	return good ? 0 : 1;
}
