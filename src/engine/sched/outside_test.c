/* Tasks that somebody outside the engine ends: in any order, in any thread, failed or not; such as take part although an input
 * has failed; and runtimes that end meanwhile. */
#include "base/hooks.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include "engine/core/runtime.h"

#include <hocket/runtime.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { VARS = 8, TASKS = 400, MOST = TASKS, MODULUS = 1000003 };

static hki_runtime *runtime;
static hki_device *device;
static hki_var vars[VARS];
static int64_t values[VARS];

/* ---- the outside --------------------------------------------------------------------------------------------------- */

typedef struct work {
    int from, to;
    int64_t add;
    bool fails, is_root, has_begun;
    const hk_status **seen; /* NULL, or where the failure that it takes part with goes */
} work;

typedef struct handed {
    hki_task *task;
    work todo;
} handed;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    handed tasks[MOST];
    int count;
    bool is_over, is_held; /* held: nothing is ended */
    pthread_t thread;
} outside = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void end(const handed *its)
{
    hki_outside_end how = {.has_begun = its->todo.has_begun, .is_root = its->todo.is_root};
    const hk_status *failure = hki_task_failure(its->task);
    if (its->todo.seen)
        *its->todo.seen = hk_status_retain(failure);
    if (its->todo.fails)
        how.failure = hki_status_create(
            HK_INJECTED, &(hki_status_facts){.sequence = hki_task_sequence(its->task)}, "outside");
    else if (!failure)
        values[its->todo.to] = (values[its->todo.from] * 3 + its->todo.add) % MODULUS;
    hk_status_release(failure);
    hki_task_end(its->task, &how);
}

/* Takes the newest first: order is the engine's matter. */
static void *outside_main(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&outside.lock);
    for (;;) {
        while ((!outside.count || outside.is_held) && !outside.is_over)
            pthread_cond_wait(&outside.more, &outside.lock);
        if (!outside.count && outside.is_over)
            break;
        const handed its = outside.tasks[--outside.count];
        pthread_mutex_unlock(&outside.lock);
        end(&its);
        pthread_mutex_lock(&outside.lock);
    }
    pthread_mutex_unlock(&outside.lock);
    return NULL;
}

static void hold(bool is_held)
{
    pthread_mutex_lock(&outside.lock);
    outside.is_held = is_held;
    pthread_cond_signal(&outside.more);
    pthread_mutex_unlock(&outside.lock);
}

static void hand_over(hki_task *task, void *payload, int64_t piece)
{
    (void)piece;
    pthread_mutex_lock(&outside.lock);
    outside.tasks[outside.count++] = (handed){task, *(work *)payload};
    pthread_cond_signal(&outside.more);
    pthread_mutex_unlock(&outside.lock);
}

static void end_here(hki_task *task, void *payload, int64_t piece)
{
    (void)piece;
    end(&(handed){task, *(work *)payload});
}

/* ---- tasks --------------------------------------------------------------------------------------------------------- */

static void run_inside(hki_task *task, void *payload, int64_t piece)
{
    (void)piece;
    const work *self = payload;
    if (self->fails)
        hki_task_fail(task, 0, HK_INJECTED, "inside");
    else
        values[self->to] = (values[self->from] * 3 + self->add) % MODULUS;
}

static const hki_task_class inside_class = {.run = run_inside},
                            outside_class = {.is_outside = true,
                                             .takes_failed = true,
                                             .run = hand_over},
                            at_once_class = {.is_outside = true, .run = end_here};

