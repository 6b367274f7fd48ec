/* conv2d_kernel against a naive loop in double, and the promises of its header. */
#include "op/conv/conv2d_kernel.h"

#include "base/sanitizer.h"
#include "op/conv/conv2d_columns.h"
#include "op/conv/conv2d_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static uint64_t random_state = 1;

static double random_get(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 40) / (double)(1 << 24) - 0.5;
}

static hki_conv2d_geometry geometry_make(int64_t n, int64_t c, int64_t h, int64_t w, int64_t o,
                                         int64_t kh, int64_t kw, int64_t sh, int64_t sw, int64_t ph,
                                         int64_t pw, int64_t dh, int64_t dw)
{
    hki_conv2d_geometry g = {.samples = n,
                             .in_channels = c,
                             .in_height = h,
                             .in_width = w,
                             .out_channels = o,
                             .kernel_height = kh,
                             .kernel_width = kw,
                             .stride_height = sh,
                             .stride_width = sw,
                             .pad_height = ph,
                             .pad_width = pw,
                             .dilation_height = dh,
                             .dilation_width = dw};
    g.out_height = (h + 2 * ph - dh * (kh - 1) - 1) / sh + 1;
    g.out_width = (w + 2 * pw - dw * (kw - 1) - 1) / sw + 1;
    return g;
}

/* All three passes in double over samples [begin, end); scale_* are the sums of absolute products.
 */
typedef struct naive {
    double *y, *dx, *dweight, *dbias;
    double *scale_y, *scale_dx, *scale_dweight, *scale_dbias;
} naive;

HKI_PLAIN_LOOPS static void naive_compute(const hki_conv2d_geometry *g, const double *x,
                                          const double *weight, const double *bias,
                                          const double *dy, int64_t begin, int64_t end, naive *out)
{
    for (int64_t n = begin; n < end; n++)
        for (int64_t o = 0; o < g->out_channels; o++)
            for (int64_t oy = 0; oy < g->out_height; oy++)
                for (int64_t ox = 0; ox < g->out_width; ox++) {
                    int64_t yi =
                        ((n * g->out_channels + o) * g->out_height + oy) * g->out_width + ox;
                    double sum = bias[o];
                    out->dbias[o] += dy[yi];
                    out->scale_dbias[o] += fabs(dy[yi]);
                    for (int64_t c = 0; c < g->in_channels; c++)
                        for (int64_t ky = 0; ky < g->kernel_height; ky++)
                            for (int64_t kx = 0; kx < g->kernel_width; kx++) {
                                int64_t iy =
                                    oy * g->stride_height - g->pad_height + ky * g->dilation_height;
                                int64_t ix =
                                    ox * g->stride_width - g->pad_width + kx * g->dilation_width;
                                if (iy < 0 || iy >= g->in_height || ix < 0 || ix >= g->in_width)
                                    continue;
                                int64_t xi =
                                    ((n * g->in_channels + c) * g->in_height + iy) * g->in_width +
                                    ix;
                                int64_t wi = ((o * g->in_channels + c) * g->kernel_height + ky) *
                                                 g->kernel_width +
                                             kx;
                                sum += x[xi] * weight[wi];
                                out->scale_y[yi] += fabs(x[xi] * weight[wi]);
                                out->dx[xi] += dy[yi] * weight[wi];
                                out->scale_dx[xi] += fabs(dy[yi] * weight[wi]);
                                out->dweight[wi] += dy[yi] * x[xi];
                                out->scale_dweight[wi] += fabs(dy[yi] * x[xi]);
                            }
                    out->y[yi] = sum;
                }
}

static void *allocate(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        abort();
    memset(p, 0xff, (bytes + 127) / 64 * 64); /* NaN everywhere */
    return p;
}

static double *random_array(int64_t count)
{
    double *p = allocate((size_t)count * sizeof(double));
    for (int64_t i = 0; i < count; i++)
        p[i] = (double)(float)random_get();
    return p;
}

