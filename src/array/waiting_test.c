/* Waits with a time limit, waits that look only, and the hooks around waits that block. */
#include "base/sync.h"
#include "tests/check.h"

#include "array/test_tasks.h"

#include <pthread.h>
#include <unistd.h>

enum { MS = 1000000 };
static const int64_t second_ns = 1000000000;

static atomic_bool gate, other_gate;

/* A gated array that becomes `value`: in the serial engine at once. */
static hk_array *slow_array(bool serial, float value)
{
    hk_array *x = test_empty(hk_shape(4));
    atomic_store(&gate, serial);
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = value, .gate = &gate});
    return x;
}

static bool holds(hk_array *x, float value)
{
    return test_holds(x, (const float[]){value, value, value, value}, 4);
}

static void *open_soon(void *argument)
{
    usleep(100000);
    atomic_store((atomic_bool *)argument, true);
    return NULL;
}

/* ---- limits -------------------------------------------------------------------------------------------- */

static void test_timed(bool serial)
{
    HK_SCOPE;
    hk_array *x = slow_array(serial, 7);
    if (!serial) {
        CHECK(!hk_is_ready(x));
        CHECK(hk_ok(hk_error_now(x)));
        CHECK_EQ_I64(hk_status_code(hk_wait_for(x, 0)), HK_TIMEOUT);
        const int64_t begin = hki_clock_ns();
        CHECK_EQ_I64(hk_status_code(hk_wait_for(x, 30 * MS)), HK_TIMEOUT);
        CHECK(hki_clock_ns() - begin >= 30 * MS);
        CHECK(!hk_is_ready(x));
        atomic_store(&gate, true);
    }
    CHECK(hk_ok(hk_wait_for(x, 10 * second_ns)));
    CHECK(hk_is_ready(x));
    CHECK(holds(x, 7));
    CHECK(hk_ok(hk_wait_for(x, -1)));
}

static void test_of_failures(bool serial)
{
    HK_SCOPE;
    hk_array *x = slow_array(serial, 1), *none = hk_slice(x, 0, 9, 10);
    hk_array *y = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = y, .value = 3, .in = x});
    if (!serial)
        CHECK(hk_ok(hk_error_now(y)));
    atomic_store(&gate, true);
    CHECK_EQ_I64(hk_status_code(hk_wait_for(y, 10 * second_ns)), HK_INJECTED);
    CHECK_EQ_I64(hk_status_code(hk_error_now(y)), HK_INJECTED);
    CHECK(hk_is_ready(y));
    CHECK_EQ_I64(hk_status_code(hk_wait_for(none, 10 * second_ns)), HK_OUT_OF_RANGE);
    CHECK_EQ_I64(hk_status_code(hk_error_now(none)), HK_OUT_OF_RANGE);
    CHECK_EQ_I64(hk_status_code(hk_wait_for(NULL, 0)), HK_INVALID_ARGUMENT);
    CHECK_EQ_I64(hk_status_code(hk_error_now(NULL)), HK_INVALID_ARGUMENT);
    CHECK(hk_is_ready(NULL));
    hk_failures_clear();
}

/* Only what had been issued before is waited for, also where a later write supersedes it. */
static void *wait_a_while(void *x)
{
    return (void *)(intptr_t)hk_status_code(hk_wait_for(x, 10 * second_ns));
}

static void test_later_writes(bool serial)
{
    HK_SCOPE;
    pthread_t waiter;
    void *code = NULL;
    hk_array *x = slow_array(serial, 1);
    pthread_create(&waiter, NULL, wait_a_while, x);
    usleep(20000);
    atomic_store(&other_gate, serial);
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = 2, .gate = &other_gate});
    usleep(20000);
    atomic_store(&gate, true);
    pthread_join(waiter, &code);
    CHECK_EQ_I64((intptr_t)code, HK_OK);
    if (!serial)
        CHECK(!hk_is_ready(x));
    atomic_store(&other_gate, true);
    CHECK(holds(x, 2));
}

static void test_of_superseded_writes(bool serial)
{
    HK_SCOPE;
    hk_array *x = slow_array(serial, 1);
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = 2, .gate = &gate});
    if (!serial)
        CHECK_EQ_I64(hk_status_code(hk_wait_for(x, 5 * MS)), HK_TIMEOUT);
    atomic_store(&gate, true);
    CHECK(hk_ok(hk_wait_for(x, 10 * second_ns)));
    CHECK(holds(x, 2));
}

/* ---- hooks --------------------------------------------------------------------------------------------- */