static void submit(const hki_task_class *class, work todo)
{
    hki_task *task = hki_task_begin(runtime, sizeof todo, 2, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    *(work *)hki_task_payload(task) = todo;
    spec->class = class;
    spec->device = device;
    spec->operation = "work";
    spec->collective = class != &inside_class;
    spec->access_count = 0;
    if (todo.from != todo.to)
        spec->accesses[spec->access_count++] = (hki_access){&vars[todo.from], 0, 8, HKI_READ, 0};
    spec->accesses[spec->access_count++] = (hki_access){
        &vars[todo.to], 0, 8, HKI_WRITE | (todo.from == todo.to ? HKI_READ : HKI_HEAL), 0};
    hki_task_submit(task);
}

static void join_outside(void)
{
    pthread_mutex_lock(&outside.lock);
    outside.is_over = true;
    pthread_cond_signal(&outside.more);
    pthread_mutex_unlock(&outside.lock);
    pthread_join(outside.thread, NULL);
}

/* Who ends tasks is gone when the runtime is. */
static void join_ending(hki_runtime *ending)
{
    CHECK(ending == runtime);
    join_outside();
}

static void start(hk_engine engine)
{
    hki_hooks.runtime_stopped = join_ending;
    hk_runtime_init(&(hk_runtime_options){.engine = engine});
    runtime = hki_runtime_default();
    device = hk_device_at(0).handle;
    for (int i = 0; i < VARS; i++) {
        hki_var_init(&vars[i], runtime);
        values[i] = i;
    }
    outside.is_over = false;
    pthread_create(&outside.thread, NULL, outside_main, NULL);
}

static void stop(void)
{
    hk_wait_all();
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hk_runtime_deinit();
}

static const hk_status *record_of(int var)
{
    return wait_range(&vars[var], 0, 8, NULL, NULL);
}

/* ---- tests --------------------------------------------------------------------------------------------------------- */

/* Tasks of all kinds, at random: the values are those of one after the other. */
static void test_order(hk_engine engine)
{
    static const hki_task_class *const classes[] = {&inside_class, &outside_class, &at_once_class};
    int64_t expected[VARS];
    start(engine);
    for (int i = 0; i < VARS; i++)
        expected[i] = i;
    uint32_t random = 7;
    for (int i = 0; i < TASKS; i++) {
        random = random * 1664525u + 1013904223u;
        const work todo = {.from = (int)(random >> 8) % VARS,
                           .to = (int)(random >> 16) % VARS,
                           .add = i,
                           .has_begun = true};
        expected[todo.to] = (expected[todo.from] * 3 + i) % MODULUS;
        submit(classes[(random >> 24) % 3], todo);
    }
    CHECK(hk_ok(hk_wait_all()));
    CHECK(memcmp(values, expected, sizeof values) == 0);
    stop();
}

/* What waits for one starts when it has been ended, not before. */
static void test_held(void)
{
    start(HK_ENGINE_ASYNC);
    hold(true);
    submit(&outside_class, (work){.from = 1, .to = 2, .add = 5});
    submit(&inside_class, (work){.from = 2, .to = 3});
    submit(&inside_class, (work){.from = 4, .to = 5, .add = 1});
    const hk_status *status = record_of(5);
    CHECK(hk_ok(status) && values[5] == 13);
    hk_status_release(status);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    CHECK_EQ_I64(values[3], 3);
    hold(false);
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(values[3], (1 * 3 + 5) * 3);
    stop();
}

static void test_failures(hk_engine engine)
{
    const hk_status *seen = NULL;
    start(engine);
    submit(&inside_class, (work){.to = 1, .fails = true});
    submit(&outside_class, (work){.from = 1, .to = 2, .seen = &seen});
    const hk_status *status = record_of(2);
    CHECK_EQ_I64(hk_status_code(status), HK_INJECTED);
    CHECK_STR(hk_status_message(status), "inside");
    CHECK(seen && hk_status_code(seen) == HK_INJECTED);
    hk_status_release(seen);
    hk_status_release(status);

    /* Of its own; a known one is no root failure. */
    submit(&outside_class, (work){.from = 4, .to = 4, .fails = true, .is_root = true});
    submit(&outside_class, (work){.from = 5, .to = 5, .fails = true});
    submit(&outside_class, (work){.from = 6, .to = 6, .fails = true, .has_begun = true});
    for (int i = 4; i <= 6; i++) {
        status = record_of(i);
        CHECK_STR(hk_status_message(status), "outside");
        hk_status_release(status);
    }
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 2);

    /* Old bytes stand where nothing had begun. */
    for (int i = 5; i <= 6; i++) {
        hki_var_end_failures(&vars[i], (hki_range){0, 8, 0}, true);
        status = record_of(i);
        CHECK(hk_ok(status) == (i == 5));
        hk_status_release(status);
    }
    hk_failures_clear();
    stop();
}

/* ---- the runtime ends ------------------------------------------------------------------------------------------------ */

static atomic_int stopping_count, stopped_count;
static bool is_needed; /* what has been issued */

static bool let_go(hki_runtime *ending)
{
    CHECK(ending == runtime && !hki_is_stopping(ending));
    atomic_fetch_add(&stopping_count, 1);
    hold(false);
    return is_needed;
}

static void note_stopped(hki_runtime *ending)
{
    CHECK(ending == runtime);
    CHECK_EQ_I64(values[2], 8); /* what had been handed over has ended */
    join_outside();
    atomic_fetch_add(&stopped_count, 1);
}

/* What has been issued and has not begun is cancelled, unless it is needed. */
static void test_end(bool needed)
{
    start(HK_ENGINE_ASYNC);
    is_needed = needed;
    atomic_store(&stopping_count, 0);
    atomic_store(&stopped_count, 0);
    hki_hooks.runtime_stopping = let_go;
    hki_hooks.runtime_stopped = note_stopped;
    hold(true);
    submit(&outside_class, (work){.from = 1, .to = 2, .add = 5});
    submit(&outside_class, (work){.from = 2, .to = 3});
    while (true) {
        pthread_mutex_lock(&outside.lock);
        const bool is_there = outside.count > 0;
        pthread_mutex_unlock(&outside.lock);
        if (is_there)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    hki_runtime_retain(runtime); /* for variables that have failed */
    hk_runtime_deinit();
    CHECK(atomic_load(&stopping_count) == 1 && atomic_load(&stopped_count) == 1);
    hki_hooks.runtime_stopping = NULL;
    hki_hooks.runtime_stopped = NULL;
    CHECK(!needed || values[3] == 24);
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&vars[i]);
    hki_runtime_release(runtime);
}

int main(void)
{
    test_order(HK_ENGINE_ASYNC);
    test_order(HK_ENGINE_SERIAL);
    test_held();
    test_failures(HK_ENGINE_ASYNC);
    test_failures(HK_ENGINE_SERIAL);
    test_end(false);
    test_end(true);
    return check_result();
}
