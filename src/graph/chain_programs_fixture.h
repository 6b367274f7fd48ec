/* Small programs, each by calls, captured exactly and as chains: for tests of what a chain may not take for samples, and
 * of calls in an order that matters. Include tests/check.h first. */
#ifndef HOCKET_GRAPH_CHAIN_PROGRAMS_FIXTURE_H
#define HOCKET_GRAPH_CHAIN_PROGRAMS_FIXTURE_H

#include "op/call/capture.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARRAYS = 4, MAX_HELD = 8, MAX_VALUES = 1 << 20, PASSES = 3, N = -1 };

/* A program at work; n samples. */
typedef struct state {
    int64_t n;
    hk_array *bound[MAX_ARRAYS], *params[MAX_ARRAYS], *held[MAX_HELD];
    int bound_count, param_count, held_count;
    bool holds;
    uint64_t seed; /* of programs made by chance */
} state;

typedef struct made {
    hk_dims shape; /* N: the number of samples; 2 N: twice that */
    hk_dtype dtype;
    bool is;
} made;

typedef struct program {
    const char *name;
    void (*step)(state *self);
    made bound[MAX_ARRAYS], params[MAX_ARRAYS];
    bool forms; /* a chain */
    uint64_t seed;
    int64_t many; /* one more number of samples to try */
} program;

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .ndim = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }  \
    }
#define F32(...)                                                                                   \
    {                                                                                              \
        SHAPE(__VA_ARGS__), HK_F32, true                                                           \
    }
#define F64(...)                                                                                   \
    {                                                                                              \
        SHAPE(__VA_ARGS__), HK_F64, true                                                           \
    }

static hk_array *make(const made *what, int64_t n, uint64_t seed)
{
    hk_dims shape = what->shape;
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++) {
        shape.dims[i] = shape.dims[i] < 0 ? -shape.dims[i] * n : shape.dims[i];
        size *= shape.dims[i];
    }
    double *values = malloc(((size_t)size + 1) * sizeof *values);
    for (int64_t i = 0; i < size; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value = (double)(seed >> 33) / (double)(UINT64_C(1) << 30) - 1;
        values[i] = what->dtype == HK_F32 || what->dtype == HK_F64 ? value : (double)(i * 7 % 5);
    }
    hk_array *x = hk_from_host(values, shape, HK_F64, hk_device_default());
    free(values);
    return hk_contiguous(hk_cast(x, what->dtype));
}

static void hold(state *self, hk_array *x)
{
    if (self->holds)
        self->held[self->held_count++] = hk_take(hk_detach(x));
}

typedef struct outcome {
    int count;
    double values[MAX_VALUES];
} outcome;

static void add_values(outcome *self, hk_array *x)
{
    HK_SCOPE;
    int size = (int)hk_size(x);
    CHECK(self->count + size <= MAX_VALUES);
    if (self->count + size > MAX_VALUES)
        return;
    CHECK(!hk_status_print(hk_to_host(hk_contiguous(hk_cast(x, HK_F64)), self->values + self->count,
                                      (size_t)size * sizeof(double)),
                           stderr));
    self->count += size;
}

/* SUMMED and CUT: chains, with a sum of all gradients and held arrays behind them, in one and bit by bit. */
enum mode { CALLS, EXACT, CHAINS, SUMMED, CUT };

static void sum_nothing(hk_array *const *arrays, int count, const void *options)
{
    (void)arrays, (void)count, (void)options;
}

/* Notes a sum over devices that changes nothing. */
static void note_sum(hk_array *const *arrays, int count, size_t early_bytes)
{
    hki_capture *capture = hki_capturing;
    hki_hooks.capture->compound_begin(capture, "sum", sum_nothing, arrays, count, NULL, 0,
                                      early_bytes);
    hki_hooks.capture->compound_end(capture);
}

static inline void note_sum_of(const state *self, size_t early_bytes)
{
    hk_array *list[MAX_ARRAYS + MAX_HELD];
    int count = 0;
    for (int i = 0; i < self->param_count; i++)
        if (hk_grad(self->params[i]))
            list[count++] = hk_grad(self->params[i]);
    for (int i = 0; i < self->held_count; i++)
        list[count++] = self->held[i];
    if (count)
        note_sum(list, count, early_bytes);
}