static double *zero_array(int64_t count)
{
    double *p = allocate((size_t)count * sizeof(double));
    memset(p, 0, (size_t)count * sizeof(double));
    return p;
}

static void *convert(const double *from, int64_t count, bool f64)
{
    /* exactly so long, for the address sanitizer to see what is read past the end */
    void *p = malloc((size_t)count * (f64 ? 8 : 4));
    if (!p)
        abort();
    for (int64_t i = 0; i < count; i++) {
        if (f64)
            ((double *)p)[i] = from[i];
        else
            ((float *)p)[i] = (float)from[i];
    }
    return p;
}

static void compare(const char *label, const char *pass, const void *got, const double *want,
                    const double *scale, int64_t from, int64_t to, bool f64)
{
    double unit = f64 ? 1e-15 : 5e-7, worst = 0;
    int64_t where = -1;
    for (int64_t i = from; i < to; i++) {
        double value = f64 ? ((const double *)got)[i] : (double)((const float *)got)[i];
        double error = fabs(value - want[i]) / (unit * (4 * scale[i] + 4));
        if (!(error <= worst)) {
            worst = error;
            where = i;
        }
    }
    if (!(worst <= 8)) {
        printf("FAIL %s %s %s: element %lld is wrong by %g units\n", label, pass,
               f64 ? "f64" : "f32", (long long)where, worst);
        failures++;
    }
}

/* Untouched output elements must still be 0xff. */
static void untouched(const char *label, const char *pass, const void *got, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (((const unsigned char *)got)[i] != 0xff) {
            printf("FAIL %s %s: wrote outside of its range, byte %zu\n", label, pass, i);
            failures++;
            return;
        }
    }
}

static int64_t ws_count(const hki_conv2d_geometry *g)
{
    return g->out_channels * g->in_channels * g->kernel_height * g->kernel_width;
}

/* Samples [begin, end) of random arrays, and what comes of them: the same for each method and dtype. */
typedef struct example {
    const char *label;
    hki_conv2d_geometry geometry;
    int64_t begin, end;
    double *x, *w, *b, *dy;
    naive want;
} example;

static example example_make(const char *label, const hki_conv2d_geometry *g, int64_t begin,
                            int64_t end)
{
    int64_t xn = g->samples * g->in_channels * g->in_height * g->in_width;
    int64_t yn = g->samples * g->out_channels * g->out_height * g->out_width;
    int64_t ws = g->out_channels * g->in_channels * g->kernel_height * g->kernel_width;
    int64_t bs = g->out_channels;
    example e = {.label = label, .geometry = *g, .begin = begin, .end = end};
    e.x = random_array(xn);
    e.w = random_array(ws);
    e.b = random_array(bs);
    e.dy = random_array(yn);
    e.want = (naive){zero_array(yn), zero_array(xn), zero_array(ws), zero_array(bs),
                     zero_array(yn), zero_array(xn), zero_array(ws), zero_array(bs)};
    naive_compute(g, e.x, e.w, e.b, e.dy, begin, end, &e.want);
    return e;
}

