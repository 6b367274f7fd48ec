/* Which processors this process may use. */
#ifndef HOCKET_DEVICE_CPU_TOPOLOGY_H
#define HOCKET_DEVICE_CPU_TOPOLOGY_H

#include <sched.h>

enum { HKI_MAX_CORES = 256 };

/* One logical processor per physical core that the process is allowed to run on, in the system's order. Returns how many (at
 * least 1), at most HKI_MAX_CORES. Allocates nothing; reads a small file of /sys for each processor. */
int hki_cpu_cores(int processors[HKI_MAX_CORES]);

/* The least allowed one of a list as /sys has them, "0-1,8"; -1: none, or no list. */
int hki_cpu_least_of(const char *list, const cpu_set_t *allowed);

/* Binds the calling thread to these logical processors; failing is harmless and silent. */
void hki_cpu_pin(const int *processors, int count);

#endif
