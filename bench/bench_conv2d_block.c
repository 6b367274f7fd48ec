/* LeNet's layers on one core, in blocks of samples that lie in lanes, beside the kernels apart: convolution, relu and
   pooling one after the other on NCHW arrays.

   build/release/bench/bench_conv2d_block [rounds] [layer, or step]

   GFLOP/s, median (min .. max) over the rounds, in which all contenders take turns; the clock is that of the thread.
   FLOPs are those that are needed: of results that no window covers, none. "peak" is a loop of multiply-adds on
   registers. A pass of one layer works on one block again and again, which stays in the cache; "step" takes new
   samples through all layers and back, weights packed once for all of them. */
#include "bench_util.h"
#include "op/conv/conv2d_block.h"
#include "op/matmul/gemm_kernel.h"
#include "op/pool/pool2d_kernel.h"
#include "peak.h"

#include <stdio.h>
#include <string.h>

enum {
    LAYERS = 4,
    ROUNDS_MAX = 101,
    APART_SAMPLES = 64,
    STEP_SAMPLES = 128,
    ROWS = LAYERS * 4 + 2
};

typedef struct layer {
    const char *name;
    hki_conv2d_block block;
    double flops;           /* forward, a sample */
    int64_t xs, as, ys, ws; /* elements of a sample: x, conv's result, y; weights */
    float *weight, *bias, *dweight, *dbias;
    float *x, *y, *dy, *dx; /* of one block, y being the next layer's x */
    void *mask, *forward, *backward, *scratch;
    float *plain_x, *a, *r, *plain_y, *plain_dy, *da, *dr, *plain_dx; /* of samples apart */
    void *plain_scratch;
} layer;

static void *memory(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!p)
        exit(1);
    memset(p, 0, (bytes + 64) / 64 * 64);
    return p;
}

static float *values(int64_t count)
{
    static uint32_t state = 1;
    float *p = memory((size_t)count * sizeof *p);
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
    }
    return p;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void layer_make(layer *l, const char *name, int64_t c, int64_t h, int64_t o, int64_t k,
                       bool relu, hki_block_pool pool)
{
    int64_t lanes = hki_conv2d_block_lanes(false), out = h - k + 1;
    hki_conv2d_geometry g = {.samples = APART_SAMPLES,
                             .in_channels = c,
                             .in_height = h,
                             .in_width = h,
                             .out_channels = o,
                             .out_height = out,
                             .out_width = out,
                             .kernel_height = k,
                             .kernel_width = k,
                             .stride_height = 1,
                             .stride_width = 1,
                             .dilation_height = 1,
                             .dilation_width = 1};
    hki_conv2d_block b = {g, relu, pool, 2, 2};
    int64_t rows = hki_conv2d_block_out_height(&b);
    int64_t covered = pool == HKI_BLOCK_POOL_NONE ? rows : 2 * rows;
    *l = (layer){
        .name = name, .block = b, .xs = c * h * h, .as = o * out * out, .ys = o * rows * rows};
    l->ws = o * c * k * k;
    l->flops = 2.0 * (double)(l->ws * covered * covered);
    l->weight = values(l->ws), l->bias = values(o);
    l->dweight = values(l->ws), l->dbias = values(o);
    l->x = values(l->xs * lanes), l->dx = values(l->xs * lanes);
    l->y = values(l->ys * lanes), l->dy = values(l->ys * lanes);
    l->mask = memory(hki_conv2d_block_mask_bytes(&b, false));
    l->forward = memory(hki_conv2d_block_packed_bytes(&b, false));
    l->backward = memory(hki_conv2d_block_packed_bytes(&b, false));
    l->scratch = memory(max_size(hki_conv2d_block_forward_scratch_bytes(&b, false),
                                 hki_conv2d_block_backward_scratch_bytes(&b, false)));
    hki_conv2d_block_pack_forward(&b, false, l->weight, l->forward);
    hki_conv2d_block_pack_backward(&b, false, l->weight, l->backward);
    int64_t n = APART_SAMPLES;
    l->plain_x = values(n * l->xs), l->plain_dx = values(n * l->xs);
    l->a = values(n * l->as), l->r = values(n * l->as);
    l->da = values(n * l->as), l->dr = values(n * l->as);
    l->plain_y = values(n * l->ys), l->plain_dy = values(n * l->ys);
    l->plain_scratch =
        memory(max_size(hki_conv2d_forward_scratch_bytes(&g, false),
                        max_size(hki_conv2d_backward_data_scratch_bytes(&g, false),
                                 hki_conv2d_backward_weight_scratch_bytes(&g, false))));
}