static atomic_int begun, ended, looks;
static atomic_bool interrupts;

static void note_begin(void *context)
{
    CHECK(context == &begun);
    atomic_fetch_add(&begun, 1);
}

static void note_end(void *context)
{
    (void)context;
    atomic_fetch_add(&ended, 1);
}

static bool look(void *context)
{
    (void)context;
    CHECK(atomic_load(&begun) > atomic_load(&ended));
    atomic_fetch_add(&looks, 1);
    return atomic_load(&interrupts);
}

static void set_hooks(bool interrupting)
{
    atomic_store(&begun, 0);
    atomic_store(&ended, 0);
    atomic_store(&looks, 0);
    atomic_store(&interrupts, interrupting);
    CHECK(hk_ok(hk_wait_hooks_set(&(hk_wait_hooks){.struct_bytes = sizeof(hk_wait_hooks),
                                                   .begin = note_begin,
                                                   .end = note_end,
                                                   .interrupted = look,
                                                   .context = &begun})));
}

static void check_hooks(int blocked)
{
    CHECK_EQ_I64(atomic_load(&begun), blocked);
    CHECK_EQ_I64(atomic_load(&ended), blocked);
}

static void test_hooks_are_told(bool serial)
{
    HK_SCOPE;
    pthread_t opener;
    hk_array *ready = test_range(hk_shape(3));
    set_hooks(false);
    CHECK(hk_ok(hk_wait(ready)));
    CHECK(test_holds(ready, (const float[]){0, 1, 2}, 3));
    CHECK(hk_ok(hk_wait_all()));
    CHECK(hk_ok(hk_wait_for(ready, second_ns)));
    check_hooks(0);
    if (!serial) {
        hk_array *x = slow_array(false, 5);
        CHECK_EQ_I64(hk_status_code(hk_wait_for(x, 0)), HK_TIMEOUT);
        check_hooks(0);
        pthread_create(&opener, NULL, open_soon, &gate);
        CHECK(hk_ok(hk_wait(x)));
        pthread_join(opener, NULL);
        check_hooks(1);
        CHECK(atomic_load(&looks) >= 2);
        x = slow_array(false, 6);
        pthread_create(&opener, NULL, open_soon, &gate);
        CHECK(hk_ok(hk_wait_all()));
        pthread_join(opener, NULL);
        check_hooks(2);
        CHECK(holds(x, 6));
    }
    CHECK(hk_ok(hk_wait_hooks_set(NULL)));
}

static void test_interrupts(bool serial)
{
    HK_SCOPE;
    float out[4] = {0};
    if (serial)
        return;
    hk_array *x = slow_array(false, 5);
    set_hooks(true);
    int64_t begin = hki_clock_ns();
    CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_INTERRUPTED);
    CHECK_EQ_I64(hk_status_code((hk_to_host)(x, out, sizeof out)), HK_INTERRUPTED);
    CHECK_EQ_I64(hk_status_code(hk_wait_for(x, 10 * second_ns)), HK_INTERRUPTED);
    CHECK_EQ_I64(hk_status_code(hk_wait_all()), HK_INTERRUPTED);
    CHECK_EQ_I64(hk_status_code(hk_wait_all()), HK_INTERRUPTED);
    CHECK_EQ_I64(hk_status_code(hk_wait_device(hk_device_at(1))), HK_INTERRUPTED);
    CHECK(hki_clock_ns() - begin < second_ns);
    check_hooks(6);
    CHECK(out[0] == 0);
    /* What was issued before an interrupted wait is waited for by the next. */
    pthread_t opener;
    atomic_store(&interrupts, false);
    pthread_create(&opener, NULL, open_soon, &gate);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(atomic_load(&gate) && hk_is_ready(x));
    pthread_join(opener, NULL);
    CHECK(holds(x, 5));
    CHECK(hk_ok(hk_wait_hooks_set(NULL)));
}

/* A wait that was interrupted holds no later write back, nor the memory. */
static void test_left_waits(bool serial)
{
    if (serial)
        return;
    hk_array *x = hk_take(slow_array(false, 1));
    set_hooks(true);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_INTERRUPTED);
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = 2});
    atomic_store(&interrupts, false);
    atomic_store(&gate, true);
    CHECK(holds(x, 2));
    hk_array_release(x);
    x = hk_take(slow_array(false, 1));
    atomic_store(&interrupts, true);
    CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_INTERRUPTED);
    hk_array_release(x);
    atomic_store(&interrupts, false);
    atomic_store(&gate, true);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(hk_ok(hk_wait_hooks_set(NULL)));
    /* And ends with the runtime, in the next test. */
    x = hk_take(slow_array(false, 1));
    set_hooks(true);
    CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_INTERRUPTED);
    CHECK(hk_ok(hk_wait_hooks_set(NULL)));
    atomic_store(&gate, true);
    hk_runtime_deinit();
    CHECK(hk_status_code(hk_wait(x)) == HK_CANCELLED);
    hk_array_release(x);
}

