/* Something that may hang or crash is done by a process of its own, and what it has to say comes
 * back as bytes. The caller is single-threaded. */
#ifndef NODE_ASIDE_H
#define NODE_ASIDE_H

#include "lib/buf.h"

/* fn runs in the child and appends to its buffer; what it answers is answered here. -ETIMEDOUT: it
 * took longer than limit_s and was ended; -ECHILD: it crashed; -errno, -ENOMEM. ret is appended to
 * when it answered 0. */
int aside(struct buf *ret, double limit_s, int (*fn)(struct buf *out, void *arg), void *arg);

#endif
