/* What systemd is told: sd_notify's protocol, one datagram each, without its library. Nothing
 * happens where nobody asked. */
#ifndef LIB_NOTIFY_H
#define LIB_NOTIFY_H

#include <stdint.h>

/* "READY=1", "STOPPING=1", "RELOADING=1\nMONOTONIC_USEC=..", "WATCHDOG=1", "STATUS=.." */
void notify_send(const char *state);

/* How often to say WATCHDOG=1: half of what systemd waits. 0: never. */
uint64_t notify_watchdog_ns(void);

#endif
