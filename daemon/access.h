/* Who may do what. Replaced whole when the configuration is read again. */
#ifndef DAEMON_ACCESS_H
#define DAEMON_ACCESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "daemon/config.h"

struct access;

struct access *access_new(void);
void access_free(struct access *a);

/* Everything is read before anything changes. */
int access_load(struct access *a, const struct daemon_config *c, struct err *err);

struct access_request {
	const struct sockaddr *client;
	const char *authorization, *host; /* headers, or NULL */
	bool is_forwarded;                /* a proxy says it speaks for somebody else */
};

/* 0, or the status to answer with: 401, 403, 421. */
int access_read(struct access *a, const struct access_request *r);
int access_write(struct access *a, const struct access_request *r);
int access_post(struct access *a, const struct access_request *r);

bool access_logs(struct access *a);

/* A sentence for the status. */
const char *access_detail(int status, const struct access_request *r);

#endif
