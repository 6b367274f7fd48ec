/* Random arrays: the same numbers for the same seed however they are drawn, in range, and spread as they
 * should be. */
#include "tests/check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MANY = 200000 };

static double values[MANY], others[MANY];
static hk_device device;

/* The elements of x, in double, into `to`; how many. */
static int64_t get(hk_array *x, double *to)
{
    hk_array *y = hk_cast(x, HK_F64);
    const int64_t size = hk_size(y);
    CHECK(size <= MANY && hk_ok(hk_to_host(y, to, (size_t)size * sizeof *to)));
    return size;
}

static bool same(hk_array *x, hk_array *y)
{
    const int64_t size = get(x, values);
    return get(y, others) == size && memcmp(values, others, (size_t)size * sizeof *values) == 0;
}

static hk_array *uniform(int64_t size)
{
    return hk_random_uniform(hk_shape(size), HK_F32, device);
}

static bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    bool ok =
        hk_status_code(status) == HK_INVALID_ARGUMENT && strstr(hk_status_message(status), text);
    if (!ok)
        hk_status_print(status, stderr);
    return ok;
}

/* Checked against another Philox, in Python. Results that people keep depend on these numbers. */
static void test_known(void)
{
    HK_SCOPE;
    hk_array *unseeded = uniform(5); /* by the first thread that draws */
    hk_seed(0);
    get(uniform(5), values);
    CHECK(values[0] == 0x1.9b06dep-1 && values[1] == 0x1.65199p-4 && values[2] == 0x1.effap-8 &&
          values[3] == 0x1.317e78p-1 && values[4] == 0x1.d3588p-1);
    CHECK(get(unseeded, others) == 5 && memcmp(values, others, 5 * sizeof *values) == 0);
    get(hk_random_uniform(hk_shape(3), HK_F64, device), values);
    CHECK(values[0] == 0x1.0aff95e1fcac7p-1 && values[1] == 0x1.e68e46072cadcp-2 &&
          values[2] == 0x1.95b55cfdace18p-2);
    get(hk_random_normal(hk_shape(3), HK_F64, device), values);
    CHECK(fabs(values[0] - 1.2935439697077362) < 1e-15 &&
          fabs(values[1] + 0.9180628964462165) < 1e-15 &&
          fabs(values[2] + 2.032489952862751) < 1e-15);
    get(hk_random_int(-5, 1000, hk_shape(3), HK_I32, device), values);
    CHECK(values[0] == 105 && values[1] == 75 && values[2] == 377);
}

static void test_streams(void)
{
    HK_SCOPE;
    hk_generator *generator = hk_generator_create(7);
    hk_seed(7);
    hk_array *whole = uniform(100000);
    hk_seed(7);
    hk_array *again = uniform(100000);
    CHECK(same(whole, again));
    hk_seed(8);
    CHECK(!same(whole, uniform(100000)));

    /* A generator gives what the seed gives; five elements take the place of eight. */
    CHECK(same(hk_slice(whole, 0, 0, 5),
               hk_random_uniform_from(generator, 0, 1, hk_shape(5), HK_F32, device)));
    CHECK(same(hk_slice(whole, 0, 8, 20),
               hk_random_uniform_from(generator, 0, 1, hk_shape(3, 4), HK_F32, device)));
    hk_array *elsewhere =
        hk_random_uniform_from(generator, 0, 1, hk_shape(7), HK_F32, hk_device_named("cpu:1"));
    CHECK(same(hk_slice(whole, 0, 20, 27), elsewhere));
    CHECK_EQ_I64(hk_size(hk_random_uniform_from(generator, 0, 1, hk_shape(0, 3), HK_F32, device)),
                 0);
    CHECK(same(hk_slice(whole, 0, 28, 31), hk_random_uniform_from(hk_generator_retain(generator), 0,
                                                                  1, hk_shape(3), HK_F32, device)));
    hk_generator_release(generator);
    hk_generator_release(generator);
    hk_generator_release(NULL);

    /* float64 takes two elements of a position. */
    hk_seed(7);
    hk_random_normal(hk_shape(5), HK_F64, device);
    CHECK(same(hk_slice(whole, 0, 12, 16), uniform(4)));

    /* Whatever the pieces: a part is the part of the whole. */
    hk_seed(7);
    CHECK(same(hk_slice(whole, 0, 0, 1001), uniform(1001)));
}

static void *state_in_thread(void *argument)
{
    hk_generator_state *states = argument;
    states[0] = hk_generator_get_state(NULL); /* before it draws */
    hk_array *drawn = hk_take(uniform(50));
    states[1] = hk_generator_get_state(NULL);
    hk_array_release(drawn);
    return NULL;
}