static void forward(layer *l)
{
    hki_conv2d_block_forward(&l->block, false, l->x, l->forward, l->bias, l->y, l->mask,
                             l->scratch);
}

static void backward(layer *l, bool data, bool weight)
{
    hki_conv2d_block_backward(&l->block, false, l->x, l->dy, l->mask, data ? l->backward : NULL,
                              hki_conv2d_block_lanes(false), data ? l->dx : NULL,
                              weight ? l->dweight : NULL, weight ? l->dbias : NULL, l->scratch);
}

static hki_pool2d_geometry pool_geometry(const layer *l)
{
    const hki_conv2d_geometry *g = &l->block.geometry;
    return (hki_pool2d_geometry){
        g->out_height, g->out_width, g->out_height / 2, g->out_width / 2, 2, 2, 2, 2, 0, 0, false};
}

static bool dense(const layer *l)
{
    return l->block.geometry.in_height == 1;
}

static void relu(float *restrict y, const float *restrict x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

static void relu_grad(float *restrict dx, const float *restrict dy, const float *restrict y,
                      int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const float d = dy[i];
        dx[i] = y[i] <= 0 ? 0 : d;
    }
}

static void apart_forward(layer *l)
{
    const hki_conv2d_geometry *g = &l->block.geometry;
    int64_t n = APART_SAMPLES;
    if (dense(l)) {
        for (int64_t i = 0; i < n; i++)
            memcpy(l->a + i * l->as, l->bias, (size_t)l->as * sizeof(float));
        hki_gemm_f32(false, true, n, l->as, l->xs, 1, l->plain_x, l->xs, l->weight, l->xs, 1, l->a,
                     l->as);
    } else {
        hki_conv2d_forward_f32(g, l->plain_x, l->weight, l->bias, l->a, 0, n, l->plain_scratch);
    }
    if (l->block.relu)
        relu(l->r, l->a, n * l->as);
    hki_pool2d_geometry p = pool_geometry(l);
    if (l->block.pool == HKI_BLOCK_POOL_AVERAGE)
        hki_pool2d_average_forward_f32(&p, l->r, l->plain_y, 0, n * g->out_channels,
                                       NULL); /* 2 x 2 windows need no scratch */
}

static void apart_backward(layer *l, bool data)
{
    const hki_conv2d_geometry *g = &l->block.geometry;
    int64_t n = APART_SAMPLES;
    hki_pool2d_geometry p = pool_geometry(l);
    float *dr = l->plain_dy, *da = dr;
    if (l->block.pool == HKI_BLOCK_POOL_AVERAGE) {
        dr = da = l->dr;
        hki_pool2d_average_backward_f32(&p, l->plain_dy, dr, 0, n * g->out_channels, NULL);
    }
    if (l->block.relu)
        relu_grad(l->da, dr, l->r, n * l->as);
    da = l->block.relu ? l->da : dr;
    if (dense(l)) {
        hki_gemm_f32(true, false, l->as, l->xs, n, 1, da, l->as, l->plain_x, l->xs, 0, l->dweight,
                     l->xs);
        if (data)
            hki_gemm_f32(false, false, n, l->xs, l->as, 1, da, l->as, l->weight, l->xs, 0,
                         l->plain_dx, l->xs);
        return;
    }
    hki_conv2d_backward_weight_f32(g, l->plain_x, da, l->dweight, l->dbias, 0, n, l->plain_scratch);
    if (data)
        hki_conv2d_backward_data_f32(g, da, l->weight, l->plain_dx, 0, n, l->plain_scratch);
}

/* All layers forward and back, as a program would. */
static void step(layer *layers, const float *samples)
{
    int64_t lanes = hki_conv2d_block_lanes(false);
    for (int i = 0; i < LAYERS; i++) {
        layer *l = &layers[i];
        hki_conv2d_block_pack_forward(&l->block, false, l->weight, l->forward);
        if (i > 0)
            hki_conv2d_block_pack_backward(&l->block, false, l->weight, l->backward);
    }
    for (int64_t n = 0; n < STEP_SAMPLES; n += lanes) {
        hki_block_gather(false, samples + n * layers[0].xs, lanes, layers[0].xs, layers[0].x);
        for (int i = 0; i < LAYERS; i++)
            forward(&layers[i]);
        for (int i = LAYERS - 1; i >= 0; i--)
            backward(&layers[i], i > 0, true);
    }
}

