/* Attention takes memory for blocks of its scores alone, and has the same bytes however it is run,
 * and however its inputs lie. */
#include "tests/check.h"

#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory -------------------------------------------------------------------------------------------- */

static void test_memory(bool causal)
{
    enum { N = 4096, D = 8 };
    hk_runtime_deinit(); /* the peak begins anew */
    CHECK(hk_ok(hk_runtime_init(NULL)));
    HK_SCOPE;
    hk_array *its[3];
    for (int i = 0; i < 3; i++) {
        its[i] = hk_random_normal(hk_shape(N, D), HK_F32, hk_device_default());
        hk_attach_grad(its[i], HK_GRAD_WRITE);
    }
    hk_record_begin();
    hk_array *y = hk_scaled_dot_product_attention(
        its[0], its[1], its[2], NULL, &(hk_scaled_dot_product_attention_options){.causal = causal});
    hk_array *loss = hk_sum(hk_square(y), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward(loss)));
    CHECK(hk_ok(hk_wait_all()));
    const uint64_t scores = (uint64_t)N * N * sizeof(float);
    CHECK(hk_device_get_memory(hk_device_default()).peak_bytes < scores / 4);
    hk_runtime_deinit();
}

/* ---- ways to be run ------------------------------------------------------------------------------------ */

enum { N = 333, D = 20, RESULTS = 4, BYTES = 2 * 3 * N * D * 8 };

typedef struct outcome {
    char bytes[RESULTS][BYTES];
} outcome;

typedef struct way {
    const char *name;
    hk_runtime_options options;
    bool captures, exact, on_sim;
    bool
        heads_inside; /* inputs are (samples, positions, heads, features), seen as heads before positions */
} way;

static void step(hk_array *const *its, hk_array *mask, bool causal, hk_array *y)
{
    HK_SCOPE;
    hk_record_begin();
    hk_array *made = hk_scaled_dot_product_attention(
        its[0], its[1], its[2], mask, &(hk_scaled_dot_product_attention_options){.causal = causal});
    hk_array *loss = hk_sum(hk_multiply(made, made), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_assign(y, made);
}

static void keep(hk_array *x, char *bytes)
{
    const size_t size = (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
    CHECK(size <= BYTES && hk_ok(hk_to_host(hk_contiguous(x), bytes, size)));
}

static outcome *run(const way *by, hk_dtype dtype, bool causal, bool masks)
{
    outcome *self = calloc(1, sizeof *self);
    CHECK(self && hk_ok(hk_runtime_init(&by->options)));
    hk_seed(3);
    HK_SCOPE;
    const hk_device device = by->on_sim ? hk_device_at(1) : hk_device_default();
    hk_array *its[3], *mask = NULL;
    for (int i = 0; i < 3; i++) {
        its[i] = hk_random_normal(hk_shape(2, 3, N, D), dtype, hk_device_default());
        if (by->heads_inside)
            its[i] = hk_swapaxes(hk_contiguous(hk_swapaxes(its[i], 1, 2)), 1, 2);
        its[i] = hk_to_device(its[i], device);
        hk_attach_grad(its[i], HK_GRAD_WRITE);
    }
    if (masks) {
        hk_array *x = hk_random_normal(hk_shape(2, 1, N, N), HK_F32, hk_device_default());
        mask = hk_to_device(hk_greater(x, hk_zeros_like(x)), device);
    }
    hk_array *y = hk_zeros(hk_shape(2, 3, N, D), dtype, device);
    if (by->captures) {
        hk_capture_begin(its, 3);
        step(its, mask, causal, y);
        hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = by->exact});
        hk_replay(graph, its, 3);
        CHECK(hk_ok(hk_graph_status(graph)));
        hk_graph_release(graph);
    } else {
        step(its, mask, causal, y);
    }
    keep(y, self->bytes[0]);
    for (int i = 0; i < 3; i++)
        keep(hk_grad(its[i]), self->bytes[1 + i]);
    hk_runtime_deinit();
    return self;
}

static void test_ways(void)
{
    static const hk_sim_options sim = {.count = 1};
    const way ways[] = {
        {.name = "one core", .options = {.cpu_cores = 1}},
        {.name = "two cores", .options = {.cpu_cores = 2}},
        {.name = "nine cores", .options = {.cpu_cores = 9}},
        {.name = "serial", .options = {.cpu_cores = 2, .engine = HK_ENGINE_SERIAL}},
        {.name = "captured", .options = {.cpu_cores = 2}, .captures = true},
        {.name = "exact", .options = {.cpu_cores = 2}, .captures = true, .exact = true},
        {.name = "simulated",
         .options = {.cpu_cores = 2, .sim = &sim, .sim_count = 1},
         .on_sim = true},
        {.name = "heads inside", .options = {.cpu_cores = 2}, .heads_inside = true},
    };
    for (int kind = 0; kind < 6; kind++) {
        const hk_dtype dtype = kind % 2 ? HK_F64 : HK_F32;
        outcome *first = NULL;
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            outcome *next = run(&ways[i], dtype, kind / 2 == 1, kind / 2 == 2);
            for (int j = 0; first && j < RESULTS; j++)
                if (memcmp(first->bytes[j], next->bytes[j], BYTES) != 0) {
                    fprintf(stderr, "result %d of kind %d has other bytes: %s\n", j, kind,
                            ways[i].name);
                    CHECK(false);
                }
            if (first)
                free(next);
            else
                first = next;
        }
        free(first);
    }
}

int main(void)
{
    test_memory(false);
    test_memory(true);
    test_ways();
    return check_result();
}
