/* The HTTP server: one thread with epoll takes the requests, others ask the store. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "daemon/config.h"
#include "daemon/listen.h"

struct server;

/* Answers from here on. text: where. */
int server_start(struct server **ret, const struct daemon_config *c, char text[LISTEN_TEXT],
		 struct err *err);

/* Could it start with this, as far as the files it names tell? The database is not touched. */
int server_check(const struct daemon_config *c, struct err *err);

/* Who may read and write, hosts, the access log. The rest needs a new start. */
int server_reload(struct server *s, const struct daemon_config *c, struct err *err);

/* Nothing new is accepted, what has begun is answered. NULL is fine. */
void server_stop(struct server *s);

#endif
