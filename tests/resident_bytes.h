/* What of this process's memory is resident. */
#ifndef HOCKET_TESTS_RESIDENT_BYTES_H
#define HOCKET_TESTS_RESIDENT_BYTES_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int64_t resident_bytes(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

#endif
