#include "engine_systems.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 60000, OUTPUT_BYTES = 16384, TEXT = 64, MAX_VARIABLES = 16 };

/* How many tasks a peer has unfinished at most (peers/peer.h): what was best for it of 64 … 4096 and no limit. */
#define WINDOW(tasks) "PEER_WINDOW=" #tasks
#define OMP_ENVIRONMENT                                                                            \
    "OMP_WAIT_POLICY=active", "OMP_PROC_BIND=close", "OMP_PLACES=cores", "OMP_DYNAMIC=false"

engine_system engine_systems[SYSTEM_COUNT] = {
    [SYSTEM_CALLER] = {.name = "in the caller",
                       .program = "peer_hocket",
                       .environment = {"HOCKET_INLINE_NS=1000000000000"},
                       .about = "Hocket; tasks that are ready run where they are issued"},
    [SYSTEM_HANDED] = {.name = "handed over",
                       .program = "peer_hocket",
                       .environment = {"HOCKET_INLINE_NS=-1"},
                       .about = "Hocket; every task goes to a worker (HOCKET_INLINE_NS=-1)"},
    [SYSTEM_CHOICE] = {.name = "engine's choice",
                       .program = "peer_hocket",
                       .about = "Hocket as it is: told how long each task takes, it decides where "
                                "it runs"},
    [SYSTEM_POOL] = {.name = "mutex pool",
                     .program = "peer_pool",
                     .needed = 2,
                     .about = "bench/mutex_pool.c: one mutex, one condition variable, the same "
                              "tracking of readers and writers"},
    [SYSTEM_STARPU] = {.name = "StarPU",
                       .program = "peer_starpu",
                       .environment = {"STARPU_SCHED=prio", "STARPU_CALIBRATE=0",
                                       "STARPU_PROFILING=0", "STARPU_SILENT=1", WINDOW(256)},
                       .needed = 3,
                       .about = "1.3, data handles; STARPU_SCHED=prio, no models, no profiling, "
                                "waits after each 256 tasks"},
    [SYSTEM_LIBGOMP] = {.name = "libgomp",
                        .program = "peer_libgomp",
                        .environment = {OMP_ENVIRONMENT, "GOMP_SPINCOUNT=infinite", WINDOW(128)},
                        .needed = 3,
                        .about = "GCC's OpenMP, task depend; threads bound to cores, active "
                                 "waiting, taskwait after each 128 tasks"},
    [SYSTEM_LIBOMP] = {.name = "libomp",
                       .program = "peer_libomp",
                       .environment = {OMP_ENVIRONMENT, "KMP_BLOCKTIME=infinite", WINDOW(128)},
                       .needed = 3,
                       .about = "LLVM's OpenMP, task depend; threads bound to cores, active "
                                "waiting, taskwait after each 128 tasks"},
    [SYSTEM_TBB] = {.name = "oneTBB",
                    .program = "peer_tbb",
                    .environment = {WINDOW(256)},
                    .about = "flow graph; it tracks nothing: the program lays the edges, and has "
                             "found them before the clock starts; a graph for each 256 tasks"},
};

static char folder[1024]; /* of the peers; "" before engine_systems_init */

int engine_systems_init(int cores[ENGINE_CORES])
{
    cpu_set_t allowed, kept;
    int count = 0;
    CPU_ZERO(&kept);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (size_t i = 0; i < CPU_SETSIZE && count < ENGINE_CORES; i++)
            if (CPU_ISSET(i, &allowed)) {
                CPU_SET(i, &kept);
                cores[count++] = (int)i;
            }
    if (count)
        sched_setaffinity(0, sizeof kept, &kept);
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - TEXT);
    folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(folder, '/');
    strcpy(slash ? slash : folder, "/peers/");
    for (int i = 0; i < SYSTEM_COUNT; i++) {
        char program[sizeof folder + TEXT];
        snprintf(program, sizeof program, "%s%s", folder, engine_systems[i].program);
        engine_systems[i].is_missing = access(program, X_OK) != 0;
    }
    return count;
}

