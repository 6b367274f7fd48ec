#include "engine_others.h"

#include "bench_util.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_CORES = 8 };

static struct {
    int cores[MAX_CORES], count;
    double begin, busy, own; /* seconds: by the clock; of the cores, by all and by us, until then */
} self;

/* Seconds for which the cores did something since the system began; negative: unknown. */
static double busy_seconds(void)
{
    char line[512];
    long long busy = 0;
    int found = 0;
    FILE *file = fopen("/proc/stat", "r");
    while (file && fgets(line, sizeof line, file)) {
        long long user, nice, system, idle, io, irq, soft, steal;
        int core;
        bool watched = false;
        if (sscanf(line, "cpu%d %lld %lld %lld %lld %lld %lld %lld %lld", &core, &user, &nice,
                   &system, &idle, &io, &irq, &soft, &steal) != 9)
            continue;
        for (int i = 0; i < self.count; i++)
            watched |= self.cores[i] == core;
        if (watched) {
            busy += user + nice + system + irq + soft + steal;
            found++;
        }
    }
    if (file)
        fclose(file);
    return found == self.count ? (double)busy / (double)sysconf(_SC_CLK_TCK) : -1;
}

static double usage_seconds(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double own_seconds(void)
{
    return usage_seconds(RUSAGE_SELF) + usage_seconds(RUSAGE_CHILDREN);
}

void others_begin(const int *cores, int count)
{
    self.count = count < MAX_CORES ? count : MAX_CORES;
    memcpy(self.cores, cores, (size_t)self.count * sizeof *cores);
    self.begin = bench_seconds();
    self.busy = busy_seconds();
    self.own = own_seconds();
}

double others_cores(void)
{
    const double busy = busy_seconds(), seconds = bench_seconds() - self.begin;
    if (busy < 0 || self.busy < 0 || !(seconds > 0))
        return -1;
    const double others = (busy - self.busy) - (own_seconds() - self.own);
    return others > 0 ? others / seconds : 0;
}
