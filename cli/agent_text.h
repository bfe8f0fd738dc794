/* What an agent says about itself (docs/agent-status.md), for people. */
#ifndef CLI_AGENT_TEXT_H
#define CLI_AGENT_TEXT_H

#include <jansson.h>

#include "lib/buf.h"

/* What is null, of another type or not there is left out or "-". */
void agent_text(struct buf *b, const json_t *status);

#endif
