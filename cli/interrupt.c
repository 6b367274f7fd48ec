#include "interrupt.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t came;
static struct sigaction before;

static void note(int signal)
{
    (void)signal;
    came = 1;
}

void interrupt_watch(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    came = 0;
    sigaction(SIGINT, &action, &before);
}

void interrupt_unwatch(void)
{
    sigaction(SIGINT, &before, NULL);
}

bool interrupt_came(void)
{
    return came;
}