static void apart_step(layer *layers)
{
    for (int64_t n = 0; n < STEP_SAMPLES; n += APART_SAMPLES) {
        for (int i = 0; i < LAYERS; i++)
            apart_forward(&layers[i]);
        for (int i = LAYERS - 1; i >= 0; i--)
            apart_backward(&layers[i], i > 0);
    }
}

static void row_print(const char *name, const char *pass, double *rate, double *peak, int rounds)
{
    static double copy[ROUNDS_MAX];
    bench_spread own = bench_spread_of(rate, rounds);
    memcpy(copy, peak, (size_t)rounds * sizeof *copy);
    bench_spread top = bench_spread_of(copy, rounds);
    printf("%-7s %-22s %6.1f (%5.1f .. %5.1f)  %3.0f %% of the peak's median\n", name, pass,
           own.median, own.min, own.max, 100 * own.median / top.median);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 21, repeat = 4;
    const char *only = argc > 2 ? argv[2] : "";
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    static layer layers[LAYERS];
    layer_make(&layers[0], "conv1", 1, 28, 20, 3, true, HKI_BLOCK_POOL_AVERAGE);
    layer_make(&layers[1], "conv2", 20, 13, 50, 5, true, HKI_BLOCK_POOL_AVERAGE);
    layer_make(&layers[2], "dense1", 800, 1, 128, 1, true, HKI_BLOCK_POOL_NONE);
    layer_make(&layers[3], "dense2", 128, 1, 10, 1, false, HKI_BLOCK_POOL_NONE);
    for (int i = 1; i < LAYERS; i++) {
        layers[i - 1].y = layers[i].x;
        layers[i - 1].dy = layers[i].dx;
        layers[i - 1].plain_y = layers[i].plain_x;
        layers[i - 1].plain_dy = layers[i].plain_dx;
    }
    float *samples = values(STEP_SAMPLES * layers[0].xs);
    int64_t lanes = hki_conv2d_block_lanes(false);
    static double rate[LAYERS][6][ROUNDS_MAX], whole[2][ROUNDS_MAX], peak[ROUNDS_MAX];
    double step_flops = 0;
    for (int i = 0; i < LAYERS; i++)
        step_flops += (double)STEP_SAMPLES * layers[i].flops * (i > 0 ? 3 : 2);
    for (int r = -1; r < rounds; r++) {
        int slot = r < 0 ? 0 : r;
        peak[slot] = peak_gflops();
        for (int i = 0; i < LAYERS; i++) {
            layer *l = &layers[i];
            if (*only && strcmp(only, l->name) != 0)
                continue;
            bool data = i > 0;
            int blocks = repeat * (1 + (int)(4e6 / l->flops));
            for (int what = 0; what < 6; what++) {
                double passes = what == 1 || what == 5 ? 1 + data : 1, count = blocks;
                double start = bench_cpu_seconds();
                for (int b = 0; b < blocks && what < 4; b++) {
                    if (what == 0)
                        forward(l);
                    else if (what == 1 || data)
                        backward(l, what == 3 || (what == 1 && data), what < 3);
                }
                for (int b = 0; what >= 4 && b < 1 + blocks * lanes / APART_SAMPLES; b++) {
                    if (what == 4)
                        apart_forward(l);
                    else
                        apart_backward(l, data);
                    count = (double)(b + 1) * APART_SAMPLES / (double)lanes;
                }
                rate[i][what][slot] = passes * count * l->flops * (double)lanes /
                                      (bench_cpu_seconds() - start) * 1e-9;
            }
        }
        if (*only && strcmp(only, "step") != 0)
            continue;
        double start = bench_cpu_seconds();
        step(layers, samples);
        whole[0][slot] = step_flops / (bench_cpu_seconds() - start) * 1e-9;
        start = bench_cpu_seconds();
        apart_step(layers);
        whole[1][slot] = step_flops / (bench_cpu_seconds() - start) * 1e-9;
    }
    printf("isa %d, GFLOP/s: median (min .. max) of %d\n", (int)hki_kernel_isa_get(), rounds);
    row_print("", "peak", peak, peak, rounds);
    static const char *const names[] = {"forward",  "backward",       "backward, no dx",
                                        "dx alone", "forward, apart", "backward, apart"};
    for (int i = 0; i < LAYERS; i++)
        for (int what = 0; what < 6; what++)
            if ((!*only || strcmp(only, layers[i].name) == 0) &&
                (i > 0 || (what != 2 && what != 3)))
                row_print(layers[i].name, names[what], rate[i][what], peak, rounds);
    if (*only && strcmp(only, "step") != 0)
        return 0;
    row_print("all", "step", whole[0], peak, rounds);
    row_print("all", "step, apart", whole[1], peak, rounds);
    return 0;
}
