#include "neighbour.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool pin_to_first(void)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return false;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed)) {
            CPU_SET(i, &one);
            break;
        }
    return !sched_setaffinity(0, sizeof one, &one);
}

bool neighbour_start(neighbour *self)
{
    pid_t parent = getpid();
    self->process = fork();
    if (self->process < 0) {
        fprintf(stderr, "hocket: no process to measure beside: %s\n", strerror(errno));
        return false;
    }
    if (self->process > 0)
        return true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!pin_to_first())
        _exit(1);
    for (volatile unsigned long turns = 0; getppid() == parent;)
        for (int i = 0; i < 1000000; i++)
            turns++;
    _exit(0);
}

void neighbour_stop(neighbour *self)
{
    if (self->process <= 0)
        return;
    kill(self->process, SIGKILL);
    waitpid(self->process, NULL, 0);
    self->process = 0;
}