static void example_drop(example *e)
{
    double *all[] = {e->x,
                     e->w,
                     e->b,
                     e->dy,
                     e->want.y,
                     e->want.dx,
                     e->want.dweight,
                     e->want.dbias,
                     e->want.scale_y,
                     e->want.scale_dx,
                     e->want.scale_dweight,
                     e->want.scale_dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Part after part, the last first, with the others' channels not there yet: the bytes of the whole at the end. */
static void check_parts(const example *e, hki_conv2d_geometry g, bool f64, const void *const in[4],
                        const void *y, const void *dx)
{
    const int64_t yn = g.samples * g.out_channels * g.out_height * g.out_width;
    const int64_t xn = g.samples * g.in_channels * g.in_height * g.in_width;
    const size_t size = f64 ? 8 : 4;
    for (g.parts = 2; g.parts <= 3; g.parts++) {
        void *y2 = allocate((size_t)yn * size), *dx2 = allocate((size_t)xn * size);
        size_t most[2] = {0};
        for (g.part_begin = 0; g.part_begin < g.parts; g.part_begin++) {
            g.part_end = g.part_begin + 1;
            const size_t bytes[2] = {hki_conv2d_forward_scratch_bytes(&g, f64),
                                     hki_conv2d_backward_data_scratch_bytes(&g, f64)};
            for (int i = 0; i < 2; i++)
                most[i] = bytes[i] > most[i] ? bytes[i] : most[i];
        }
        void *forward = allocate(most[0]), *data = allocate(most[1]);
        for (g.part_begin = g.parts - 1; g.part_begin >= 0; g.part_begin--) {
            g.part_end = g.part_begin + 1;
            if (f64) {
                hki_conv2d_forward_f64(&g, in[0], in[1], in[2], y2, e->begin, e->end, forward);
                hki_conv2d_backward_data_f64(&g, in[3], in[1], dx2, e->begin, e->end, data);
            } else {
                hki_conv2d_forward_f32(&g, in[0], in[1], in[2], y2, e->begin, e->end, forward);
                hki_conv2d_backward_data_f32(&g, in[3], in[1], dx2, e->begin, e->end, data);
            }
        }
        free(forward);
        free(data);
        if (memcmp(y, y2, (size_t)yn * size) != 0 || memcmp(dx, dx2, (size_t)xn * size) != 0) {
            printf("FAIL %s: %lld parts of channels changed the values\n", e->label,
                   (long long)g.parts);
            failures++;
        }
        free(y2);
        free(dx2);
    }
}

/* What the rule takes: the products of a tile along an axis, 0 where all is multiplied out; few samples have tiles in the lanes. */
static void check_rules(void)
{
    static const struct {
        int64_t samples, channels, side, outputs, kernel, n;
    } cases[] = {
        {32, 96, 26, 256, 5, 6}, {32, 64, 24, 64, 3, 6}, {32, 256, 6, 256, 3, 4},
        {32, 512, 3, 512, 3, 0}, {1, 96, 26, 256, 5, 6}, {1, 64, 56, 64, 3, 6},
        {1, 512, 3, 512, 3, 0},  {32, 8, 24, 64, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t k = cases[i].kernel, pad = k / 2;
        const hki_conv2d_geometry g =
            geometry_make(cases[i].samples, cases[i].channels, cases[i].side, cases[i].side,
                          cases[i].outputs, k, k, 1, 1, pad, pad, 1, 1);
        hki_conv2d_plan plan;
        hki_conv2d_plan_init(&plan, &g, HKI_CONV2D_FORWARD, hki_conv2d_shape_get(false));
        const int64_t n = plan.winograd ? plan.tile_n : 0;
        if (n != cases[i].n || plan.tiles_in_lanes != (n > 0 && g.samples == 1)) {
            printf("FAIL rules, case %zu: tiles of %lld, in the lanes %d\n", i, (long long)n,
                   plan.tiles_in_lanes);
            failures++;
        }
    }
}

/* Winograd's method has no memory for channels of other parts. */
static void check_part_scratch(void)
{
    hki_conv2d_geometry g = geometry_make(16, 192, 8, 8, 192, 3, 3, 1, 1, 1, 1, 1, 1);
    g.method = HKI_CONV2D_WINOGRAD;
    const size_t all = hki_conv2d_forward_scratch_bytes(&g, false);
    g.parts = 2;
    g.part_end = 1;
    const size_t part = hki_conv2d_forward_scratch_bytes(&g, false);
    if (part >= all - all / 5) {
        printf("FAIL half of the channels: scratch of %zu bytes, and %zu for all\n", part, all);
        failures++;
    }
}

/* Sums of a few small images' tiles: not those of all weights at once, which are four times as large. */
static void check_sums_scratch(void)
{
    hki_conv2d_geometry g = geometry_make(16, 128, 4, 4, 128, 3, 3, 1, 1, 1, 1, 1, 1);
    g.method = HKI_CONV2D_WINOGRAD;
    const size_t weights = (size_t)(128 * 128 * 9) * sizeof(float);
    const size_t bytes = hki_conv2d_backward_weight_scratch_bytes(&g, false);
    if (bytes > weights * 3) {
        printf("FAIL sums of few tiles: scratch of %zu bytes, for weights of %zu\n", bytes,
               weights);
        failures++;
    }
}

static void check(const example *e, hki_conv2d_method method, bool f64)
{
    const char *label = e->label;
    const int64_t begin = e->begin, end = e->end;
    hki_conv2d_geometry g = e->geometry;
    g.method = method;
    int64_t xs = g.in_channels * g.in_height * g.in_width;
    int64_t ys = g.out_channels * g.out_height * g.out_width;
    int64_t ws = g.out_channels * g.in_channels * g.kernel_height * g.kernel_width;
    int64_t xn = g.samples * xs, yn = g.samples * ys;
    size_t size = f64 ? 8 : 4;
    const naive want = e->want;
    void *tx = convert(e->x, xn, f64), *tw = convert(e->w, ws, f64),
         *tb = convert(e->b, g.out_channels, f64);
    void *tdy = convert(e->dy, yn, f64);
    size_t bytes[3] = {hki_conv2d_forward_scratch_bytes(&g, f64),
                       hki_conv2d_backward_data_scratch_bytes(&g, f64),
                       hki_conv2d_backward_weight_scratch_bytes(&g, f64)};
    void *ty = allocate((size_t)yn * size), *tdx = allocate((size_t)xn * size);
    void *tdw = allocate((size_t)ws * size), *tdb = allocate((size_t)g.out_channels * size);
    void *ty2 = allocate((size_t)yn * size), *tdx2 = allocate((size_t)xn * size);
    int64_t middle = begin + (end - begin) / 3;
    for (int pass = 0; pass < 3; pass++) {
        void *s = allocate(bytes[pass]);
        if (pass == 0 && f64) {
            hki_conv2d_forward_f64(&g, tx, tw, tb, ty, begin, end, s);
            hki_conv2d_forward_f64(&g, tx, tw, tb, ty2, begin, middle, s);
            hki_conv2d_forward_f64(&g, tx, tw, tb, ty2, middle, end, s);
        } else if (pass == 0) {
            hki_conv2d_forward_f32(&g, tx, tw, tb, ty, begin, end, s);
            hki_conv2d_forward_f32(&g, tx, tw, tb, ty2, begin, middle, s);
            hki_conv2d_forward_f32(&g, tx, tw, tb, ty2, middle, end, s);
        } else if (pass == 1 && f64) {
            hki_conv2d_backward_data_f64(&g, tdy, tw, tdx, begin, end, s);
            hki_conv2d_backward_data_f64(&g, tdy, tw, tdx2, begin, middle, s);
            hki_conv2d_backward_data_f64(&g, tdy, tw, tdx2, middle, end, s);
        } else if (pass == 1) {
            hki_conv2d_backward_data_f32(&g, tdy, tw, tdx, begin, end, s);
            hki_conv2d_backward_data_f32(&g, tdy, tw, tdx2, begin, middle, s);
            hki_conv2d_backward_data_f32(&g, tdy, tw, tdx2, middle, end, s);
        } else if (f64) {
            hki_conv2d_backward_weight_f64(&g, tx, tdy, tdw, tdb, begin, end, s);
        } else {
            hki_conv2d_backward_weight_f32(&g, tx, tdy, tdw, tdb, begin, end, s);
        }
        untouched(label, "scratch", s, bytes[pass], bytes[pass] + 64);
        free(s);
    }
    compare(label, "forward", ty, want.y, want.scale_y, begin * ys, end * ys, f64);
    compare(label, "backward_data", tdx, want.dx, want.scale_dx, begin * xs, end * xs, f64);
    compare(label, "backward_weight", tdw, want.dweight, want.scale_dweight, 0, ws, f64);
    compare(label, "backward_bias", tdb, want.dbias, want.scale_dbias, 0, g.out_channels, f64);
    untouched(label, "forward", ty, 0, (size_t)(begin * ys) * size);
    untouched(label, "forward", ty, (size_t)(end * ys) * size, (size_t)yn * size);
    untouched(label, "backward_data", tdx, 0, (size_t)(begin * xs) * size);
    untouched(label, "backward_data", tdx, (size_t)(end * xs) * size, (size_t)xn * size);
    if (memcmp(ty, ty2, (size_t)yn * size) != 0 || memcmp(tdx, tdx2, (size_t)xn * size) != 0) {
        printf("FAIL %s: the cut of the batch changed the values\n", label);
        failures++;
    }
    check_parts(e, g, f64, (const void *const[]){tx, tw, tb, tdy}, ty, tdx);
    void *all[] = {tx, tw, tb, tdy, ty, tdx, tdw, tdb, ty2, tdx2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Units of conv2d_columns.h, at once and one by one. */
static void check_columns(const example *e, bool f64)
{
    hki_conv2d_geometry g = e->geometry;
    g.method = HKI_CONV2D_COLUMNS;
    const int64_t units = hki_conv2d_columns_units(&g), parts = units / g.samples;
    const int64_t ys = g.out_channels * g.out_height * g.out_width, yn = g.samples * ys;
    const size_t size = f64 ? 8 : 4, all = hki_conv2d_columns_scratch_bytes(&g, f64, units),
                 one = hki_conv2d_columns_scratch_bytes(&g, f64, 1);
    void *x = convert(e->x, g.samples * g.in_channels * g.in_height * g.in_width, f64);
    void *w = convert(e->w, ws_count(&g), f64), *b = convert(e->b, g.out_channels, f64);
    void *y = allocate((size_t)yn * size), *y2 = allocate((size_t)yn * size);
    void *scratch = allocate(all), *less = allocate(one);
    if (!hki_conv2d_columns_fit(&g, f64)) {
        printf("FAIL %s columns: does not fit\n", e->label);
        failures++;
    }
    hki_conv2d_columns(&g, f64, x, w, b, y, e->begin * parts, e->end * parts, scratch);
    for (int64_t u = e->begin * parts; u < e->end * parts; u++)
        hki_conv2d_columns(&g, f64, x, w, b, y2, u, u + 1, less);
    untouched(e->label, "columns, scratch", scratch, all, all + 64);
    untouched(e->label, "columns, less scratch", less, one, one + 64);
    compare(e->label, "columns", y, e->want.y, e->want.scale_y, e->begin * ys, e->end * ys, f64);
    untouched(e->label, "columns", y, 0, (size_t)(e->begin * ys) * size);
    untouched(e->label, "columns", y, (size_t)(e->end * ys) * size, (size_t)yn * size);
    if (memcmp(y, y2, (size_t)yn * size) != 0) {
        printf("FAIL %s columns: the cut into units changed the values\n", e->label);
        failures++;
    }
    void *const arrays[] = {x, w, b, y, y2, scratch, less};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Each is on a side of what decides how columns are cut and copied. */
static void check_columns_alone(void)
{
    static const struct {
        const char *label;
        int64_t a[13];
    } cases[] = {
        {"units of pixels", {1, 5, 30, 31, 70, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"units of pixels, in place", {2, 3, 25, 26, 7, 3, 3, 1, 1, 0, 0, 1, 1}},
        {"units of pixels, stride", {1, 3, 49, 60, 6, 5, 4, 2, 3, 2, 1, 1, 1}},
        {"units of channels", {1, 9, 12, 12, 150, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"more terms than at a time", {1, 130, 7, 6, 66, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"rows that are spread", {1, 256, 9, 9, 13, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"one element", {3, 33, 24, 24, 40, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"one element, stride", {1, 17, 13, 12, 65, 1, 1, 2, 3, 0, 0, 1, 1}},
        {"one element, padding", {1, 8, 5, 6, 9, 1, 1, 1, 1, 1, 2, 1, 1}},
        {"one column", {1, 4, 40, 3, 5, 3, 3, 1, 1, 0, 0, 1, 1}},
        {"window of padding", {2, 3, 2, 2, 4, 3, 3, 4, 4, 7, 6, 1, 1}},
        {"dilation over stride", {1, 6, 23, 22, 10, 3, 3, 2, 3, 4, 5, 2, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t *a = cases[i].a;
        const hki_conv2d_geometry g = geometry_make(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                                                    a[8], a[9], a[10], a[11], a[12]);
        example e = example_make(cases[i].label, &g, 0, g.samples);
        check_columns(&e, false);
        check_columns(&e, true);
        example_drop(&e);
    }
}

static int64_t random_between(int64_t lo, int64_t hi)
{
    return lo + (int64_t)((random_get() + 0.5) * (double)(hi - lo + 1));
}

int main(void)
{
    static const struct {
        const char *label;
        int64_t a[13];
    } cases[] = {
        {"first", {17, 1, 28, 28, 20, 3, 3, 1, 1, 0, 0, 1, 1}},
        {"second", {16, 20, 13, 13, 50, 5, 5, 1, 1, 0, 0, 1, 1}},
        {"residual", {16, 16, 14, 14, 16, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"wide bands", {16, 24, 40, 40, 9, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"chunks", {16, 40, 6, 90, 7, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"targets in parts", {19, 3, 20, 20, 200, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"sources and targets in parts", {3, 60, 9, 30, 230, 5, 5, 1, 1, 2, 2, 1, 1}},
        {"deep chunks", {3, 300, 8, 8, 6, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"1x1", {20, 33, 7, 7, 12, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"stride 2", {18, 6, 15, 14, 8, 3, 3, 2, 2, 1, 1, 1, 1}},
        {"1x1 stride 2", {16, 5, 9, 8, 4, 1, 1, 2, 2, 0, 0, 1, 1}},
        {"dilation 2", {19, 4, 13, 12, 5, 3, 3, 1, 1, 2, 2, 2, 2}},
        {"stride 3 dilation 2", {32, 3, 17, 16, 5, 3, 4, 3, 2, 2, 1, 2, 3}},
        {"batch 1", {1, 8, 30, 31, 6, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"batch 1 stride 2", {1, 5, 30, 31, 6, 3, 3, 2, 2, 1, 1, 1, 1}},
        {"batch 3 5x5", {3, 5, 12, 9, 7, 5, 5, 1, 1, 2, 2, 1, 1}},
        {"wide padding", {16, 3, 5, 5, 4, 2, 2, 1, 1, 3, 3, 1, 1}},
        {"kernel is the image", {33, 7, 5, 4, 11, 5, 4, 1, 1, 0, 0, 1, 1}},
        {"one pixel", {16, 9, 1, 1, 13, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"tiles", {33, 32, 14, 14, 40, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"odd tiles", {35, 33, 9, 7, 32, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"tiles without padding", {32, 32, 8, 12, 32, 3, 3, 1, 1, 0, 0, 1, 1}},
        {"tiles, wide padding", {34, 40, 5, 6, 48, 3, 3, 1, 1, 3, 2, 1, 1}},
        {"tiles in the padding", {32, 32, 3, 4, 32, 3, 3, 1, 1, 7, 6, 1, 1}},
        {"bands of tiles", {32, 64, 6, 36, 32, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"few tiles", {32, 96, 4, 4, 64, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"tiles of 5x5", {33, 32, 13, 10, 48, 5, 5, 1, 1, 2, 2, 1, 1}},
        {"odd tiles of 5x5", {17, 35, 9, 7, 32, 5, 5, 1, 1, 0, 1, 1, 1}},
        {"tiles of 5x5 in the padding", {16, 32, 3, 4, 32, 5, 5, 1, 1, 8, 7, 1, 1}},
        {"bands of tiles of 5x5", {16, 64, 9, 36, 32, 5, 5, 1, 1, 2, 2, 1, 1}},
        {"chunks of tiles", {16, 304, 4, 4, 256, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"tiles in the lanes", {1, 32, 22, 17, 48, 5, 5, 1, 1, 2, 2, 1, 1}},
        {"tiles of some samples in the lanes", {5, 40, 13, 14, 32, 3, 3, 1, 1, 1, 1, 1, 1}},
        {"groups of tiles in the lanes", {3, 240, 41, 30, 32, 3, 3, 1, 1, 0, 2, 1, 1}},
        {"few tiles in the lanes", {2, 16, 3, 2, 24, 3, 3, 1, 1, 2, 1, 1, 1}},
        {"pixels of one sample", {3, 40, 13, 12, 64, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"pixels of some samples", {35, 48, 6, 6, 64, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"pixels of many samples", {37, 64, 3, 3, 33, 1, 1, 1, 1, 0, 0, 1, 1}},
        {"pixels of some samples, stride", {35, 64, 9, 11, 48, 1, 1, 2, 3, 0, 0, 1, 1}},
        {"pixels of one sample, stride", {3, 33, 25, 27, 64, 1, 1, 2, 2, 0, 0, 1, 1}},
        {"stride over kernel", {16, 2, 11, 11, 3, 2, 2, 4, 4, 0, 0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t *a = cases[i].a;
        hki_conv2d_geometry g = geometry_make(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8],
                                              a[9], a[10], a[11], a[12]);
        example whole = example_make(cases[i].label, &g, 0, g.samples);
        for (int f64 = 0; f64 < 2; f64++) {
            if (HKI_SANITIZED && i % 2 == (size_t)f64)
                continue; /* they take long: of two neighbours each is checked with one type */
            for (int method = HKI_CONV2D_BY_RULE; method < HKI_CONV2D_COLUMNS; method++)
                check(&whole, (hki_conv2d_method)method, f64);
        }
        example_drop(&whole);
        if (g.samples <= 2)
            continue;
        example middle = example_make(cases[i].label, &g, 1, g.samples - 1);
        for (int f64 = 0; f64 < 2; f64++)
            check(&middle, HKI_CONV2D_BY_RULE, f64);
        example_drop(&middle);
    }
    for (int i = 0; i < (HKI_SANITIZED ? 15 : 150); i++) {
        hki_conv2d_geometry g;
        do {
            g = geometry_make(random_between(1, 40), random_between(1, 7), random_between(1, 17),
                              random_between(1, 17), random_between(1, 13), random_between(1, 5),
                              random_between(1, 5), random_between(1, 3), random_between(1, 3),
                              random_between(0, 3), random_between(0, 3), random_between(1, 2),
                              random_between(1, 2));
        } while (g.in_height + 2 * g.pad_height < g.dilation_height * (g.kernel_height - 1) + 1 ||
                 g.in_width + 2 * g.pad_width < g.dilation_width * (g.kernel_width - 1) + 1);
        char label[300];
        snprintf(label, sizeof label,
                 "random %d: n%lld c%lld h%lld w%lld o%lld k%lldx%lld s%lldx%lld p%lldx%lld "
                 "d%lldx%lld",
                 i, (long long)g.samples, (long long)g.in_channels, (long long)g.in_height,
                 (long long)g.in_width, (long long)g.out_channels, (long long)g.kernel_height,
                 (long long)g.kernel_width, (long long)g.stride_height, (long long)g.stride_width,
                 (long long)g.pad_height, (long long)g.pad_width, (long long)g.dilation_height,
                 (long long)g.dilation_width);
        int64_t begin = random_between(0, g.samples - 1);
        example e = example_make(label, &g, begin, random_between(begin + 1, g.samples));
        check(&e, (hki_conv2d_method)(i / 2 % HKI_CONV2D_COLUMNS), i % 2);
        check_columns(&e, i % 2);
        example_drop(&e);
    }
    check_columns_alone();
    check_part_scratch();
    check_sums_scratch();
    check_rules();
    if (failures)
        printf("%d failures\n", failures);
    return failures != 0;
}
