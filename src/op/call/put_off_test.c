/* What simulated devices put off: what nobody can see is never computed; what is needed is, with
 * the bytes of the serial engine, whatever came before or was overwritten since; equal calls are
 * computed once; memory and errors are as without it. */
#include "tests/check.h"

#include "array/array.h"
#include "base/sanitizer.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

enum { N = 128, SIMS = 2 /* large enough for copies to the host to be put off */ };

static hk_device cpu, sim[SIMS];

static void start(hk_engine engine, uint64_t memory_bytes)
{
    const hk_sim_options fast = {.count = SIMS,
                                 .flops = 1e15,
                                 .memory_bandwidth = 1e15,
                                 .launch_ns = 1,
                                 .link_bandwidth = 1e15,
                                 .link_latency_ns = 1,
                                 .staging_bandwidth = 1e15,
                                 .memory_bytes = memory_bytes};
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.sim = &fast, .sim_count = 1, .cpu_cores = 2, .engine = engine})));
    cpu = hk_device_named("cpu:0");
    sim[0] = hk_device_named("sim:0");
    sim[1] = hk_device_named("sim:1");
}

static void stop(void)
{
    hk_wait_all();
    for (int i = 0; i < SIMS; i++)
        CHECK_EQ_I64(hk_device_get_memory(sim[i]).used_bytes, 0);
    hk_failures_clear();
    hk_runtime_deinit();
}

static hk_runtime_internals now(void)
{
    return hk_runtime_get_internals();
}

/* Computed since. */
static int64_t computed(const hk_runtime_internals *before)
{
    CHECK(hk_ok(hk_wait_all()));
    return (int64_t)(now().computed_calls - before->computed_calls);
}

/* A matrix of the device, whose values it has: 1, 2, 3, ... */
static hk_array *counted(hk_device device, int64_t n)
{
    float *values = malloc((size_t)(n * n) * sizeof *values);
    for (int64_t i = 0; i < n * n; i++)
        values[i] = (float)(i % 97 + 1);
    hk_array *x = hk_from_host(values, hk_shape(n, n), HK_F32, device);
    free(values);
    return x;
}

static double first(hk_array *x)
{
    return hk_item(hk_slice(hk_reshape(x, hk_shape(-1)), 0, 0, 1), NULL);
}

static void fill(hk_array *x, double value)
{
    hk_full_into(x, x->shape, value, HK_F32);
}

/* ---- never ----------------------------------------------------------------------------------- */

