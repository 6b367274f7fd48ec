/* Calls of a few elements run without a task exactly where that cannot be told but by the clock: whatever they read is
 * settled, nothing has failed, and the kernel cannot fail. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <hocket/hocket.h>
#include <pthread.h>

enum { ROUNDS = 300, READERS = 20 };

static uint64_t direct_calls(void)
{
    return hk_runtime_get_internals().direct_calls;
}

static void start(int cpu_devices, int64_t inline_ns)
{
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = cpu_devices, .inline_ns = inline_ns})));
}

/* One more call, one more sequence number, no task; its value, and those that follow from it. */
static void test_small(void)
{
    start(1, 0);
    HK_SCOPE;
    hk_array *x = test_range(hk_shape(2, 3)), *column = test_range(hk_shape(2, 1));
    uint64_t direct = direct_calls(), issued = hk_runtime_get_stats().issued_calls;
    hk_array *y = hk_add(x, column);
    uint64_t sequence = hki_last_sequence();
    hk_array *z = hk_multiply(y, 2);
    CHECK_EQ_I64(hki_last_sequence(), sequence + 1);
    CHECK_EQ_I64(direct_calls() - direct, 2);
    CHECK_EQ_I64(hk_runtime_get_stats().issued_calls - issued, 2);
    CHECK(test_holds(z, (const float[]){0, 2, 4, 8, 10, 12}, 6));
    direct = direct_calls();
    hk_add(test_range(hk_shape(65)), test_range(hk_shape(65))); /* too many elements */
    CHECK_EQ_I64(direct_calls(), direct);
    hk_runtime_deinit();
}

/* A division by an integer 0 needs a record, which needs a task. */
static void test_fallible(void)
{
    start(1, 0);
    HK_SCOPE;
    hk_array *one = hk_scalar(1, HK_I32, hk_device_default());
    hk_array *zero = hk_scalar(0, HK_I32, hk_device_default());
    uint64_t direct = direct_calls();
    CHECK(test_failed(hk_divide(one, zero), HK_OUT_OF_RANGE, "division by zero"));
    CHECK_EQ_I64(direct_calls(), direct);
    CHECK_EQ_I64((int64_t)hk_item(hk_add(one, one), NULL),
                 2); /* nothing more, as something has failed */
    CHECK_EQ_I64(direct_calls(), direct);
    hk_runtime_deinit();
}

/* Behind an unfinished writer the call waits its turn; of a reader it need not know. */
static void test_writer(void)
{
    start(2, 0);
    HK_SCOPE;
    atomic_bool gate = false;
    hk_array *x = test_range(hk_shape(3)), *other = test_range(hk_shape(3));
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = 7, .gate = &gate});
    uint64_t direct = direct_calls();
    hk_array *y = hk_add(x, 1);
    CHECK_EQ_I64(direct_calls(), direct);
    hk_add(other, 1);
    CHECK_EQ_I64(direct_calls(), direct + 1);
    atomic_store(&gate, true);
    CHECK(test_holds(y, (const float[]){8, 8, 8}, 3));
    hk_wait_all();

    atomic_store(&gate, false);
    test_issue((test_work){.kind = TEST_COPY, .out = other, .in = x, .gate = &gate});
    direct = direct_calls();
    y = hk_add(x, 2); /* x is being read */
    CHECK_EQ_I64(direct_calls(), direct + 1);
    CHECK(hk_ok(hk_wait(x))); /* and nobody writes to it */
    atomic_store(&gate, true);
    CHECK(test_holds(y, (const float[]){9, 9, 9}, 3));
    hk_runtime_deinit();
}

/* Calls behind a writer that fails are failed, at whatever moment they come. */
static void test_failing_writer(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        start(2, 0);
        HK_SCOPE;
        atomic_bool gate = false;
        hk_array *x = test_range(hk_shape(3)), *y[READERS];
        test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = x, .gate = &gate});
        atomic_store(&gate, true);
        for (int i = 0; i < READERS; i++)
            y[i] = hk_add(x, 1);
        for (int i = 0; i < READERS; i++)
            CHECK(hk_status_code(hk_wait(y[i])) == HK_INJECTED);
        hk_runtime_deinit();
    }
}

/* Arrays made from nothing, and what they are read for. */
static void test_constants(void)
{
    start(1, 0);
    HK_SCOPE;
    hk_device device = hk_device_default();
    uint64_t direct = direct_calls();
    hk_array *zeros = hk_zeros(hk_shape(4, 16), HK_F32, device);
    hk_array *halves = hk_full(hk_shape(2), 0.5, HK_F64, device);
    hk_array *yes = hk_ones(hk_shape(), HK_BOOL, device);
    CHECK_EQ_I64(direct_calls() - direct, 3);
    CHECK(test_holds(zeros, (const float[64]){0}, 64));
    CHECK(hk_item(hk_index(halves, 0, 1), NULL) == 0.5 && hk_item(yes, NULL) == 1);
    hk_zeros(hk_shape(5, 13), HK_F32, device); /* too many elements */
    CHECK_EQ_I64(direct_calls() - direct, 3);
    hk_runtime_deinit();
}

