/* lib/unixsock.h: packets and descriptors between two ends in one process. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/unixsock.h"

static char folder[64], path[80];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof folder, "/tmp/unixsock-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof path, "%s/s", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

struct ends {
	int listener, client, server;
};

static struct ends meet(void)
{
	struct ends e;
	e.listener = unixsock_listen(path, 0600, NULL);
	assert_true(e.listener >= 0);
	e.client = unixsock_connect(path, NULL);
	assert_true(e.client >= 0);
	e.server = unixsock_accept(e.listener);
	assert_true(e.server >= 0);
	return e;
}

static void part(struct ends e)
{
	(void)close(e.client);
	(void)close(e.server);
	(void)close(e.listener);
}

static void a_packet_comes_whole_with_its_descriptor(void **state)
{
	(void)state;
	struct ends e = meet();
	int fds[2], got;
	char text[16];
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(unixsock_send(e.client, "one", 3, fds[1]), 0);
	assert_int_equal(unixsock_send(e.client, "second", 6, -1), 0);
	assert_int_equal(unixsock_recv(e.server, text, sizeof text, &got), 3);
	assert_memory_equal(text, "one", 3);
	assert_true(got >= 0);
	assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(got, "x", 1), 1);
	assert_int_equal(read(fds[0], text, 1), 1);
	assert_int_equal(unixsock_recv(e.server, text, sizeof text, &got), 6);
	assert_int_equal(got, -1);
	assert_int_equal(unixsock_recv(e.server, text, sizeof text, &got), -EAGAIN);
	(void)close(fds[0]);
	(void)close(fds[1]);
	part(e);
}

static void a_packet_that_is_too_long_is_refused_and_leaves_no_descriptor(void **state)
{
	(void)state;
	struct ends e = meet();
	char text[4];
	int got, before = dup(0), after;
	(void)close(before);
	assert_int_equal(unixsock_send(e.client, "longer", 6, 0), 0);
	assert_int_equal(unixsock_recv(e.server, text, sizeof text, &got), -EMSGSIZE);
	assert_int_equal(got, -1);
	after = dup(0);
	(void)close(after);
	assert_int_equal(after, before);
	part(e);
}

static void who_speaks_is_known(void **state)
{
	(void)state;
	struct ends e = meet();
	struct unixsock_peer peer;
	assert_int_equal(unixsock_peer(e.server, &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, getuid());
	part(e);
}

static void the_end_of_the_other_side_is_no_packet(void **state)
{
	(void)state;
	struct ends e = meet();
	char text[4];
	int got;
	(void)close(e.client);
	assert_int_equal(unixsock_recv(e.server, text, sizeof text, &got), 0);
	assert_int_equal(unixsock_send(e.server, "x", 1, -1), -EPIPE);
	e.client = -1;
	part(e);
}

static void a_full_socket_is_told_and_nothing_waits(void **state)
{
	(void)state;
	struct ends e = meet();
	char big[4096] = { 0 };
	int rc = 0, n = 0;
	while ((rc = unixsock_send(e.client, big, sizeof big, -1)) == 0)
		assert_true(++n < 100000);
	assert_int_equal(rc, -EAGAIN);
	part(e);
}

static void an_old_socket_is_replaced_and_a_live_one_is_not(void **state)
{
	(void)state;
	int fd = unixsock_listen(path, 0600, NULL);
	assert_true(fd >= 0);
	struct err err = { 0 };
	assert_int_equal(unixsock_listen(path, 0600, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, path));
	(void)close(fd);
	assert_int_equal(unixsock_connect(path, NULL), -ECONNREFUSED);
	fd = unixsock_listen(path, 0640, NULL);
	assert_true(fd >= 0);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unixsock_connect(path, NULL), -ENOENT);
}

static void a_file_in_its_place_is_left_alone(void **state)
{
	(void)state;
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(unixsock_listen(path, 0600, NULL), -EEXIST);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_path_that_is_too_long_is_said(void **state)
{
	(void)state;
	char far[300];
	struct err err = { 0 };
	memset(far, 'a', sizeof far - 1);
	far[sizeof far - 1] = 0;
	assert_int_equal(unixsock_connect(far, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "bytes"));
	assert_int_equal(unixsock_listen("", 0600, NULL), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_packet_comes_whole_with_its_descriptor),
		TEST(a_packet_that_is_too_long_is_refused_and_leaves_no_descriptor),
		TEST(who_speaks_is_known),
		TEST(the_end_of_the_other_side_is_no_packet),
		TEST(a_full_socket_is_told_and_nothing_waits),
		TEST(an_old_socket_is_replaced_and_a_live_one_is_not),
		TEST(a_file_in_its_place_is_left_alone),
		TEST(a_path_that_is_too_long_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
