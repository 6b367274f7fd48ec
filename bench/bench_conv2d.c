/* GFLOP/s of the convolution kernels on one core, and of oneDNN beside them.

   build/release/bench/bench_conv2d [rounds] [shape name]

   All contenders of a line run in turn, `rounds` times; median (min .. max). FLOPs are
   2 N OC OH OW IC KH KW for every pass, whatever the method multiplies; time is the thread's.
   "peak" is a loop of register FMAs, run in the same rounds.
   oneDNN: "best" is its own choice of formats (format_tag::any), reorders not counted; "nchw"
   counts the reorders of data from and to NCHW, and of the weights from and to OIHW. */
#include "base/kernel_isa.h"
#include "op/conv/conv2d_kernel.h"
#include "peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_DNNL
#include <dnnl.h>
/* of libgomp, whose header needs -fopenmp for nothing */
extern void omp_set_num_threads(int count);

#define DNNL(call)                                                                                 \
    do {                                                                                           \
        if ((call) != dnnl_success) {                                                              \
            fprintf(stderr, "%s failed\n", #call);                                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#endif

enum { CONTENDERS = 4, ROUNDS_MAX = 101 };

typedef struct shape {
    const char *name;
    int64_t n, c, h, o, k, stride, pad, dilation;
} shape;

static const shape shapes[] = {
    {"conv1 3x3", 256, 1, 28, 20, 3, 1, 0, 1},
    {"conv2 5x5", 256, 20, 13, 50, 5, 1, 0, 1},
    {"res56", 32, 64, 56, 64, 3, 1, 1, 1},
    {"res8", 256, 64, 8, 64, 3, 1, 1, 1},
    {"res8 wide", 64, 256, 8, 256, 3, 1, 1, 1},
    {"1x1", 64, 128, 14, 128, 1, 1, 0, 1},
    {"stride 2", 32, 64, 56, 128, 3, 2, 1, 1},
    {"dilation 2", 32, 32, 28, 32, 3, 1, 2, 2},
    {"batch 1 56", 1, 64, 56, 64, 3, 1, 1, 1},
    {"batch 1 14", 1, 256, 14, 256, 3, 1, 1, 1},
    {"batch 1 conv2", 1, 20, 13, 50, 5, 1, 0, 1},
    {"batch 4 conv2", 4, 20, 13, 50, 5, 1, 0, 1},
    {"rgb 7x7 s2", 16, 3, 112, 64, 7, 2, 3, 1},
    /* ResNet-18's, batch 32 */
    {"r18 first", 32, 1, 28, 64, 3, 1, 1, 1},
    {"r18 64", 32, 64, 28, 64, 3, 1, 1, 1},
    {"r18 64-128", 32, 64, 28, 128, 3, 2, 1, 1},
    {"r18 1x1 128", 32, 64, 28, 128, 1, 2, 0, 1},
    {"r18 128", 32, 128, 14, 128, 3, 1, 1, 1},
    {"r18 128-256", 32, 128, 14, 256, 3, 2, 1, 1},
    {"r18 1x1 256", 32, 128, 14, 256, 1, 2, 0, 1},
    {"r18 256", 32, 256, 7, 256, 3, 1, 1, 1},
    {"r18 256-512", 32, 256, 7, 512, 3, 2, 1, 1},
    {"r18 1x1 512", 32, 256, 7, 512, 1, 2, 0, 1},
    {"r18 512", 32, 512, 4, 512, 3, 1, 1, 1},
};

static void array_fill(float *p, int64_t count)
{
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
    }
}

static float *array_make(int64_t count)
{
    float *p = aligned_alloc(64, ((size_t)count * sizeof(float) + 127) / 64 * 64);
    array_fill(p, count);
    return p;
}

/* ---- oneDNN ---- */

#ifdef HAVE_DNNL
typedef struct dnnl_run {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[3];
    dnnl_primitive_t reorder[3]; /* in, in, out; NULL if the formats agree */
    dnnl_memory_t plain[3], own[3];
} dnnl_run;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void dnnl_reorder_make(dnnl_primitive_t *out, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *a, *b;
    DNNL(dnnl_memory_get_memory_desc(from, &a));
    DNNL(dnnl_memory_get_memory_desc(to, &b));
    *out = NULL;
    if (dnnl_memory_desc_equal(a, b))
        return;
    dnnl_primitive_desc_t pd;
    DNNL(dnnl_reorder_primitive_desc_create(&pd, a, engine, b, engine, NULL));
    DNNL(dnnl_primitive_create(out, pd));
    DNNL(dnnl_primitive_desc_destroy(pd));
}

static void dnnl_reorder_run(dnnl_primitive_t reorder, dnnl_memory_t from, dnnl_memory_t to)
{
    dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    if (reorder)
        DNNL(dnnl_primitive_execute(reorder, stream, 2, args));
}

/* data: x, y-like, weight arrays in NCHW/OIHW; out is which of them the pass writes */
static void dnnl_make(dnnl_run *run, const shape *s, int pass, float *x, float *y, float *w)
{
    if (!engine) {
        DNNL(dnnl_engine_create(&engine, dnnl_cpu, 0));
        DNNL(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    }
    int64_t oh = (s->h + 2 * s->pad - s->dilation * (s->k - 1) - 1) / s->stride + 1;
    dnnl_dims_t xd = {s->n, s->c, s->h, s->h}, yd = {s->n, s->o, oh, oh};
    dnnl_dims_t wd = {s->o, s->c, s->k, s->k};
    dnnl_dims_t st = {s->stride, s->stride}, di = {s->dilation - 1, s->dilation - 1};
    dnnl_dims_t pd = {s->pad, s->pad};
    dnnl_memory_desc_t plain[3], any[3];
    int64_t *dims[3] = {xd, wd, yd};
    for (int i = 0; i < 3; i++) {
        DNNL(dnnl_memory_desc_init_by_tag(&plain[i], 4, dims[i], dnnl_f32, dnnl_abcd));
        DNNL(dnnl_memory_desc_init_by_tag(&any[i], 4, dims[i], dnnl_f32, dnnl_format_tag_any));
    }
    dnnl_convolution_desc_t fd, d;
    DNNL(dnnl_dilated_convolution_forward_desc_init(&fd, dnnl_forward_training,
                                                    dnnl_convolution_direct, &any[0], &any[1], NULL,
                                                    &any[2], st, di, pd, pd));
    dnnl_primitive_desc_t forward, p;
    DNNL(dnnl_primitive_desc_create(&forward, &fd, NULL, engine, NULL));
    p = forward;
    if (pass == 1) {
        DNNL(dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &any[0],
                                                              &any[1], &any[2], st, di, pd, pd));
        DNNL(dnnl_primitive_desc_create(&p, &d, NULL, engine, forward));
    } else if (pass == 2) {
        DNNL(dnnl_dilated_convolution_backward_weights_desc_init(
            &d, dnnl_convolution_direct, &any[0], &any[1], NULL, &any[2], st, di, pd, pd));
        DNNL(dnnl_primitive_desc_create(&p, &d, NULL, engine, forward));
    }
    DNNL(dnnl_primitive_create(&run->primitive, p));
    static const int what[3][3] = {
        {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
        {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
        {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md}};
    static const int arg[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                  {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    static const int order[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}}; /* in, in, out */
    float *data[3] = {x, w, y};
    for (int i = 0; i < 3; i++) {
        int j = order[pass][i];
        const dnnl_memory_desc_t *md =
            dnnl_primitive_desc_query_md(p, (dnnl_query_t)what[pass][j], 0);
        DNNL(dnnl_memory_create(&run->plain[i], &plain[j], engine, data[j]));
        if (dnnl_memory_desc_equal(md, &plain[j]))
            run->own[i] = run->plain[i];
        else
            DNNL(dnnl_memory_create(&run->own[i], md, engine, DNNL_MEMORY_ALLOCATE));
        if (i < 2)
            dnnl_reorder_make(&run->reorder[i], run->plain[i], run->own[i]);
        else
            dnnl_reorder_make(&run->reorder[i], run->own[i], run->plain[i]);
        run->args[i] = (dnnl_exec_arg_t){arg[pass][j], run->own[i]};
    }
}

static void dnnl_execute(dnnl_run *run, bool reorders)
{
    for (int i = 0; reorders && i < 2; i++)
        dnnl_reorder_run(run->reorder[i], run->plain[i], run->own[i]);
    DNNL(dnnl_primitive_execute(run->primitive, stream, 3, run->args));
    if (reorders)
        dnnl_reorder_run(run->reorder[2], run->own[2], run->plain[2]);
    DNNL(dnnl_stream_wait(stream));
}
#endif

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_cell(const char *name, double *values, int rounds)
{
    qsort(values, (size_t)rounds, sizeof *values, compare);
    printf("  %s %6.1f (%5.1f ..%6.1f)", name, values[rounds / 2], values[0], values[rounds - 1]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
#ifdef HAVE_DNNL
    omp_set_num_threads(1);
#endif
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    printf("isa %d, GFLOP/s: median (min .. max) of %d\n", (int)hki_kernel_isa_get(), rounds);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        if (argc > 2 && strcmp(argv[2], s->name) != 0)
            continue;
        hki_conv2d_geometry g = {.samples = s->n,
                                 .in_channels = s->c,
                                 .in_height = s->h,
                                 .in_width = s->h,
                                 .out_channels = s->o,
                                 .kernel_height = s->k,
                                 .kernel_width = s->k,
                                 .stride_height = s->stride,
                                 .stride_width = s->stride,
                                 .pad_height = s->pad,
                                 .pad_width = s->pad,
                                 .dilation_height = s->dilation,
                                 .dilation_width = s->dilation};
        g.out_height = (s->h + 2 * s->pad - s->dilation * (s->k - 1) - 1) / s->stride + 1;
        g.out_width = g.out_height;
        float *x = array_make(s->n * s->c * s->h * s->h);
        float *w = array_make(s->o * s->c * s->k * s->k);
        float *y = array_make(s->n * s->o * g.out_height * g.out_width);
        double flops =
            2.0 * (double)(s->n * s->o * g.out_height * g.out_width) * (double)(s->c * s->k * s->k);
        int repeat = 1 + (int)(2e8 / flops);
        size_t bytes[3] = {hki_conv2d_forward_scratch_bytes(&g, false),
                           hki_conv2d_backward_data_scratch_bytes(&g, false),
                           hki_conv2d_backward_weight_scratch_bytes(&g, false)};
        static const char *const names[3] = {"forward", "bwd data", "bwd weight"};
        for (int pass = 0; pass < 3; pass++) {
            static double rate[CONTENDERS][ROUNDS_MAX];
            void *scratch = aligned_alloc(64, bytes[pass]);
#ifdef HAVE_DNNL
            dnnl_run run;
            dnnl_make(&run, s, pass, x, y, w);
            dnnl_execute(&run, true);
#endif
            for (int r = -1; r < rounds; r++) {
                int slot = r < 0 ? 0 : r;
                rate[0][slot] = peak_gflops();
                double start = bench_cpu_seconds();
                for (int j = 0; j < repeat; j++) {
                    if (pass == 0)
                        hki_conv2d_forward_f32(&g, x, w, NULL, y, 0, s->n, scratch);
                    else if (pass == 1)
                        hki_conv2d_backward_data_f32(&g, y, w, x, 0, s->n, scratch);
                    else
                        hki_conv2d_backward_weight_f32(&g, x, y, w, NULL, 0, s->n, scratch);
                }
                rate[1][slot] = repeat * flops / (bench_cpu_seconds() - start) * 1e-9;
#ifdef HAVE_DNNL
                for (int c = 0; c < 2; c++) {
                    start = bench_cpu_seconds();
                    for (int j = 0; j < repeat; j++)
                        dnnl_execute(&run, c == 1);
                    rate[2 + c][slot] = repeat * flops / (bench_cpu_seconds() - start) * 1e-9;
                }
#endif
                /* undo what the pass overwrote, so that every round sees the same values */
                if (pass == 1)
                    array_fill(x, s->n * s->c * s->h * s->h);
                else if (pass == 2)
                    array_fill(w, s->o * s->c * s->k * s->k);
            }
            printf("%-14s %-10s", s->name, names[pass]);
            print_cell("peak", rate[0], rounds);
            print_cell("hocket", rate[1], rounds);
#ifdef HAVE_DNNL
            print_cell("dnnl best", rate[2], rounds);
            print_cell("dnnl nchw", rate[3], rounds);
#endif
            printf("\n");
            fflush(stdout);
            free(scratch);
        }
        free(x);
        free(w);
        free(y);
    }
    return 0;
}
