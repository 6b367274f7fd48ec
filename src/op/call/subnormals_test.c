/* Subnormal numbers: calls that met some are counted and drawn; where the runtime flushes, every
 * way of a call does, in whatever thread; the caller's own environment is as it was. */
#include "tests/check.h"

#include <hocket/hocket.h>

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#if defined(__x86_64__)

/* Of the sizes of a call without a task, of one in the caller, and of several pieces. */
static const int64_t sizes[] = {1, 3, 500, 1000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static volatile float tiny = 1e-30f;

static bool caller_is_as_ever(void)
{
    const float product = tiny * 1e-10f;
    return product > 0 && fegetround() == FE_TONEAREST;
}

static uint64_t counted(void)
{
    hk_wait_all();
    return hk_runtime_get_stats().subnormal_calls;
}

/* The last element of x y, which is 1e-40, or 0. */
static double product_of(int64_t size)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(size), 1e-30, HK_F32, hk_device_named("cpu:0"));
    hk_array *product = hk_multiply(x, 1e-10);
    return hk_item(hk_index(product, 0, -1), NULL);
}

static double matrix_of(const char *device)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(100, 100), 1e-30, HK_F32, hk_device_named(device));
    return hk_item(hk_index(hk_index(hk_matmul(x, hk_multiply(x, 1e18)), 0, 1), 0, 2), NULL);
}

static void start(hk_engine engine, int64_t inline_ns, bool flush)
{
    const hk_sim_options sim = {.count = 1};
    const hk_runtime_options options = {.engine = engine,
                                        .inline_ns = inline_ns,
                                        .flush_subnormals = flush,
                                        .sim = &sim,
                                        .sim_count = 1};
    CHECK(hk_ok(hk_runtime_init(&options)));
}

static void test_values(hk_engine engine, int64_t inline_ns, bool flush)
{
    start(engine, inline_ns, flush);
    for (int i = 0; i < SIZES; i++) {
        CHECK(product_of(sizes[i]) == (flush ? 0 : (double)(1e-30f * 1e-10f)));
        CHECK(caller_is_as_ever());
    }
    const double matrix = matrix_of("cpu:0");
    CHECK(flush ? matrix == 0 : matrix > 0 && matrix < (double)FLT_MIN);
    CHECK(matrix_of("sim:0") == matrix);
    CHECK(caller_is_as_ever());
    CHECK_EQ_I64(counted() > 0, !flush);
    hk_runtime_deinit();
}

/* An operand of each size; nothing of the caller's own counts, nor what has none. */
static void test_counts(hk_engine engine, int64_t inline_ns)
{
    start(engine, inline_ns, false);
    HK_SCOPE;
    for (int i = 2; i < SIZES; i++) {
        hk_array *x = hk_full(hk_shape(sizes[i]), 1e-40, HK_F32, hk_device_named("cpu:0"));
        hk_array *usual = hk_ones(hk_shape(sizes[i]), HK_F32, hk_device_named("cpu:0"));
        const uint64_t before = counted();
        hk_multiply(x, 2);
        CHECK_EQ_I64(counted(), before + 1);
        CHECK(caller_is_as_ever()); /* and leaves a note of its own */
        volatile float own = tiny * 1e-10f;
        own = own * 2;
        hk_multiply(usual, 2);
        CHECK_EQ_I64(counted(), before + 1);
    }
    hk_runtime_deinit();
}

static void test_timeline(void)
{
    start(HK_ENGINE_ASYNC, 0, false);
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(1000), 1e-40, HK_F32, hk_device_named("cpu:0"));
    hk_wait(x);
    hk_trace_start(NULL);
    hk_multiply(x, 2);
    hk_multiply(hk_ones(hk_shape(1000), HK_F32, hk_device_named("cpu:0")), 2);
    hk_trace *trace = hk_trace_stop();
    CHECK_EQ_I64(hk_trace_get_summary(trace).subnormal_count, 1);
    char *text = hk_trace_text(trace, HK_TRACE_TEXT, NULL);
    CHECK(text && strstr(text, "1 call met subnormal numbers") && strstr(text, "first multiply") &&
          strstr(text, "subnormals_test.c:"));
    free(text);
    text = hk_trace_text(trace, HK_TRACE_CHROME, NULL);
    CHECK(text && strstr(text, "\"subnormals\":true"));
    free(text);
    hk_trace_release(trace);
    hk_runtime_deinit();
}

static void test_variable(void)
{
    setenv("HOCKET_FLUSH_SUBNORMALS", "2", 1);
    CHECK(strstr(hk_status_message(hk_runtime_init(NULL)), "HOCKET_FLUSH_SUBNORMALS"));
    setenv("HOCKET_FLUSH_SUBNORMALS", "1", 1);
    CHECK(product_of(500) == 0);
    hk_runtime_deinit();
    unsetenv("HOCKET_FLUSH_SUBNORMALS");
    CHECK(product_of(500) > 0);
    hk_runtime_deinit();
}

int main(void)
{
    for (int flush = 0; flush < 2; flush++) {
        test_values(HK_ENGINE_SERIAL, 0, flush);
        test_values(HK_ENGINE_ASYNC, 0, flush);
        test_values(HK_ENGINE_ASYNC, -1, flush);
    }
    test_counts(HK_ENGINE_SERIAL, 0);
    test_counts(HK_ENGINE_ASYNC, 0);
    test_counts(HK_ENGINE_ASYNC, -1);
    test_timeline();
    test_variable();
    return check_result();
}

#else

int main(void)
{
    return 77;
}

#endif
