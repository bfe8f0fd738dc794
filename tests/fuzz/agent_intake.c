/* Packets over the agent's socket, from a client that means harm. An input is packets one after the
 * other: a byte (0 text, 1 batch, 2 hello with a file, 3 hello without, 4 hang up), two bytes of
 * length, and the bytes: of the packet, or of the file that is passed. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "tests/unit/agent_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct world world;
static bool open_world;

static void close_world(void)
{
	world_done(&world);
}

static void send_with(int fd, const char *line, const uint8_t *bytes, size_t n)
{
	int pass = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(pass >= 0 && write(pass, bytes, n) == (ssize_t)n);
	(void)unixsock_send(fd, line, strlen(line), pass);
	(void)close(pass);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!open_world) {
		world_folder(&world);
		world_start(&world);
		open_world = true;
		(void)atexit(close_world);
		(void)fclose(stderr); /* a line for each refusal is no news here */
	}
	int fd = world_connect(&world);
	while (size >= 3) {
		size_t n = (size_t)data[1] | (size_t)data[2] << 8;
		uint8_t what = data[0] % 5;
		data += 3;
		size -= 3;
		n = n < size ? n : size;
		if (what == 0)
			(void)unixsock_send(fd, data, n, -1);
		else if (what == 1)
			send_with(fd, LOCAL_BATCH, data, n);
		else if (what == 2)
			send_with(fd, LOCAL_HELLO, data, n);
		else if (what == 3)
			(void)unixsock_send(fd, LOCAL_HELLO, strlen(LOCAL_HELLO), -1);
		else {
			(void)close(fd);
			fd = world_connect(&world);
		}
		data += n;
		size -= n;
		world_turn(&world);
	}
	(void)close(fd);
	world_turn(&world);
	/* The spool does not grow from input to input. */
	struct spool_item item;
	while (outbox_read(world.outbox, &item, NULL) == 1)
		(void)outbox_ack(world.outbox, item.seq, NULL);
	agent_delivered(world.agent, outbox_delivered(world.outbox));
	return 0;
}
