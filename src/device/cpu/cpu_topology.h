/* Which processors this process may use. */
#ifndef HOCKET_DEVICE_CPU_TOPOLOGY_H
#define HOCKET_DEVICE_CPU_TOPOLOGY_H

enum { HKI_MAX_CORES = 256 };

/* One logical processor per physical core that the process is allowed to run on, nearest ones beside
 * each other. Returns how many (at least 1), at most HKI_MAX_CORES. May take milliseconds. */
int hki_cpu_cores(int processors[HKI_MAX_CORES]);

/* Binds the calling thread to these logical processors; failing is harmless and silent. */
void hki_cpu_pin(const int *processors, int count);

#endif
