/* A rank that does not do its part, for tests/world_ranks/ and bench/world_faults: without arguments, nothing.
 *
 *   world_faults KIND   none, stop, late, leave, die, error; early: it ends without waiting for what it has issued; owes: it ends,
 *                       and what it has issued waits for a rank that waits for it; fail: what it gives is failed; amid,
 *                       amid_dies: an emulated GPU stops, or ends, the process
 *
 * WORLD_DEVICE: where arrays are; else on the host. WORLD_STEP: when it does so, from 0 to 199. WORLD_FAULT: a file that
 * it makes just before. WORLD_PIDS: a folder for a file of each process. */
#include <hocket/hocket.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WRONG = 1, STEPS = 200 };

static void make_file(const char *path)
{
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file)
        fclose(file);
}

/* A file of its name says that the process has been. */
static void leave_pid(void)
{
    char path[512];
    const char *folder = getenv("WORLD_PIDS");
    snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", (int)getpid());
    make_file(folder ? path : NULL);
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Fails while it runs. */
static hk_array *failing(int64_t count, hk_device device)
{
    return hk_take_along_axis(hk_zeros(hk_shape(count), HK_F32, device),
                              hk_full(hk_shape(count), 1e6, HK_I64, device), 0);
}

static hk_array *receive_from(int rank)
{
    return hk_group_receive(hk_group_world(), hk_shape(1), HK_F32, (hk_device){NULL}, rank);
}

/* What the rank does instead. */
static void misbehave(const char *kind)
{
    if (!strcmp(kind, "owes"))
        receive_from(0);
    make_file(getenv("WORLD_FAULT"));
    if (!strcmp(kind, "stop"))
        raise(SIGSTOP);
    else if (!strcmp(kind, "late"))
        nanosleep(&(struct timespec){.tv_sec = 4}, NULL);
    else if (!strcmp(kind, "leave") || !strcmp(kind, "owes"))
        exit(0);
    else if (!strcmp(kind, "die"))
        raise(SIGKILL);
    else if (!strcmp(kind, "error"))
        exit(3);
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
    const char *fault = getenv("WORLD_STEP");
    const int fault_step = fault ? atoi(fault) : 5;
    const bool fails = !strcmp(arguments[1], "fail");
    double begin = 0;
    hk_array *x = hk_full(hk_shape(30000), 1, HK_F32, device);
    const hk_status *status = hk_wait(x);
    for (int step = 0; step < STEPS; step++) {
        HK_SCOPE;
        begin = milliseconds();
        if (rank == WRONG && step == fault_step)
            misbehave(arguments[1]);
        if (rank == 0 && step == fault_step && !strcmp(arguments[1], "owes")) {
            status = hk_wait(receive_from(WRONG));
            hk_group_send(hk_group_world(), hk_ones(hk_shape(1), HK_F32, device), WRONG);
            break;
        }
        if (rank == WRONG && step == fault_step && fails)
            hk_assign(x, failing(30000, device));
        hk_group_all_reduce(hk_group_world(), &x, 1, 1, 0);
        hk_assign(x, hk_multiply(x, 1.0 / hk_world_size()));
        if (rank == WRONG && !strcmp(arguments[1], "early"))
            continue;
        status = hk_wait(x);
        if (!hk_ok(status))
            break;
    }
    /* One write each, so that lines stay whole. */
    char took[32] = "", line[1024];
    if (fails)
        snprintf(took, sizeof took, " (%.1f ms)", milliseconds() - begin);
    const int length =
        snprintf(line, sizeof line, "rank %d: %s: %.800s%s\n", rank,
                 hk_code_name(hk_status_code(status)), hk_status_message(status), took);
    if (write(STDOUT_FILENO, line, (size_t)length) < 0)
        return 1;
    return 0;
}
