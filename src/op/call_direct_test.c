/* Calls of a few elements run without a task exactly where that cannot be told but by the clock: whatever they read is
 * settled, nothing has failed, and the kernel cannot fail. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <hocket/hocket.h>

enum { ROUNDS = 300, READERS = 20 };

static uint64_t direct_calls(void)
{
    return hk_runtime_get_stats().direct_calls;
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
    hk_array *z = hk_multiply_scalar(y, 2);
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
    hk_array *y = hk_add_scalar(x, 1);
    CHECK_EQ_I64(direct_calls(), direct);
    hk_add_scalar(other, 1);
    CHECK_EQ_I64(direct_calls(), direct + 1);
    atomic_store(&gate, true);
    CHECK(test_holds(y, (const float[]){8, 8, 8}, 3));
    hk_wait_all();

    atomic_store(&gate, false);
    test_issue((test_work){.kind = TEST_COPY, .out = other, .in = x, .gate = &gate});
    direct = direct_calls();
    y = hk_add_scalar(x, 2); /* x is being read */
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
            y[i] = hk_add_scalar(x, 1);
        for (int i = 0; i < READERS; i++)
            CHECK(hk_status_code(hk_wait(y[i])) == HK_INJECTED);
        hk_runtime_deinit();
    }
}

/* Where every call is to be handed over, recorded, or run in its place, it is. */
static void test_never(void)
{
    start(1, -1);
    {
        HK_SCOPE;
        hk_add_scalar(test_range(hk_shape(3)), 1);
        CHECK_EQ_I64(direct_calls(), 0);
    }
    hk_runtime_deinit();
    start(1, 0);
    {
        HK_SCOPE;
        hk_array *x = test_range(hk_shape(3));
        CHECK(hk_ok(hk_trace_start(NULL)));
        hk_add_scalar(x, 1);
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
    test_never();
    return check_result();
}