/* A call that waits for room is issued all the same when it is interrupted. */
static void test_full_window(bool serial)
{
    enum { CALLS = 12 };
    HK_SCOPE;
    if (serial)
        return;
    hk_array *x = slow_array(false, 0);
    set_hooks(true);
    for (int i = 0; i < CALLS; i++)
        test_issue((test_work){.kind = TEST_FILL, .out = x, .value = (float)i});
    CHECK(atomic_load(&begun) > 0);
    check_hooks(atomic_load(&begun));
    atomic_store(&interrupts, false);
    atomic_store(&gate, true);
    CHECK(holds(x, CALLS - 1));
    CHECK(hk_ok(hk_wait_hooks_set(NULL)));
}

static void test_refusals(bool serial)
{
    (void)serial;
    hk_wait_hooks hooks = {.begin = note_begin, .end = note_end};
    CHECK_EQ_I64(hk_status_code(hk_wait_hooks_set(&hooks)), HK_INVALID_ARGUMENT);
    hooks.struct_bytes = sizeof hooks;
    hooks.end = NULL;
    CHECK_EQ_I64(hk_status_code(hk_wait_hooks_set(&hooks)), HK_INVALID_ARGUMENT);
}

/* ---- threads of an interpreter ------------------------------------------------------------------------- */

/* What a hook releases: held by a thread whenever it is in a call that does not block. */
static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;

static void release_interpreter(void *context)
{
    (void)context;
    pthread_mutex_unlock(&interpreter);
}

static void acquire_interpreter(void *context)
{
    (void)context;
    pthread_mutex_lock(&interpreter);
}

static bool ask_interpreter(void *context)
{
    pthread_mutex_lock(&interpreter);
    pthread_mutex_unlock(&interpreter);
    (void)context;
    return false;
}

enum { THREADS = 3, ROUNDS = 60 };
static hk_array *shared;

static void *interpret(void *argument)
{
    const int number = (int)(intptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&interpreter);
        HK_SCOPE;
        hk_array *own = test_empty(hk_shape(4));
        for (int j = 0; j < 8; j++) {
            test_issue((test_work){.kind = TEST_FILL, .out = own, .value = (float)i});
            test_issue((test_work){.kind = TEST_COPY, .out = shared, .in = own});
        }
        if (i % 4 == number)
            CHECK(hk_ok(hk_wait_all()));
        else if (i % 4 == 3)
            CHECK(hk_ok(hk_wait(shared)));
        CHECK(holds(own, (float)i));
        pthread_mutex_unlock(&interpreter);
    }
    return NULL;
}

/* No thread waits for another while that one waits for the interpreter: a time limit catches it. */
static void test_interpreter(bool serial)
{
    (void)serial;
    HK_SCOPE;
    pthread_t threads[THREADS];
    shared = test_empty(hk_shape(4));
    CHECK(hk_ok(hk_wait_hooks_set(&(hk_wait_hooks){.struct_bytes = sizeof(hk_wait_hooks),
                                                   .begin = release_interpreter,
                                                   .end = acquire_interpreter,
                                                   .interrupted = ask_interpreter})));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, interpret, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(hk_ok(hk_wait_hooks_set(NULL)));
}

int main(void)
{
    hk_runtime_options options = {.cpu_devices = 2, .cpu_cores = 2, .inline_ns = -1};
    test_engines(test_timed, options);
    test_engines(test_of_failures, options);
    test_engines(test_later_writes, options);
    test_engines(test_of_superseded_writes, options);
    test_engines(test_hooks_are_told, options);
    test_engines(test_interrupts, options);
    test_engines(test_left_waits, options);
    test_engines(test_refusals, options);
    options.run_ahead_calls = 4;
    test_engines(test_full_window, options);
    test_engines(test_interpreter, options);
    options.inline_ns = 0;
    test_engines(test_interpreter, options);
    options.sim = &(const hk_sim_options){.count = 1}; /* gates that open twice */
    options.sim_count = 1;
    test_engines(test_left_waits, options);
    test_engines(test_timed, options);
    test_engines(test_interrupts, options);
    return check_result();
}