static void test_dropped(void)
{
    start(HK_ENGINE_ASYNC, 0);
    {
        HK_SCOPE;
        hk_array *x = counted(sim[0], N);
        hk_wait_all();
        hk_runtime_internals before = now();
        for (int i = 0; i < 50; i++) {
            HK_SCOPE;
            hk_matmul(hk_add(x, i), x);
        }
        CHECK_EQ_I64(computed(&before), 0);
        CHECK_EQ_I64((int64_t)(now().put_off_calls - before.put_off_calls), 100);
        /* Waiting for a value needs no bytes. */
        hk_array *y = hk_matmul(x, hk_add(x, 1));
        CHECK(hk_ok(hk_wait(y)));
        CHECK_EQ_I64(computed(&before), 0);
        /* A call that gets copies of its inputs, and looks at them: labels, and a gradient that is
         * broadcast. */
        const int64_t label[2] = {1, 0};
        hk_array *labels = hk_from_host(label, hk_shape(2), HK_I64, sim[0]);
        hk_array *p = hk_contiguous(hk_slice(x, 0, 0, 2));
        hk_attach_grad(p, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *loss = hk_sum(hk_softmax_cross_entropy(p, labels), NULL);
        hk_record_end();
        hk_backward(loss);
        hk_array *total = hk_sum(hk_abs(hk_grad(p)), NULL);
        CHECK(fabs(hk_item(total, NULL) - 4) < 1e-3); /* 2 (1 - p), of two samples with p about 0 */
        before = now();
        /* What is overwritten is dropped, too. */
        hk_array *z = hk_multiply(x, 2);
        fill(z, 7);
        CHECK(first(z) == 7);
        CHECK(computed(&before) <= 3); /* not y, nor the product of z */
    }
    stop();
}

/* ---- when it is needed ----------------------------------------------------------------------- */

static void test_needed(void)
{
    start(HK_ENGINE_ASYNC, 0);
    {
        HK_SCOPE;
        hk_array *x = counted(sim[0], N);
        hk_runtime_internals before = now();
        hk_array *y = hk_add(x, 1), *other = hk_add(x, 2);
        CHECK(first(y) == 2); /* an item: the value and what the item is made of */
        CHECK(computed(&before) <= 2);
        static float values[N * N];
        CHECK(hk_ok(hk_to_host(other, values, sizeof values)));
        CHECK(values[0] == 3 && values[96] == 99);
        hk_array *text = hk_add(x, 3);
        char *printed = hk_to_string(hk_slice(text, 0, 0, 1));
        CHECK(printed && strstr(printed, "4"));
        free(printed);
        /* On another device: a copy between devices is put off itself. */
        before = now();
        hk_array *there = hk_to_device(hk_add(x, 4), sim[1]);
        CHECK_EQ_I64(computed(&before), 0);
        CHECK(first(hk_add(there, 1)) == 6);
        hk_array *here = hk_to_device(hk_add(x, 5), cpu);
        CHECK(hk_item(hk_sum(hk_slice(hk_reshape(here, hk_shape(-1)), 0, 0, 1), NULL), NULL) == 6);
    }
    stop();
}

/* A chain whose arrays have all been let go but the last. */
static void test_chain(int64_t length)
{
    start(HK_ENGINE_ASYNC, 0);
    {
        HK_SCOPE;
        hk_array *x = hk_take(counted(sim[0], 8)),
                 *y = hk_take(hk_zeros(hk_shape(4), HK_F32, sim[0]));
        for (int64_t i = 0; i < length; i++) {
            HK_SCOPE;
            hk_array *next = hk_take(hk_add(x, 1));
            hk_array_release(x);
            x = next;
            hk_add_into(y, y, 1); /* in place */
        }
        CHECK(first(x) == 1 + (double)length);
        CHECK(first(y) == (double)length);
        CHECK(hk_device_get_memory(sim[0]).peak_bytes < (uint64_t)1 << 20);
        hk_array_release(x);
        hk_array_release(y);
    }
    stop();
}

/* ---- overwriting ----------------------------------------------------------------------------- */

static void test_overwritten_input(void)
{
    start(HK_ENGINE_ASYNC, 0);
    {
        HK_SCOPE;
        hk_array *x = counted(sim[0], N), *all = counted(cpu, N);
        hk_array *before = hk_add(x, 1);
        fill(x, 5); /* put off itself */
        hk_array *between = hk_add(x, 1);
        static float zeros[N * N];
        hk_write(x, zeros, sizeof zeros); /* now */
        hk_array *after = hk_add(x, 1);
        hk_multiply_into(x, x, 2);
        hk_add_into(hk_slice(x, 0, 3, 5), hk_slice(x, 0, 3, 5), 9); /* a part */
        fill(hk_slice(x, 1, 2, 4), 4);                              /* with gaps */
        CHECK(first(before) == 2 && first(between) == 6 && first(after) == 1);
        static float values[N * N];
        CHECK(hk_ok(hk_to_host(x, values, sizeof values)));
        CHECK(values[0] == 0 && values[3 * N] == 9 && values[3 * N + 2] == 4 && values[5 * N] == 0);
        hk_array *kept = hk_to_device(all, sim[0]), *view = hk_slice(kept, 0, 1, 2);
        hk_array *sum = hk_add(view, 0);
        fill(hk_slice(kept, 0, 2, 3), 8); /* beside the view */
        CHECK(first(sum) == N % 97 + 1);
        CHECK(first(hk_slice(kept, 0, 2, 3)) == 8);
    }
    stop();
}

/* Its input is released, and its memory another's, while it is put off. */
static void test_released_input(void)
{
    start(HK_ENGINE_ASYNC, 1 << 20);
    {
        HK_SCOPE;
        hk_array *y[8];
        for (int i = 0; i < 8; i++) {
            {
                HK_SCOPE;
                hk_array *x = counted(sim[0], 256); /* a quarter of the device's */
                hk_array *z = hk_add(hk_multiply(x, i), 1);
                y[i] = hk_take(hk_add(hk_slice(z, 0, 0, 1), 0)); /* small */
            }
            hk_wait_all();
        }
        hk_wait_all();
        CHECK(hk_device_get_memory(sim[0]).peak_bytes <= 1 << 20);
        for (int i = 0; i < 8; i++)
            CHECK(first(y[i]) == i + 1);
        for (int i = 0; i < 8; i++)
            hk_array_release(y[i]);
    }
    stop();
}

/* ---- copies to the host ---------------------------------------------------------------------- */

static hk_array *sent(hk_array *x, double more)
{
    return hk_to_device(hk_add(x, more), cpu);
}

static void test_to_host(void)
{
    enum { LARGE = 256 };
    static float values[LARGE * LARGE];
    start(HK_ENGINE_ASYNC, 0);
    {
        HK_SCOPE;
        hk_array *x = counted(sim[0], LARGE);
        hk_wait_all();
        hk_runtime_internals before = now();
        hk_array *unseen = sent(x, 1);
        CHECK_EQ_I64(computed(&before), 0);
        CHECK(hk_is_ready(unseen));
        CHECK(hk_ok(hk_wait_for(unseen, 1000000000)));
        CHECK_EQ_I64(computed(&before), 0);
        hk_array *dropped = hk_take(sent(x, 2));
        hk_wait_all();
        hk_array_release(dropped);
        CHECK_EQ_I64(computed(&before), 0);
        /* By a call, at once and later, as a whole and in part. */
        CHECK(first(hk_add(sent(x, 3), 1)) == 5);
        hk_array *called = sent(x, 4);
        hk_wait_all();
        CHECK(first(hk_add(hk_slice(called, 0, 1, 2), 1)) == LARGE % 97 + 6);
        CHECK(first(called) == 5);
        /* By reading, waiting, and a loan. */
        hk_array *read = sent(x, 5), *awaited = sent(x, 6), *lent = sent(x, 7);
        hk_wait_all();
        CHECK(hk_ok(hk_to_host(read, values, sizeof values)) && values[0] == 6);
        CHECK(hk_ok(hk_wait(awaited)) && first(awaited) == 7);
        hk_loan loan;
        CHECK(hk_ok(hk_data_borrow(lent, HK_BORROW_READ, &loan)) && *(float *)loan.data == 8);
        hk_data_return(&loan);
        /* It is overwritten, by the host and by another copy. */
        hk_array *written = sent(x, 8);
        hk_wait_all();
        fill(written, 3);
        hk_assign(hk_slice(written, 0, 1, 2), hk_slice(hk_add(x, 1), 0, 0, 1));
        CHECK(first(written) == 3 && first(hk_slice(written, 0, 1, 2)) == 2);
        hk_array *ordinary = hk_to_pageable(hk_add(x, 2), cpu);
        CHECK(!ordinary->storage->is_pinned && first(ordinary) == 3);
        CHECK(hk_to_pageable(ordinary, cpu)->storage == ordinary->storage);
        /* Back to a device; what it was made of has changed since. */
        hk_array *there = hk_to_device(sent(x, 9), sim[1]), *kept = sent(x, 0);
        fill(x, 50);
        CHECK(first(there) == 10 && first(kept) == 1 && first(sent(x, 0)) == 50);
        CHECK(first(unseen) == 2);
        /* Not put off where it fails. */
        hk_array *failed =
            sent(hk_divide(hk_cast(x, HK_I32), hk_zeros(hk_shape(1), HK_I32, sim[0])), 0);
        CHECK_EQ_I64(hk_status_code(hk_wait(failed)), HK_OUT_OF_RANGE);
        hk_failures_clear();
    }
    stop();
}

/* ---- once ------------------------------------------------------------------------------------ */

static void test_equal(void)
{
    start(HK_ENGINE_ASYNC, 0);
    {
        HK_SCOPE;
        hk_array *x = counted(sim[0], N), *y[10], *host[10];
        hk_wait_all();
        hk_runtime_internals before = now();
        for (int i = 0; i < 10; i++)
            y[i] = hk_matmul(x, x);
        for (int i = 0; i < 10; i++)
            host[i] = hk_to_device(y[i], cpu);
        CHECK_EQ_I64(computed(&before), 0);
        CHECK_EQ_I64((int64_t)(now().shared_calls - before.shared_calls), 9);
        static float values[2][N * N];
        CHECK(hk_ok(hk_to_host(host[0], values[0], sizeof values[0])));
        for (int i = 1; i < 10; i++) {
            CHECK(hk_ok(hk_to_host(host[i], values[1], sizeof values[1])));
            CHECK(!memcmp(values[0], values[1], sizeof values[0]));
        }
        CHECK_EQ_I64(computed(&before), 11); /* the product, and ten copies */
        /* Each is an array of its own. */
        hk_add_into(y[0], y[0], 1);
        CHECK(first(y[0]) == values[0][0] + 1 && first(y[1]) == values[0][0]);
        /* What was read has changed since, other options, another view: not equal. */
        before = now();
        hk_array *a = hk_sum(x, &(hk_sum_options){.axes = hk_shape(0)});
        hk_array *b = hk_sum(x, &(hk_sum_options){.axes = hk_shape(1)});
        hk_array *c = hk_add(hk_slice(x, 0, 0, 2), 1), *d = hk_add(hk_slice(x, 0, 1, 3), 1);
        hk_array *e = hk_multiply(x, 3);
        fill(x, 2);
        hk_array *f = hk_multiply(x, 3);
        CHECK_EQ_I64((int64_t)(now().shared_calls - before.shared_calls), 0);
        CHECK(first(a) != first(b) && first(c) == 2 && first(d) == N % 97 + 2);
        CHECK(first(e) == 3 && first(f) == 6);
        /* Random numbers are drawn anew. */
        hk_array *u = hk_random_uniform(hk_shape(4), HK_F32, sim[0]);
        hk_array *v = hk_random_uniform(hk_shape(4), HK_F32, sim[0]);
        CHECK(first(u) != first(v));
    }
    stop();
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_failures(void)
{
    start(HK_ENGINE_ASYNC, 1 << 20);
    {
        HK_SCOPE;
        /* A kernel that may refuse what it finds does so where it would. */
        hk_array *x = counted(sim[0], N), *zeros = hk_subtract(x, x);
        hk_array *whole = hk_cast(x, HK_I32), *none = hk_cast(zeros, HK_I32);
        hk_array *divided = hk_divide(whole, none);
        CHECK_EQ_I64(hk_status_code(hk_wait(divided)), HK_OUT_OF_RANGE);
        hk_array *singular = hk_cholesky(zeros, NULL);
        CHECK_EQ_I64(hk_status_code(hk_wait(singular)), HK_BAD_DATA);
        /* What depends on it fails, and in place the old bytes stand. */
        hk_array *y = hk_add(whole, 1);
        hk_add_into(y, y, divided);
        CHECK_EQ_I64(hk_status_code(hk_wait(y)), HK_OUT_OF_RANGE);
        hk_recover(y);
        CHECK(first(y) == 2);
        hk_failures_clear();
        /* There is no room: at once, though nothing has been computed. */
        hk_array *big[5];
        for (int i = 0; i < 5; i++)
            big[i] = hk_zeros(hk_shape(240, 256), HK_F32, sim[1]);
        hk_wait_all();
        CHECK_EQ_I64(hk_status_code(hk_wait(big[4])), HK_OUT_OF_MEMORY);
        CHECK(hk_ok(hk_wait(big[3])) && first(big[3]) == 0);
        hk_failures_clear();
    }
    stop();
}

/* The runtime ends while all of it is put off. */
static void test_end(void)
{
    start(HK_ENGINE_ASYNC, 0);
    hk_array *x, *y, *z;
    {
        HK_SCOPE;
        x = hk_take(counted(sim[0], N));
        y = hk_take(hk_matmul(x, x));
        z = hk_take(hk_to_device(hk_add(y, 1), sim[1]));
    }
    hk_runtime_deinit();
    CHECK_EQ_I64(hk_status_code(hk_wait(z)), HK_CANCELLED);
    hk_array_release(x);
    hk_array_release(y);
    hk_array_release(z);
}

/* ---- the same bytes -------------------------------------------------------------------------- */

enum { ARRAYS = 6, HOSTS = 2, STEPS = 400 };

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* Arrays of two devices, made anew, overwritten in whole and in part, copied, and looked at now and
 * then. Returns a sum of what was seen. */
static uint64_t play(hk_engine engine, uint64_t seed, float (*out)[N * N])
{
    HK_SCOPE;
    uint64_t state = seed, seen = 0;
    hk_array *x[ARRAYS], *host[HOSTS];
    start(engine, 0);
    hk_seed(seed);
    for (int i = 0; i < ARRAYS; i++) {
        HK_SCOPE;
        x[i] = hk_take(hk_divide(counted(sim[i % SIMS], N), 100));
    }
    for (int i = 0; i < HOSTS; i++)
        host[i] = hk_take(hk_to_device(x[i], cpu));
    for (int step = 0; step < STEPS; step++) {
        HK_SCOPE;
        const uint32_t to = draw(&state, ARRAYS), a = (draw(&state, ARRAYS / 2) * 2 + to) % ARRAYS,
                       b = (draw(&state, ARRAYS / 2) * 2 + to) % ARRAYS, any = draw(&state, ARRAYS),
                       at = draw(&state, N - 8);
        hk_array *made = NULL, *part = hk_slice(x[to], (int)draw(&state, 2), at, at + 8);
        const uint32_t h = draw(&state, HOSTS);
        switch (draw(&state, 16)) {
        case 0:
            made = hk_tanh(hk_matmul(x[a], x[b]));
            break;
        case 1:
            made = hk_multiply(hk_add(x[a], x[b]), 0.5);
            break;
        case 2:
            made = hk_to_device(x[any], sim[to % SIMS]);
            break;
        case 3:
            made = hk_random_uniform(hk_shape(N, N), HK_F32, sim[to % SIMS]);
            break;
        case 4:
            hk_maximum_into(x[to], x[a], x[b]);
            break;
        case 5:
            fill(part, 0.25);
            break;
        case 6:
            hk_multiply_into(part, part, 0.75);
            break;
        case 7:
            hk_assign(part, hk_multiply(part, 1.25));
            break;
        case 8:
            hk_assign(x[to], x[any]);
            break;
        case 9:
            made = hk_softmax(hk_transpose(x[a]), -1);
            break;
        case 10:
        case 11:
            hk_array_release(host[h]);
            host[h] = hk_take(hk_to_device(x[any], cpu));
            break;
        case 12:
            made = hk_to_device(hk_multiply(host[h], 0.5), sim[to % SIMS]);
            break;
        case 13:
            hk_multiply_into(host[h], host[h], 0.5);
            break;
        case 14:
            seen = seen * 31 + (uint64_t)llrint(1e6 * hk_item(hk_sum(x[to], NULL), NULL));
            break;
        default:
            made = hk_add(x[a], x[a]);
            made = hk_multiply(hk_subtract(made, x[a]), 0.9);
        }
        if (made && hk_ok(hk_error_now(made))) {
            hk_array_release(x[to]);
            x[to] = hk_take(made);
        }
    }
    for (int i = 0; i < ARRAYS + HOSTS; i++) {
        hk_array *its = i < ARRAYS ? x[i] : host[i - ARRAYS];
        CHECK(hk_ok(hk_to_host(its, out[i], sizeof out[i])));
        hk_array_release(its);
    }
    stop();
    return seen;
}

static void test_same_bytes(uint64_t seed)
{
    static float expected[ARRAYS + HOSTS][N * N], actual[ARRAYS + HOSTS][N * N];
    const uint64_t seen = play(HK_ENGINE_SERIAL, seed, expected);
    CHECK(play(HK_ENGINE_ASYNC, seed, actual) == seen);
    CHECK(!memcmp(expected, actual, sizeof expected));
}

int main(int argc, char **argv)
{
    const int seeds = argc > 1 ? atoi(argv[1]) : HKI_SANITIZED ? 3 : 12;
    test_dropped();
    test_needed();
    test_chain(HKI_SANITIZED ? 2000 : 100000);
    test_overwritten_input();
    test_released_input();
    test_to_host();
    test_equal();
    test_failures();
    test_end();
    for (int seed = 1; seed <= seeds; seed++)
        test_same_bytes((uint64_t)seed);
    return check_result();
}
