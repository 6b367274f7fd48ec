/* The memory that this process has, as Linux counts it. */
#ifndef HOCKET_BENCH_RESIDENT_H
#define HOCKET_BENCH_RESIDENT_H

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A line of /proc/self/status in bytes; 0 when it is not there. */
static inline int64_t status_bytes(const char *name)
{
    char line[256];
    long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            sscanf(line + strlen(name), ": %lld", &kilobytes);
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

/* Maps all that the process could read of its files: which code a network is the first to run says nothing of its memory.
 * Kernels before 5.14 cannot. */
static inline void map_files(void)
{
#ifdef MADV_POPULATE_READ
    char line[4352], right;
    uintptr_t begin, end;
    unsigned long inode;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%*s %*s %*s %lu", &begin, &end, &right,
                   &inode) == 4 &&
            inode && right == 'r')
            madvise((void *)begin, end - begin, MADV_POPULATE_READ);
    if (file)
        fclose(file);
#endif
}

/* Before something is measured: what was freed goes to the system, so that it counts again when it is used. */
static inline void settle_memory(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    map_files();
}

/* Begins the high-water mark of the resident set anew; false, after a message, where it cannot. */
static inline bool forget_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY);
    bool done = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0)
        close(file);
    if (!done)
        perror("/proc/self/clear_refs");
    return done;
}

#endif
