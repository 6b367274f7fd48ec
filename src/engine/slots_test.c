/* What tasks take of the host's memory: hundreds of unfinished ones, as a step of a network issues them, as much as they are long,
 * and no large page; threads that have issued some, and ended, nothing. */
#include "base/sanitizer.h"
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/resident_bytes.h"

#include <hocket/runtime.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { TASKS = 200, TASK_BYTES = 4096 /* a slot and its gates, at most */ };

static atomic_bool gate;

static void wait_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    while (!atomic_load(&gate))
        usleep(100);
}

static void issue(hki_var *var, const hki_task_class *class, int64_t expected_ns)
{
    hki_task *task = hki_task_begin(hki_runtime_default(), 0, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->accesses[0] = (hki_access){.var = var, .end = 64, .mode = HKI_WRITE};
    spec->class = class;
    spec->device = hk_device_default().handle;
    spec->operation = "test";
    spec->expected_ns = expected_ns;
    hki_task_submit(task);
}

/* So many that the lock is the thread's own for a while. */
static void *issue_shorts(void *var)
{
    static const hki_task_class class = {.leaf = true};
    for (int i = 0; i < 3000; i++)
        issue(var, &class, 0);
    return NULL;
}

static void run_threads(hki_var *var, int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, issue_shorts, var);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    if (HKI_SANITIZED) /* sanitizers have memory of their own for each page */
        return 77;
    static const hki_task_class wait_class = {.run = wait_run};
    static hki_var var;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = HK_ENGINE_ASYNC, .cpu_cores = 2})));
    hki_var_init(&var, hki_runtime_default());
    issue(&var, &wait_class, INT64_MAX);
    const int64_t before = resident_bytes();
    for (int i = 0; i < TASKS; i++)
        issue(&var, &wait_class, INT64_MAX);
    const int64_t taken = resident_bytes() - before;
    CHECK(taken > 0 && taken <= TASKS * TASK_BYTES);
    if (taken > TASKS * TASK_BYTES)
        fprintf(stderr, "%d tasks took %lld bytes\n", TASKS, (long long)taken);
    atomic_store(&gate, true);
    CHECK(hk_ok(hk_wait_all()));
    run_threads(&var, 50);
    const int64_t with_threads = resident_bytes();
    run_threads(&var, 500);
    CHECK(resident_bytes() - with_threads < 200 * 1024);
    hki_var_deinit(&var);
    hk_runtime_deinit();
    return check_result();
}