/* Of one shape and contiguous, or of one element, in rows; all others in general. */
static void test_shapes(void)
{
    start(1, 0);
    HK_SCOPE;
    hk_array *x = test_range(hk_shape(2, 3)), *row = test_range(hk_shape(1, 3));
    hk_array *column = test_range(hk_shape(2, 1)), *two = test_range(hk_shape(1, 1, 1));
    hk_array *turned = hk_transpose(test_range(hk_shape(3, 2)));
    hk_array *part = hk_slice(test_range(hk_shape(2, 5)), 1, 1, 4);
    uint64_t direct = direct_calls();
    CHECK(test_holds(hk_add(x, x), (const float[]){0, 2, 4, 6, 8, 10}, 6));
    CHECK(test_holds(hk_add(row, column), (const float[]){0, 1, 2, 1, 2, 3}, 6));
    CHECK(test_holds(hk_add(x, turned), (const float[]){0, 3, 6, 4, 7, 10}, 6));
    CHECK(test_holds(hk_add(part, x), (const float[]){1, 3, 5, 9, 11, 13}, 6));
    CHECK(test_holds(hk_subtract(two, x), (const float[]){0, -1, -2, -3, -4, -5}, 6));
    CHECK(test_holds(hk_where(hk_greater(x, row), x, two), (const float[]){0, 0, 0, 3, 4, 5}, 6));
    CHECK(test_holds(hk_broadcast_to(hk_relu(part), hk_shape(2, 3)),
                     (const float[]){1, 2, 3, 6, 7, 8}, 6));
    CHECK(test_holds(hk_add(hk_broadcast_to(column, hk_shape(2, 3)), 1),
                     (const float[]){1, 1, 1, 2, 2, 2}, 6));
    CHECK_EQ_I64(direct_calls() - direct, 9);
    hk_runtime_deinit();
}

static void *open_soon(void *gate)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    atomic_store((atomic_bool *)gate, true);
    return NULL;
}

/* A few elements are read without a task where nobody is going to write them, and only there. */
static void test_reading(void)
{
    start(2, 0);
    HK_SCOPE;
    for (int way = 0; way < 3; way++) {
        atomic_bool gate = false;
        pthread_t thread;
        float values[3] = {0};
        hk_array *x = test_range(hk_shape(3));
        test_issue((test_work){.kind = TEST_FILL, .out = x, .value = 7, .gate = &gate});
        CHECK(!pthread_create(&thread, NULL, open_soon, &gate));
        if (way == 0)
            CHECK(hk_item(hk_index(x, 0, 1), NULL) == 7);
        else if (way == 1)
            CHECK(hk_ok(hk_to_host(x, values, sizeof values)) && values[2] == 7);
        else
            CHECK(hk_ok(hk_wait(x)));
        CHECK(atomic_load(&gate));
        pthread_join(thread, NULL);

        atomic_store(&gate, false); /* x is being read: nobody need wait for that */
        test_issue(
            (test_work){.kind = TEST_COPY, .out = test_empty(hk_shape(3)), .in = x, .gate = &gate});
        CHECK(hk_item(hk_index(x, 0, 0), NULL) == 7);
        CHECK(!atomic_load(&gate));
        atomic_store(&gate, true);
        CHECK(hk_ok(hk_wait_all())); /* the task looks at the gate */
    }
    const hk_status *status;
    hk_item(test_empty(hk_shape(1)), &status);
    CHECK(strstr(hk_status_message(status), "never written"));
    hk_runtime_deinit();
}

/* A wait at whatever moment tells of a writer that fails. */
static void test_waiting_for_failure(void)
{
    start(2, 0);
    for (int round = 0; round < ROUNDS; round++) {
        HK_SCOPE;
        hk_array *x = test_range(hk_shape(3));
        float values[3];
        test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = x});
        for (volatile int i = 0; i < round * 10; i++)
            ;
        const hk_status *status = round % 2 ? hk_wait(x) : hk_to_host(x, values, sizeof values);
        CHECK(hk_status_code(status) == HK_INJECTED);
    }
    hk_runtime_deinit();
}

/* Where every call is to be handed over, recorded, or run in its place, it is. */
static void test_never(void)
{
    start(1, -1);
    {
        HK_SCOPE;
        hk_add(test_range(hk_shape(3)), 1);
        CHECK_EQ_I64(direct_calls(), 0);
    }
    hk_runtime_deinit();
    start(1, 0);
    {
        HK_SCOPE;
        hk_array *x = test_range(hk_shape(3));
        CHECK(hk_ok(hk_trace_start(NULL)));
        hk_add(x, 1);
        hk_trace *trace = hk_trace_stop();
        CHECK_EQ_I64(hk_trace_get_summary(trace).call_count, 1);
        CHECK_EQ_I64(direct_calls(), 0);
        hk_trace_release(trace);
    }
    hk_runtime_deinit();
}

int main(void)
{
    test_small();
    test_fallible();
    test_writer();
    test_failing_writer();
    test_constants();
    test_shapes();
    test_reading();
    test_waiting_for_failure();
    test_never();
    return check_result();
}
