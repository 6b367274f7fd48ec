#include "device/cpu/cpu_topology.h"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

static bool is_allowed(int processor, const cpu_set_t *allowed)
{
    return processor < CPU_SETSIZE && CPU_ISSET((size_t)processor, allowed);
}

int hki_cpu_cores(int processors[HKI_MAX_CORES])
{
    int count = 0;
    cpu_set_t allowed;
    bool known = !sched_getaffinity(0, sizeof allowed, &allowed);
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology))
        goto fallback;
    if (hwloc_topology_load(topology))
        goto destroy;
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores && count < HKI_MAX_CORES; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i);
        for (int processor = hwloc_bitmap_first(core->cpuset); processor >= 0;
             processor = hwloc_bitmap_next(core->cpuset, processor)) {
            if (!known || is_allowed(processor, &allowed)) {
                processors[count++] = processor;
                break;
            }
        }
    }
destroy:
    hwloc_topology_destroy(topology);
fallback:
    if (!count && known)
        for (int i = 0; i < CPU_SETSIZE && count < HKI_MAX_CORES; i++)
            if (is_allowed(i, &allowed))
                processors[count++] = i;
    if (!count)
        processors[count++] = 0;
    return count;
}

void hki_cpu_pin(const int *processors, int count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < count; i++)
        CPU_SET((size_t)processors[i], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}