/* Three passes, on other bound arrays each; what they leave. Returns how many calls became fewer tasks. */
static int64_t run(const program *its, int64_t n, enum mode mode, outcome *result)
{
    HK_SCOPE;
    state self = {.n = n, .seed = its->seed};
    hk_seed(its->seed); /* of what a program draws at each pass */
    hk_graph *graph = NULL;
    result->count = 0;
    for (; self.param_count < MAX_ARRAYS && its->params[self.param_count].is; self.param_count++) {
        const made *what = &its->params[self.param_count];
        hk_array *x = make(what, n, 77 + (uint64_t)self.param_count);
        if (what->dtype == HK_F32 || what->dtype == HK_F64)
            hk_attach_grad(x, HK_GRAD_WRITE);
        self.params[self.param_count] = x;
    }
    while (self.bound_count < MAX_ARRAYS && its->bound[self.bound_count].is)
        self.bound_count++;
    for (int i = 0; i < PASSES; i++) {
        for (int j = 0; j < self.bound_count; j++)
            self.bound[j] = make(&its->bound[j], n, (uint64_t)(i * 5 + j));
        self.holds = mode == CALLS ? i == PASSES - 1 : i == 0;
        if (i == 0 && mode != CALLS)
            hk_capture_begin(self.bound, self.bound_count);
        if (i == 0 || mode == CALLS) {
            HK_SCOPE;
            its->step(&self);
            if (mode >= SUMMED)
                note_sum_of(&self, mode == CUT ? 16 : 1 << 30);
        } else {
            hk_replay(graph, self.bound, self.bound_count);
        }
        if (i == 0 && mode != CALLS) {
            graph = hk_capture_end(&(hk_capture_options){.exact = mode == EXACT});
            CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        }
        for (int j = 0; j < self.bound_count; j++)
            add_values(result, self.bound[j]);
    }
    for (int i = 0; i < self.held_count; i++)
        add_values(result, self.held[i]);
    for (int i = 0; i < self.param_count; i++) {
        add_values(result, self.params[i]);
        if (hk_grad(self.params[i]))
            add_values(result, hk_grad(self.params[i]));
    }
    hk_graph_facts facts = graph ? hk_graph_get_facts(graph) : (hk_graph_facts){0};
    hk_graph_release(graph);
    for (int i = 0; i < self.held_count; i++)
        hk_array_release(self.held[i]);
    return facts.calls - facts.tasks;
}

static double apart(double a, double b)
{
    if (isnan(a) || isnan(b) || a == b)
        return isnan(a) && isnan(b) ? 0 : a == b ? 0 : INFINITY;
    return fabs(a - b) / fmax(1, fabs(a));
}

static int cuts; /* tasks that chains became beyond one each */

static void compare_parts(const program *its, int64_t n)
{
    static outcome whole, parts;
    cuts += (int)(run(its, n, SUMMED, &whole) - run(its, n, CUT, &parts));
    CHECK_EQ_I64(parts.count, whole.count);
    for (int i = 0; i < parts.count; i++)
        if (memcmp(&whole.values[i], &parts.values[i], sizeof whole.values[i]) != 0) {
            fprintf(stderr, "%s (%llu) of %d: value %d is %.17g in parts, and %.17g\n", its->name,
                    (unsigned long long)its->seed, (int)n, i, parts.values[i], whole.values[i]);
            CHECK(false);
            break;
        }
}

static void compare(const program *its, int64_t n)
{
    static outcome calls, exact, chains;
    run(its, n, CALLS, &calls);
    run(its, n, EXACT, &exact);
    int64_t saved = run(its, n, CHAINS, &chains);
    CHECK_EQ_I64(exact.count, calls.count);
    CHECK_EQ_I64(chains.count, calls.count);
    double exact_most = 0, most = 0;
    for (int i = 0; i < calls.count; i++) {
        exact_most = fmax(exact_most, apart(calls.values[i], exact.values[i]));
        most = fmax(most, apart(calls.values[i], chains.values[i]));
    }
    bool good = exact_most == 0 && most < 1e-4 && (saved > 0 || !its->forms);
    if (!good)
        fprintf(stderr, "%s (%llu) of %d: exact %g, chain %g apart, %d calls fewer\n", its->name,
                (unsigned long long)its->seed, (int)n, exact_most, most, (int)saved);
    CHECK(good);
    compare_parts(its, n);
}

static inline void compare_all(const program *programs, size_t count)
{
    static const int64_t samples[] = {70, 32, 133};
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < sizeof samples / sizeof *samples; j++)
            compare(&programs[i], samples[j]);
        if (programs[i].many)
            compare(&programs[i], programs[i].many);
    }
}

#endif
