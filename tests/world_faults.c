/* A rank that does not do its part, for tests/world_ranks/: without arguments, nothing.
 *
 *   world_faults KIND   none, stop, late, leave, die, error; amid, amid_dies: an emulated GPU stops, or ends, the process
 *
 * WORLD_DEVICE: where arrays are; else on the host. */
#include <hocket/hocket.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WRONG = 1, STEPS = 200, FAULT_STEP = 5 };

/* What the rank does instead. */
static void misbehave(const char *kind)
{
    if (!strcmp(kind, "stop"))
        raise(SIGSTOP);
    else if (!strcmp(kind, "late"))
        nanosleep(&(struct timespec){.tv_sec = 4}, NULL);
    else if (!strcmp(kind, "leave"))
        exit(0);
    else if (!strcmp(kind, "die"))
        raise(SIGKILL);
    else if (!strcmp(kind, "error"))
        exit(3);
}

/* A file of its name says that the process has been. */
static void leave_pid(void)
{
    char path[512];
    const char *folder = getenv("WORLD_PIDS");
    snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", (int)getpid());
    FILE *file = folder ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}

int main(int count, char **arguments)
{
    if (count < 2)
        return 0;
    leave_pid();
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 2;
    const int rank = hk_world_rank();
    const char *name = getenv("WORLD_DEVICE");
    const hk_device device = name ? hk_device_named(name) : (hk_device){NULL};
    if (rank == WRONG &&
        !strncmp(arguments[1], "amid", 4)) /* as it is asked for, which comes later */
        setenv(strcmp(arguments[1], "amid") ? "HOCKET_EMULATED_NCCL_DIES"
                                            : "HOCKET_EMULATED_NCCL_STOPS",
               "7", 1);
    const hk_status *status = NULL;
    hk_array *x = hk_full(hk_shape(30000), 1, HK_F32, device);
    for (int step = 0; step < STEPS; step++) {
        HK_SCOPE;
        if (rank == WRONG && step == FAULT_STEP)
            misbehave(arguments[1]);
        hk_group_all_reduce(hk_group_world(), &x, 1, 1, 0);
        hk_assign(x, hk_multiply(x, 1.0 / hk_world_size()));
        status = hk_wait(x);
        if (!hk_ok(status))
            break;
    }
    /* One write each, so that lines stay whole. */
    char line[1024];
    const int length = snprintf(line, sizeof line, "rank %d: %s: %s\n", rank,
                                hk_code_name(hk_status_code(status)), hk_status_message(status));
    if (write(STDOUT_FILENO, line, (size_t)length) < 0)
        return 1;
    return 0;
}
