#include "interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t came;
static struct sigaction before_int, before_term;

static void note(int signal)
{
    if (!came)
        came = signal;
}

static void watch(int signal, int flags, struct sigaction *before)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, before);
}

void interrupt_watch(void)
{
    came = 0;
    watch(SIGINT, (int)(SA_RESETHAND | SA_RESTART), &before_int);
    watch(SIGTERM, SA_RESTART, &before_term);
}

void interrupt_unwatch(void)
{
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
}

int interrupt_signal(void)
{
    return came;
}
