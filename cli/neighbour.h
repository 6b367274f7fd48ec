/* Another program on the same machine, to measure beside: it keeps one core as busy as it is let. */
#ifndef HOCKET_CLI_NEIGHBOUR_H
#define HOCKET_CLI_NEIGHBOUR_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct neighbour {
    pid_t process;
} neighbour;

/* Starts it on the first core that this process may use, which is cpu:0's first. No runtime may be running. False,
 * and printed, when the system does not let. It ends with neighbour_stop, or when this process does. */
bool neighbour_start(neighbour *self);
void neighbour_stop(neighbour *self);

#endif