/* A stream goes on from a state as if it had drawn all before, in another thread or a generator too. */
static void test_state(void)
{
    HK_SCOPE;
    hk_generator *generator = hk_generator_create(3);
    hk_seed(7);
    uniform(50);
    const hk_generator_state state = hk_generator_get_state(NULL);
    CHECK(state.seed == 7 && state.stream == 0 && state.position == 13);
    hk_array *then = uniform(50);
    hk_seed(1);
    hk_generator_set_state(NULL, state);
    CHECK(same(then, uniform(50)));
    hk_generator_set_state(generator, state);
    CHECK(same(then, hk_random_uniform_from(generator, 0, 1, hk_shape(50), HK_F32, device)));
    CHECK(hk_generator_get_state(generator).position == 26);

    /* An unseeded thread's stream too, which has a number of its own. */
    hk_generator_state states[2];
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, state_in_thread, states) == 0);
    pthread_join(thread, NULL);
    CHECK(states[0].stream > 0 && states[0].position == 0);
    CHECK(states[1].stream == states[0].stream && states[1].position == 13);
    hk_generator_set_state(NULL, states[0]);
    hk_generator_set_state(generator, states[0]);
    then = uniform(50);
    CHECK(same(then, hk_random_uniform_from(generator, 0, 1, hk_shape(50), HK_F32, device)));
    hk_seed(0);
    CHECK(!same(then, uniform(50)));
    hk_generator_release(generator);
}

static void *draw_in_thread(void *argument)
{
    hk_array **drawn = argument;
    drawn[0] = hk_take(uniform(50));
    hk_seed(7);
    drawn[1] = hk_take(uniform(50));
    return NULL;
}