bool engine_systems_are_broken(void)
{
    for (int i = 0; i < SYSTEM_COUNT; i++)
        if (engine_systems[i].is_broken)
            return true;
    return false;
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads all that there is until its end; false: it took too long, or was too much. */
static bool read_all(int file, char *text, size_t bytes)
{
    const int64_t end = clock_ms() + TIMEOUT_MS;
    size_t used = 0;
    for (;;) {
        int64_t left = end - clock_ms();
        struct pollfd poller = {.fd = file, .events = POLLIN};
        int ready = poll(&poller, 1, left > 0 ? (int)left : 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || used + 1 >= bytes)
            return false;
        ssize_t got = read(file, text + used, bytes - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            text[used] = 0;
            return got == 0;
        }
        used += (size_t)got;
    }
}

/* Starts the system's program with its own settings and none of the user's; false: stderr says why not. */
static bool start(const engine_system *self, char **arguments, pid_t *child, int *output)
{
    static const char *const kept[] = {"PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR"};
    char *environment[MAX_VARIABLES], copies[4][2048];
    int count = 0, pipes[2];
    for (int i = 0; i < 4; i++) {
        const char *value = getenv(kept[i]);
        if (!value)
            continue;
        snprintf(copies[i], sizeof copies[i], "%s=%s", kept[i], value);
        environment[count++] = copies[i];
    }
    for (int i = 0; i < ENGINE_MAX_SETTINGS && self->environment[i]; i++)
        environment[count++] = (char *)(uintptr_t)self->environment[i];
    environment[count] = NULL;
    if (pipe2(pipes, O_CLOEXEC)) {
        fprintf(stderr, "bench_engine: no pipe: %s\n", strerror(errno));
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    int error = posix_spawn(child, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    *output = pipes[0];
    if (error) {
        fprintf(stderr, "bench_engine: %s cannot be started: %s\n", arguments[0], strerror(error));
        close(pipes[0]);
    }
    return !error;
}

/* One line for each point: the number, then perhaps "in_caller" and another. */
static bool parse(const char *text, int count, engine_sample *samples)
{
    for (int i = 0; i < count; i++) {
        char *end;
        engine_sample sample = {strtod(text, &end), -1};
        if (end == text || !(sample.ns > 0))
            return false;
        if (!strncmp(end, " in_caller ", 11))
            sample.in_caller = strtod(end + 11, &end);
        if (*end != '\n')
            return false;
        text = end + 1;
        samples[i] = sample;
    }
    return true;
}

bool engine_system_run(int system, const char *pattern, int workers, const engine_point *points,
                       int count, engine_sample *samples)
{
    engine_system *self = &engine_systems[system];
    char program[sizeof folder + TEXT], workers_text[TEXT], point_texts[ENGINE_MAX_POINTS][TEXT];
    char *arguments[ENGINE_MAX_POINTS + 5] = {program, (char *)(uintptr_t)pattern, workers_text,
                                              "1"};
    char output[OUTPUT_BYTES];
    pid_t child;
    int file, status = 0;
    for (int i = 0; i < count; i++)
        samples[i] = (engine_sample){-1, -1};
    if (self->is_missing || self->is_broken)
        return false;
    snprintf(program, sizeof program, "%s%s", folder, self->program);
    snprintf(workers_text, sizeof workers_text, "%d", workers);
    for (int i = 0; i < count; i++) {
        snprintf(point_texts[i], TEXT, "%ld:%lld:%lld", points[i].tasks,
                 (long long)points[i].iterations, (long long)points[i].ns);
        arguments[4 + i] = point_texts[i];
    }
    if (!start(self, arguments, &child, &file)) {
        self->is_broken = true;
        return false;
    }
    bool complete = read_all(file, output, sizeof output);
    close(file);
    if (!complete)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (complete && status == 0 && parse(output, count, samples))
        return true;
    fprintf(stderr, "bench_engine: %s, \"%s\", %d workers: %s (status %d)\n", self->program,
            pattern, workers,
            !complete     ? "it took more than a minute"
            : status == 0 ? "what it printed cannot be read"
                          : "it failed",
            status);
    for (int i = 0; i < count; i++)
        samples[i] = (engine_sample){-1, -1};
    self->is_broken = true;
    return false;
}
