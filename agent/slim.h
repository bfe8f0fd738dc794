/* An agent sits on every node, and most of the time it waits. */
#ifndef AGENT_SLIM_H
#define AGENT_SLIM_H

/* Gives back memory that only the beginning needed: free heap, and the pages of code and constants
 * of all libraries. What is used again comes from the page cache, a fault for 16 pages. */
void slim(void);

#endif
