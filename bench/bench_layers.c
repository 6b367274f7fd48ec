/* Milliseconds of layers on one core, forward and backward: convolutions in groups, norms, losses. bench/layers_pytorch.py is
   the same in PyTorch.

   build/release/bench/bench_layers [rounds]

   All rows run in turn, `rounds` times; median (min .. max). Backward is the pass without the forward one. Time is the
   process's: others on its core do not count, but for what they leave of the caches. */
#include "bench_util.h"

#include <hocket/hocket.h>

#include <stdio.h>

enum { ROUNDS_MAX = 101 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

typedef struct row {
    const char *name;
    hk_array *(*run)(const struct row *self, hk_array *const *in);
    hk_dims in[3]; /* ndim 0: no such input */
    int64_t stride, groups;
} row;

static hk_array *convolve(const row *self, hk_array *const *in)
{
    const int64_t pad = self->in[1].dims[2] / 2;
    return hk_conv2d(in[0], in[1], NULL,
                     &(hk_conv2d_options){.stride = {self->stride, self->stride},
                                          .padding = {pad, pad},
                                          .groups = self->groups});
}

static hk_array *layer_norm(const row *self, hk_array *const *in)
{
    (void)self;
    return hk_layer_norm(in[0], in[1], in[2], NULL);
}

static hk_array *composed_norm(const row *self, hk_array *const *in)
{
    const hk_mean_options over = {.axes = hk_shape(-1), .keepdims = true};
    hk_array *x = hk_subtract(in[0], hk_mean(in[0], &over));
    hk_array *scale = hk_rsqrt(hk_add(hk_mean(hk_square(x), &over), 1e-5));
    (void)self;
    return hk_add(hk_multiply(hk_multiply(x, scale), in[1]), in[2]);
}

static hk_array *group_norm(const row *self, hk_array *const *in)
{
    return hk_group_norm(in[0], in[1], in[2], &(hk_group_norm_options){.groups = self->groups});
}

static hk_array *cross_entropy(const row *self, hk_array *const *in)
{
    HK_PAUSE;
    hk_array *labels = hk_argmax(in[0], 1);
    (void)self;
    hk_record_begin();
    hk_array *loss = hk_cross_entropy_loss(
        in[0], labels, NULL, &(hk_cross_entropy_loss_options){.label_smoothing = 0.1});
    hk_record_end();
    return loss;
}

#define SHAPE(...)                                                                                 \
    {                                                                                              \
        .ndim = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }  \
    }
static const row rows[] = {
    {"depthwise 3x3, 64 of 56x56", convolve, {SHAPE(32, 64, 56, 56), SHAPE(64, 1, 3, 3)}, 1, 64},
    {"depthwise 3x3, 128 of 28x28",
     convolve,
     {SHAPE(32, 128, 28, 28), SHAPE(128, 1, 3, 3)},
     1,
     128},
    {"depthwise 3x3, 512 of 7x7", convolve, {SHAPE(32, 512, 7, 7), SHAPE(512, 1, 3, 3)}, 1, 512},
    {"depthwise 3x3 s2, 128 of 56x56",
     convolve,
     {SHAPE(32, 128, 56, 56), SHAPE(128, 1, 3, 3)},
     2,
     128},
    {"depthwise 5x5, 128 of 28x28",
     convolve,
     {SHAPE(32, 128, 28, 28), SHAPE(128, 1, 5, 5)},
     1,
     128},
    {"32 groups 3x3, 128 of 28x28", convolve, {SHAPE(16, 128, 28, 28), SHAPE(128, 4, 3, 3)}, 1, 32},
    {"2 groups 3x3, 128 of 28x28", convolve, {SHAPE(16, 128, 28, 28), SHAPE(128, 64, 3, 3)}, 1, 2},
    {"layer norm 4096x768", layer_norm, {SHAPE(4096, 768), SHAPE(768), SHAPE(768)}, 0, 0},
    {"the same, of other operators",
     composed_norm,
     {SHAPE(4096, 768), SHAPE(768), SHAPE(768)},
     0,
     0},
    {"group norm 8, 64 of 56x56", group_norm, {SHAPE(32, 64, 56, 56), SHAPE(64), SHAPE(64)}, 0, 8},
    {"cross entropy 4096x1000", cross_entropy, {SHAPE(4096, 1000)}, 0, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void run(const row *self, double *forward, double *backward)
{
    HK_SCOPE;
    hk_array *in[3] = {NULL};
    for (int i = 0; i < 3 && self->in[i].ndim > 0; i++) {
        in[i] = hk_random_normal(self->in[i], HK_F32, hk_device_default());
        hk_attach_grad(in[i], HK_GRAD_WRITE);
    }
    hk_wait_all();
    const double begin = seconds();
    hk_record_begin();
    hk_array *y = self->run(self, in);
    hk_record_end();
    hk_wait_all();
    const double between = seconds();
    hk_backward(y);
    hk_wait_all();
    *forward = between - begin;
    *backward = seconds() - between;
}

static void print(double *values, int count)
{
    const bench_spread spread = bench_spread_of(values, count);
    printf(" %8.2f (%7.2f .. %7.2f)", 1e3 * spread.median, 1e3 * spread.min, 1e3 * spread.max);
}

int main(int argc, char **argv)
{
    static double forward[ROWS][ROUNDS_MAX], backward[ROWS][ROUNDS_MAX];
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1});
    for (int i = 0; i < rounds; i++)
        for (int j = 0; j < ROWS; j++)
            run(&rows[j], &forward[j][i], &backward[j][i]);
    printf("%-32s %30s %30s\n", "ms", "forward", "backward");
    for (int i = 0; i < ROWS; i++) {
        printf("%-32s", rows[i].name);
        print(forward[i], rounds);
        print(backward[i], rounds);
        printf("\n");
    }
    hk_runtime_deinit();
    return 0;
}
