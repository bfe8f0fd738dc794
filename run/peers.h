/* Other runs on this machine, whoever's: two that measure at once disturb each other. Each takes
 * a numbered name in the kernel's abstract socket space, which ends with the process (and with
 * the keeper of its tree); nothing is left in any folder. */
#ifndef RUN_PEERS_H
#define RUN_PEERS_H

struct peers {
	int own; /* our slot's socket; -1: none was free */
	int slot;
};

void peers_join(struct peers *p);
void peers_leave(struct peers *p);

/* How many others there are now; NAN if that can't be told. */
double peers_count(const struct peers *p);

#endif
