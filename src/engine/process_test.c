/* A process around the engine: fork amid work, exit with work queued, ending a runtime, waiting in a task,
 * the run-ahead window. */
#include "base/sanitizer.h"
#include "base/sync.h"
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <dlfcn.h>
#include <hocket/runtime.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static hki_var var;
static _Atomic(long) runs;

static void sleep_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    usleep(1000);
    atomic_fetch_add(&runs, 1);
}

static void count_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    atomic_fetch_add(&runs, 1);
}

static hk_code code_in_task, code_of_all_in_task;

static void wait_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    const hk_status *status = wait_range(&var, 0, 1, NULL, NULL);
    code_in_task = hk_status_code(status);
    hk_status_release(status);
    code_of_all_in_task = hk_status_code(hk_wait_all());
}

static const hki_task_class sleep_class = {.run = sleep_run}, count_class = {.run = count_run},
                            wait_class = {.run = wait_run};

static void issue(const hki_task_class *class, int64_t pieces)
{
    hki_task *task = hki_task_begin(hki_runtime_default(), 0, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = class;
    spec->device = hk_device_default().handle;
    spec->operation = "test";
    spec->piece_count = pieces;
    spec->accesses[0] = (hki_access){&var, 0, 1, HKI_READ | HKI_WRITE, 0};
    hki_task_submit(task);
}

static hk_code wait_code(void)
{
    const hk_status *status = wait_range(&var, 0, 1, NULL, NULL);
    hk_code code = hk_status_code(status);
    hk_status_release(status);
    return code;
}

/* The exit status of a child that runs the function; -1 when it did not end by itself within 20 s. */
static int in_child(void (*function)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        function();
        exit(check_result());
    }
    for (int i = 0; i < 2000; i++) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        usleep(10000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

static void child_of_busy_parent(void)
{
    CHECK(wait_code() == HK_FORKED); /* the old handle */
    CHECK(hk_ok(hk_wait_all()));     /* a new runtime */
    hki_var_init(&var, hki_runtime_default());
    atomic_store(&runs, 0);
    issue(&count_class, 5);
    CHECK(wait_code() == HK_OK);
    CHECK(atomic_load(&runs) == 5);
}

static void test_fork_amid_work(void)
{
    hki_var_init(&var, hki_runtime_default());
    for (int i = 0; i < 100; i++)
        issue(&sleep_class, 3);
    /* Amid work, not amid the start of threads, where the address sanitizer has locks of its own that a child is left with. */
    while (atomic_load(&runs) < 10)
        usleep(1000);
    for (int i = 0; i < 5; i++)
        CHECK(in_child(child_of_busy_parent) == 0);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(atomic_load(&runs) == 300);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void exit_with_work_queued(void)
{
    hki_var_init(&var, hki_runtime_default());
    for (int i = 0; i < 3000; i++) /* 9 s of work */
        issue(&sleep_class, 3);
}

static void test_exit_with_work_queued(void)
{
    int64_t start = hki_clock_ns();
    CHECK(in_child(exit_with_work_queued) == 0);
    CHECK(hki_clock_ns() - start < 4000000000);
}

static void test_deinit_cancels(void)
{
    hki_var_init(&var, hki_runtime_default());
    atomic_store(&runs, 0);
    for (int i = 0; i < 2000; i++)
        issue(&sleep_class, 1);
    hki_runtime *runtime = hki_runtime_default();
    hki_runtime_retain(runtime);
    hk_runtime_deinit();
    CHECK(atomic_load(&runs) < 2000);
    CHECK(!hki_runtime_alive(runtime));
    CHECK(wait_code() == HK_CANCELLED);
    hki_var_deinit(&var);
    hki_runtime_release(runtime);
    CHECK(hk_ok(hk_wait_all())); /* a new one */
    hk_runtime_deinit();
}

static void test_wait_in_task(void)
{
    hki_var_init(&var, hki_runtime_default());
    issue(&wait_class, 1);
    CHECK(wait_code() == HK_OK);
    CHECK(code_in_task == HK_WOULD_DEADLOCK);
    CHECK(code_of_all_in_task == HK_WOULD_DEADLOCK);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static void test_window(void)
{
    hk_runtime_init(&(hk_runtime_options){.run_ahead_calls = 50, .inline_ns = -1});
    hki_var_init(&var, hki_runtime_default());
    atomic_store(&runs, 0);
    for (int i = 0; i < 200; i++) {
        issue(&sleep_class, 1);
        CHECK(i + 1 - atomic_load(&runs) <= 50 + 1); /* one may run while it is not counted yet */
    }
    CHECK(hk_runtime_get_stats().window_waits > 0);
    CHECK(hk_ok(hk_wait_all()));
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

static hki_runtime *ending;
static int *loaded_outcome;

static void loaded_ends(void)
{
    *loaded_outcome = hki_runtime_alive(ending) ? 1 : 2;
}

/* What is loaded while the runtime runs ends behind it at exit, when that has been told so. */
static void test_ends_first(void)
{
    loaded_outcome = mmap(NULL, sizeof *loaded_outcome, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        ending = hki_runtime_default_retained();
        hki_runtime_end_first(); /* nothing new since then: */
        void *library = dlopen("libBrokenLocale.so.1", RTLD_NOW);
        *loaded_outcome = 2;
        if (library)             /* else this system has none */
            atexit(loaded_ends); /* as what is loaded does */
        hki_runtime_end_first();
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
    CHECK_EQ_I64(*loaded_outcome, 2);
    munmap(loaded_outcome, sizeof *loaded_outcome);
}

static void test_options(void)
{
    CHECK(hk_status_code(hk_runtime_init(&(hk_runtime_options){.cpu_devices = -1})) ==
          HK_INVALID_ARGUMENT);
    setenv("HOCKET_CPUS", "lots", 1);
    const hk_status *status = hk_runtime_init(NULL);
    CHECK_STR(hk_status_message(status),
              "environment variable HOCKET_CPUS is \"lots\"; expected a whole number from 1 to 64");
    CHECK(!hk_ok(hk_device_status(hk_device_default()))); /* started by first use: says so too */
    CHECK(!hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    setenv("HOCKET_CPUS", "3", 1);
    CHECK_EQ_I64(hk_device_count(), 3);
    CHECK(hk_ok(hk_device_status(hk_device_named("cpu:2"))));
    CHECK_STR(hk_status_message(hk_device_status(hk_device_named("cpu:3"))),
              "there is no device \"cpu:3\"; there are cpu:0 to cpu:2");
    unsetenv("HOCKET_CPUS");
    hk_runtime_deinit();
}

/* A program that knows less of a struct than the library, or more, gets what both know. */
static void test_growing_struct(void)
{
    struct {
        hk_runtime_stats known;
        uint64_t new_field;
    } larger = {.known.struct_bytes = sizeof larger, .new_field = 7};
    hk_runtime_stats smaller = {.struct_bytes = offsetof(hk_runtime_stats, window_waits),
                                .window_waits = 7};
    hki_var_init(&var, hki_runtime_default());
    issue(&count_class, 1);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_read_stats(&larger.known);
    hk_runtime_read_stats(&smaller);
    CHECK(larger.known.issued_calls > 0 && larger.known.struct_bytes == sizeof larger);
    CHECK_EQ_I64(larger.new_field, 0);
    CHECK(smaller.issued_calls > 0);
    CHECK_EQ_I64(smaller.window_waits, 7);
    hki_var_deinit(&var);
    hk_runtime_deinit();
}

int main(void)
{
    /* ThreadSanitizer cannot follow a child that starts threads after a fork of a process with threads. */
    if (!HKI_THREAD_SANITIZER) {
        test_fork_amid_work();
        test_exit_with_work_queued();
        test_ends_first();
    }
    test_deinit_cancels();
    test_wait_in_task();
    test_window();
    test_options();
    test_growing_struct();
    return check_result();
}
