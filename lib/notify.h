/* What systemd is told: sd_notify's protocol, one datagram each, without its library. Nothing
 * happens where nobody asked. */
#ifndef LIB_NOTIFY_H
#define LIB_NOTIFY_H

#include <stdint.h>

/* "READY=1", "STOPPING=1", "RELOADING=1\nMONOTONIC_USEC=..", "WATCHDOG=1", "STATUS=.." */
void notify_send(const char *state);

/* Keep this descriptor over a restart, under this name (no ':'), and hand it out then beside the
 * sockets (LISTEN_FDS, LISTEN_FDNAMES). It stays the caller's, too. */
void notify_keep(const char *name, int fd);
void notify_unkeep(const char *name);

/* How often to say WATCHDOG=1: half of what systemd waits. 0: never. */
uint64_t notify_watchdog_ns(void);

#endif
