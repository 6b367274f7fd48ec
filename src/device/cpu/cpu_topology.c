#include "device/cpu/cpu_topology.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Everything is on the stack: this works where no allocation does. */

int hki_cpu_least_of(const char *list, const cpu_set_t *allowed)
{
    int least = -1;
    while (*list >= '0' && *list <= '9') {
        char *end;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = first; i <= last && i < CPU_SETSIZE; i++)
            if (CPU_ISSET((size_t)i, allowed) && (least < 0 || i < least))
                least = (int)i;
        list = *end == ',' ? end + 1 : "";
    }
    return least;
}

/* The least of the allowed processors on this one's core; itself where the system does not say. */
static int core_of(int processor, const cpu_set_t *allowed)
{
    char path[96], list[512];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return processor;
    const ssize_t bytes = read(file, list, sizeof list - 1);
    close(file);
    list[bytes > 0 ? bytes : 0] = '\0';
    const int least = hki_cpu_least_of(list, allowed);
    return least < 0 ? processor : least;
}

int hki_cpu_cores(int processors[HKI_MAX_CORES])
{
    int count = 0;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) { /* more processors than a cpu_set_t has */
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        CPU_ZERO(&allowed);
        for (long i = 0; i < online && i < CPU_SETSIZE; i++)
            CPU_SET((size_t)i, &allowed);
    }
    for (int i = 0; i < CPU_SETSIZE && count < HKI_MAX_CORES; i++)
        if (CPU_ISSET((size_t)i, &allowed) && core_of(i, &allowed) == i)
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
