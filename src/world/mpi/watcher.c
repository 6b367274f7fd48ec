/* Hydra learns of a rank's end by the connection that the rank has to it, for PMI. The watcher has it open, too: so the launcher
 * does not know before the watcher has spoken and ends itself. */
#include "world/mpi/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Younger than some C libraries. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static pid_t watcher; /* 0: none */

/* ---- what ranks share -------------------------------------------------------------------------------- */

static hki_watched *map(int descriptor)
{
    void *memory =
        mmap(NULL, sizeof(hki_watched), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void describe(char *where, size_t bytes)
{
    char host[65] = "", network[33] = "";
    gethostname(host, sizeof host - 1);
    if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0)
        network[0] = '\0';
    snprintf(where, bytes, "%s %s", host, network);
}

hki_watched_place hki_watched_make(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    hki_watched_place place = {.pid = (int32_t)getpid(),
                               .descriptor = memfd_create("hocket-world", MFD_CLOEXEC),
                               .number = (int32_t)(now.tv_nsec ^ now.tv_sec)};
    describe(place.where, sizeof place.where);
    const hki_watched first = {.number = place.number};
    if (place.descriptor >= 0 &&
        write(place.descriptor, &first, sizeof first) != (ssize_t)sizeof first) {
        close(place.descriptor);
        place.descriptor = -1;
    }
    return place;
}

hki_watched *hki_watched_find(const hki_watched_place *place)
{
    char path[64], where[sizeof place->where];
    describe(where, sizeof where);
    if (place->descriptor < 0 || strcmp(where, place->where) != 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place->pid, place->descriptor);
    const int descriptor = open(path, O_RDWR | O_CLOEXEC);
    hki_watched *watched = descriptor < 0 ? NULL : map(descriptor);
    if (descriptor >= 0)
        close(descriptor);
    if (watched && watched->number == place->number)
        return watched;
    if (watched)
        munmap(watched, sizeof *watched);
    return NULL;
}

void hki_watched_close(const hki_watched_place *place)
{
    if (place->descriptor >= 0)
        close(place->descriptor);
}

/* ---- the process ------------------------------------------------------------------------------------- */

/* A copy of a process with many threads: nothing here may need a lock that one of them has held. */
static _Noreturn void watch(hki_watched *watched, int rank, pid_t pid, int parent)
{
    char line[160];
    struct pollfd ends = {.fd = parent, .events = POLLIN};
    setsid(); /* signals to the rank's group are for the rank */
    while (poll(&ends, 1, -1) < 1)
        ;
    const int length = snprintf(line, sizeof line,
                                "hocket: rank %d (process %d) was killed, or has ended without "
                                "leaving the world; the launcher ends the others\n",
                                rank, (int)pid);
    const int has_spoken = atomic_exchange(&watched->has_spoken, 1);
    _exit(!has_spoken && write(STDERR_FILENO, line, (size_t)length) < 0);
}

void hki_watcher_start(hki_watched *watched, int rank)
{
    const pid_t pid = getpid();
    const int own = (int)syscall(SYS_pidfd_open, pid, 0);
    if (own < 0)
        return;
    /* Without what libraries have registered for fork, and without a signal to the program at its end. */
    watcher = (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
    if (watcher == 0)
        watch(watched, rank, pid, own);
    watcher = watcher < 0 ? 0 : watcher;
    close(own);
}

void hki_watcher_end(void)
{
    if (watcher <= 0)
        return;
    kill(watcher, SIGKILL);
    waitpid(watcher, NULL, __WALL);
    watcher = 0;
}
