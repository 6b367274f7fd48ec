/* The memory that this process has, as Linux counts it. */
#ifndef HOCKET_BENCH_RESIDENT_H
#define HOCKET_BENCH_RESIDENT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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
