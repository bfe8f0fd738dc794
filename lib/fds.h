/* The descriptors that a child of fork has from its parent. */
#ifndef LIB_FDS_H
#define LIB_FDS_H

/* Those from 3 on are closed by exec. */
void fds_close_on_exec(void);

/* None is left but keep; 0 to 2 are /dev/null. For a child that does not exec, as nobody else may
 * have what it holds: a lock, a pipe that somebody reads to its end. */
void fds_let_go(int keep);

#endif
