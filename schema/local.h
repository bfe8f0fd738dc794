/* What is said over the agent's socket, a Unix socket of sequenced packets on its node. A message
 * is one packet: a line that says what it is, then what belongs to it, and at most one descriptor.
 * Whoever has more to say puts it into a file without a name (memfd) and passes that.
 *
 * Who speaks is known by the credentials of the socket, never by what is said. */
#ifndef SCHEMA_LOCAL_H
#define SCHEMA_LOCAL_H

#define LOCAL_SOCKET "/run/roimeter-agent/agent.sock" /* where nothing else is said */
#define LOCAL_VARIABLE "ROIMETER_AGENT"               /* path of the socket */
#define LOCAL_LOGS "logs" /* folder beside the socket, for logs that have no other place */
#define LOCAL_MAX_BYTES (16u << 10)

/* From a marked process, once, behind the making of its log: descriptor: the log, to be read. The
 * log says all else. It is not answered, and the process closes the socket at once. */
#define LOCAL_HELLO "roimeter-hello 1\n"

/* From a runner. Descriptor: one batch (schema/batch.h; agent and spool of its sender are "runner",
 * its seq counts them) of run_announce, execution_start, execution_end, run_end and process frames.
 * The agent puts them into its own batches. Answered when they are durable on this node:
 *     "roimeter-kept 1\nSEQ\n"    the number of the last batch they are in
 * or refused: LOCAL_ERROR. A connection over which a run was announced and that ends before its
 * run_end means that the runner is gone: the agent ends the run as interrupted. */
#define LOCAL_BATCH "roimeter-batch 1\n"
#define LOCAL_KEPT "roimeter-kept 1\n"

/* "roimeter-delivered 1\nSEQ\n": answered, as LOCAL_DELIVERED with the same number, once the daemon
 * has all batches up to SEQ. Others on the same connection are answered meanwhile. */
#define LOCAL_DELIVERED "roimeter-delivered 1\n"

/* What the agent holds and does: answered with the same line and a descriptor of JSON text, to be
 * read from offset 0. Its keys are in docs/agent-status.md. */
#define LOCAL_STATUS "roimeter-status 1\n"

/* "roimeter-error 1\nerrno name\nsentence\n": the request before was refused, and nothing of it was
 * done. */
#define LOCAL_ERROR "roimeter-error 1\n"

#endif
