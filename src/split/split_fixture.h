/* What tests of splits share, behind check.h: devices of two kinds, values, comparisons. */
#ifndef HOCKET_SPLIT_FIXTURE_H
#define HOCKET_SPLIT_FIXTURE_H

#include <hocket/hocket.h>

#include <math.h>
#include <stdlib.h>

enum { MOST = 4, BATCH = 12, IN = 6, MAX_SIZE = 4096 };

static hk_device devices[MOST]; /* of two kinds */

static inline void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* ---- values ------------------------------------------------------------------------------------------------------------ */

static inline hk_array *make(int seed, hk_dims shape, hk_device device)
{
    double values[MAX_SIZE];
    int64_t count = 1;
    for (int i = 0; i < shape.ndim; i++)
        count *= shape.dims[i];
    for (int64_t i = 0; i < count; i++)
        values[i] = sin((double)(i * 37 + seed * 101 + 1)) * 0.7;
    return hk_from_host(values, shape, HK_F64, device);
}

static inline hk_array *parameter(hk_array *x)
{
    x = hk_copy(x);
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

/* The largest difference; INFINITY where shapes differ or one has failed. */
static inline double difference(hk_array *a, hk_array *b)
{
    double first[MAX_SIZE], second[MAX_SIZE], most = 0;
    const size_t count = (size_t)hk_size(a);
    if (hk_size(a) != hk_size(b) || !hk_ok(hk_to_host(a, first, count * sizeof *first)) ||
        !hk_ok(hk_to_host(b, second, count * sizeof *second)))
        return INFINITY;
    for (size_t i = 0; i < count; i++)
        most =
            fmax(most, isnan(first[i]) || isnan(second[i]) ? INFINITY : fabs(first[i] - second[i]));
    return most;
}

static inline bool close_to(hk_array *a, hk_array *b)
{
    return difference(a, b) < 1e-12;
}

static inline bool same(hk_array *a, hk_array *b)
{
    return difference(a, b) == 0;
}

static inline bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    const bool as_said = !hk_ok(status) && strstr(hk_status_message(status), text);
    if (!as_said)
        fprintf(stderr, "%s\n", hk_status_message(status));
    return as_said;
}

/* On one device. */
static inline hk_array *plain_sum(hk_array *const *xs, int n)
{
    hk_array *sum = xs[0];
    for (int i = 1; i < n; i++)
        sum = hk_add(sum, xs[i]);
    return sum;
}

/* Devices of two kinds. */
static inline void start_devices(void)
{
    const hk_sim_options sim = {.count = 1, .flops = 1e15, .launch_ns = 1, .link_latency_ns = 1};
    hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = 3, .cpu_cores = 3, .sim = &sim, .sim_count = 1});
    for (int i = 0; i < MOST; i++)
        devices[i] = hk_device_named((const char *const[]){"cpu:0", "cpu:1", "sim:0", "cpu:2"}[i]);
}

#endif
