/* Any packet as an answer of the agent. The first byte says whether a descriptor comes with it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/unixsock.h"
#include "run/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct link_wait now = { 0, -1 };
	struct link_answer answer;
	int ends[2];
	if (n < 2 || n > 30000 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return 0;
	int pass = data[0] & 1 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	if (unixsock_send(ends[0], data + 1, n - 1, pass) == 0 &&
	    link_receive(ends[1], &answer, &now, NULL) == 0) {
		if ((answer.kind == LINK_STATUS) != (answer.pass >= 0) ||
		    (answer.kind == LINK_REFUSED) != (answer.rc < 0))
			abort();
		if (answer.pass >= 0)
			(void)close(answer.pass);
	}
	if (pass >= 0)
		(void)close(pass);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return 0;
}