static void test_threads(void)
{
    HK_SCOPE;
    hk_array *drawn[2][2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, draw_in_thread, drawn[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    hk_seed(7);
    CHECK(same(drawn[0][1], uniform(50)));
    CHECK(same(drawn[0][1], drawn[1][1]));
    hk_seed(0);
    CHECK(!same(drawn[0][0], uniform(50)));
    CHECK(!same(drawn[0][0], drawn[1][0]));
    for (int i = 0; i < 4; i++)
        hk_array_release(drawn[i / 2][i % 2]);
}

/* Mean, variance and fourth moment about the mean of `values`, against what is expected, within five standard
 * errors. */
static void check_moments(int64_t size, double mean, double variance, double fourth)
{
    double sum = 0, second = 0, count = (double)size;
    for (int64_t i = 0; i < size; i++)
        sum += values[i] - mean;
    for (int64_t i = 0; i < size; i++)
        second += (values[i] - mean) * (values[i] - mean);
    CHECK(fabs(sum / count) < 5 * sqrt(variance / count));
    CHECK(fabs(second / count - variance) < 5 * sqrt((fourth - variance * variance) / count));
}

static void test_spread(void)
{
    HK_SCOPE;
    const hk_dtype dtypes[] = {HK_F32, HK_F64};
    hk_seed(1);
    for (int i = 0; i < 2; i++) {
        int64_t size = get(hk_random_uniform(hk_shape(MANY), dtypes[i], device), values);
        for (int64_t j = 0; j < size; j++)
            CHECK(values[j] >= 0 && values[j] < 1);
        check_moments(size, 0.5, 1.0 / 12, 1.0 / 80);
        size = get(hk_random_normal_from(NULL, 3, 2, hk_shape(MANY), dtypes[i], device), values);
        check_moments(size, 3, 4, 48);
        int beyond = 0;
        for (int64_t j = 0; j < size; j++)
            beyond += fabs(values[j] - 3) > 4; /* two deviations: 4.55 % */
        CHECK(abs(beyond - 9100) < 500);
    }
    int counts[7] = {0};
    int64_t size = get(hk_random_int(-3, 4, hk_shape(70000), HK_I64, device), values);
    for (int64_t j = 0; j < size; j++) {
        CHECK(values[j] >= -3 && values[j] < 4);
        counts[(int)values[j] + 3]++;
    }
    for (int i = 0; i < 7; i++)
        CHECK(abs(counts[i] - 10000) < 500);
}

static void test_edges(void)
{
    HK_SCOPE;
    /* Rounding must not reach the end of the range. */
    get(hk_random_uniform_from(NULL, 1, 1 + 0x1p-23, hk_shape(1000), HK_F32, device), values);
    for (int i = 0; i < 1000; i++)
        CHECK(values[i] == 1);
    get(hk_random_uniform_from(NULL, -1e300, -1e300 * (1 - 0x1p-52), hk_shape(1000), HK_F64,
                               device),
        values);
    for (int i = 0; i < 1000; i++)
        CHECK(values[i] >= -1e300 && values[i] < -1e300 * (1 - 0x1p-52));
    get(hk_random_normal_from(NULL, 5, 0, hk_shape(3), HK_F32, device), values);
    CHECK(values[0] == 5 && values[2] == 5);
    int64_t extreme[100];
    hk_array *wide = hk_random_int(INT64_MIN, INT64_MAX, hk_shape(100), HK_I64, device);
    CHECK(hk_ok(hk_to_host(wide, extreme, sizeof extreme)));
    int negative = 0;
    for (int i = 0; i < 100; i++)
        negative += extreme[i] < 0;
    CHECK(negative > 20 && negative < 80);
    get(hk_random_int(0, 256, hk_shape(1000), HK_U8, device), values);
    CHECK_EQ_I64(
        get(hk_random_int(INT32_MAX, (int64_t)INT32_MAX + 1, hk_shape(2), HK_I32, device), values),
        2);
    CHECK(values[0] == INT32_MAX);
    CHECK_EQ_I64(get(hk_random_normal(hk_shape(), HK_F32, device), values), 1);
}

/* The whole range of a dtype, and what is beyond int64. */
static void test_whole_ranges(void)
{
    HK_SCOPE;
    enum { COUNT = 4096 };
    static uint64_t drawn[COUNT];
    const hk_dims shape = hk_shape(COUNT);
    hk_array *all = hk_random_between_from(NULL, HK_NUMBER(INT64_MIN), HK_NUMBER(INT64_MAX), shape,
                                           HK_I64, device);
    CHECK(hk_ok(hk_to_host(all, drawn, sizeof drawn)));
    int negative = 0, large = 0;
    for (int i = 0; i < COUNT; i++) {
        negative += (int64_t)drawn[i] < 0;
        large += (drawn[i] << 1 >> 63) != 0;
    }
    CHECK(negative > COUNT * 2 / 5 && negative < COUNT * 3 / 5);
    CHECK(large > COUNT * 2 / 5 && large < COUNT * 3 / 5);
    all = hk_random_between_from(NULL, HK_NUMBER(UINT64_MAX - 2), HK_NUMBER(UINT64_MAX), shape,
                                 HK_U64, device);
    CHECK(hk_ok(hk_to_host(all, drawn, sizeof drawn)));
    unsigned seen = 0;
    for (int i = 0; i < COUNT; i++)
        seen |= UINT64_MAX - drawn[i] < 3 ? 1u << (unsigned)(UINT64_MAX - drawn[i]) : 8u;
    CHECK_EQ_I64(seen, 7);
    /* The same numbers by both ways in. */
    hk_seed(5);
    hk_array *one = hk_random_int(-3, 4, shape, HK_I16, device);
    hk_seed(5);
    CHECK(hk_item(hk_all(hk_equal(one, hk_random_between_from(NULL, HK_NUMBER(-3), HK_NUMBER(3),
                                                              shape, HK_I16, device)),
                         NULL),
                  NULL) == 1);
    CHECK(fails(
        hk_random_between_from(NULL, HK_NUMBER(-1), HK_NUMBER(UINT64_MAX), shape, HK_U64, device),
        "no dtype holds both"));
    CHECK(fails(hk_random_between_from(NULL, HK_NUMBER(2), HK_NUMBER(1), shape, HK_U64, device),
                "least not more than most"));
    CHECK(fails(hk_random_between_from(NULL, HK_NUMBER(0.5), HK_NUMBER(1), shape, HK_U64, device),
                "must be whole"));
    CHECK(fails(
        hk_random_between_from(NULL, HK_NUMBER(0), HK_NUMBER(UINT64_MAX), shape, HK_I64, device),
        "int64 holds"));
    hk_failures_clear();
}

static void test_refusals(void)
{
    HK_SCOPE;
    CHECK(fails(hk_random_uniform(hk_shape(2), HK_I32, device), "dtype is int32"));
    CHECK(fails(hk_random_uniform(hk_shape(2, -1), HK_F32, device), "-1"));
    CHECK(fails(hk_random_uniform_from(NULL, 1, 1, hk_shape(2), HK_F32, device),
                "low is 1 and high is 1"));
    CHECK(fails(hk_random_uniform_from(NULL, 0, NAN, hk_shape(2), HK_F32, device), "high is nan"));
    CHECK(fails(hk_random_uniform_from(NULL, -1e308, 1e308, hk_shape(2), HK_F64, device),
                "difference"));
    CHECK(fails(hk_random_uniform_from(NULL, 1, 1 + 1e-12, hk_shape(2), HK_F32, device),
                "tell apart"));
    CHECK(fails(hk_random_normal_from(NULL, 0, -1, hk_shape(2), HK_F32, device), "std is -1"));
    CHECK(fails(hk_random_int(3, 3, hk_shape(2), HK_I32, device), "low is 3 and high is 3"));
    CHECK(fails(hk_random_int(0, 257, hk_shape(2), HK_U8, device), "uint8 holds 0"));
    CHECK(fails(hk_random_int(0, 2, hk_shape(2), HK_F32, device), "dtype is float32"));
    hk_failures_clear();
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2});
    device = hk_device_default();
    test_known();
    test_streams();
    test_state();
    test_threads();
    test_spread();
    test_edges();
    test_whole_ranges();
    test_refusals();
    return check_result();
}
