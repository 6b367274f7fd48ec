/* pool2d_kernel against a naive loop in double. */
#include "op/pool/pool2d_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static uint64_t random_state = 7;

static int64_t random_between(int64_t lo, int64_t hi)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((random_state >> 33) % (uint64_t)(hi - lo + 1));
}

static void naive(const hki_pool2d_geometry *g, const double *x, const double *dy, double *max,
                  double *max_dx, double *average, double *average_dx)
{
    for (int64_t oy = 0; oy < g->out_height; oy++)
        for (int64_t ox = 0; ox < g->out_width; ox++) {
            int64_t best = -1, count = 0, o = oy * g->out_width + ox;
            double sum = 0;
            for (int pass = 0; pass < 2; pass++) {
                for (int64_t ky = 0; ky < g->kernel_height; ky++)
                    for (int64_t kx = 0; kx < g->kernel_width; kx++) {
                        int64_t iy = oy * g->stride_height - g->pad_height + ky;
                        int64_t ix = ox * g->stride_width - g->pad_width + kx;
                        if (iy < 0 || iy >= g->in_height || ix < 0 || ix >= g->in_width)
                            continue;
                        int64_t i = iy * g->in_width + ix;
                        if (pass == 1) {
                            average_dx[i] += dy[o] / (double)count;
                            continue;
                        }
                        count++;
                        sum += x[i];
                        if (best < 0 || x[i] > x[best] || (isnan(x[i]) && !isnan(x[best])))
                            best = i;
                    }
                if (g->count_include_pad)
                    count = g->kernel_height * g->kernel_width;
            }
            max[o] = best < 0 ? -INFINITY : x[best];
            average[o] = count ? sum / (double)count : 0;
            if (best >= 0)
                max_dx[best] += dy[o];
        }
}

static void compare(const hki_pool2d_geometry *g, const char *pass, const void *got,
                    const double *want, int64_t from, int64_t to, int64_t total, bool f64)
{
    double unit = f64 ? 1e-14 : 4e-6;
    for (int64_t i = 0; i < total; i++) {
        double value = f64 ? ((const double *)got)[i] : (double)((const float *)got)[i];
        bool same = value == want[i] || (isnan(value) && isnan(want[i])) ||
                    fabs(value - want[i]) <= unit * (1 + fabs(want[i]));
        if (!strcmp(pass, "max forward") && want[i] == 0) /* the first of equal ones */
            same = same && !signbit(value) == !signbit(want[i]);
        if (i < from || i >= to)
            same = value == 12345;
        if (!same) {
            printf(
                "FAIL %s %s in %lldx%lld kernel %lldx%lld stride %lldx%lld pad %lldx%lld: element "
                "%lld is %g, not %g\n",
                pass, f64 ? "f64" : "f32", (long long)g->in_height, (long long)g->in_width,
                (long long)g->kernel_height, (long long)g->kernel_width,
                (long long)g->stride_height, (long long)g->stride_width, (long long)g->pad_height,
                (long long)g->pad_width, (long long)i, value, want[i]);
            failures++;
            return;
        }
    }
}

static void *convert(const double *from, int64_t count, bool f64)
{
    void *p = malloc((size_t)count * (f64 ? 8 : 4));
    if (!p)
        abort();
    for (int64_t i = 0; i < count; i++) {
        double value = from ? from[i] : 12345;
        if (f64)
            ((double *)p)[i] = value;
        else
            ((float *)p)[i] = (float)value;
    }
    return p;
}

static void check(hki_pool2d_geometry g, int64_t planes, int64_t begin, int64_t end, bool f64)
{
    g.out_height = (g.in_height + 2 * g.pad_height - g.kernel_height) / g.stride_height + 1;
    g.out_width = (g.in_width + 2 * g.pad_width - g.kernel_width) / g.stride_width + 1;
    int64_t in = g.in_height * g.in_width, out = g.out_height * g.out_width;
    double *x = calloc((size_t)(planes * in), 8), *dy = calloc((size_t)(planes * out), 8);
    double *max = calloc((size_t)(planes * out), 8), *max_dx = calloc((size_t)(planes * in), 8);
    double *average = calloc((size_t)(planes * out), 8);
    double *average_dx = calloc((size_t)(planes * in), 8);
    if (!x || !dy || !max || !max_dx || !average || !average_dx)
        abort();
    /* few distinct values, so that ties abound; some NaN and infinities */
    for (int64_t i = 0; i < planes * in; i++) {
        int64_t kind = random_between(0, 60);
        x[i] = kind == 0   ? (double)NAN
               : kind == 1 ? -INFINITY
               : kind < 20 ? -0.0
                           : (double)random_between(-3, 3);
    }
    for (int64_t i = 0; i < planes * out; i++)
        dy[i] = (double)random_between(-1000, 1000) / 64;
    for (int64_t p = begin; p < end; p++)
        naive(&g, x + p * in, dy + p * out, max + p * out, max_dx + p * in, average + p * out,
              average_dx + p * in);
    void *tx = convert(x, planes * in, f64), *tdy = convert(dy, planes * out, f64);
    void *ty = convert(NULL, planes * out, f64), *tdx = convert(NULL, planes * in, f64);
    void *ta = convert(NULL, planes * out, f64), *tadx = convert(NULL, planes * in, f64);
    void *scratch = aligned_alloc(64, hki_pool2d_scratch_bytes(&g, false, f64) + 64);
    void *back = aligned_alloc(64, hki_pool2d_scratch_bytes(&g, true, f64) + 64);
    if (!scratch || !back)
        abort();
    if (f64) {
        hki_pool2d_max_forward_f64(&g, tx, ty, begin, end, scratch);
        hki_pool2d_max_backward_f64(&g, tx, tdy, tdx, begin, end, back);
        hki_pool2d_average_forward_f64(&g, tx, ta, begin, end, scratch);
        hki_pool2d_average_backward_f64(&g, tdy, tadx, begin, end, back);
    } else {
        hki_pool2d_max_forward_f32(&g, tx, ty, begin, end, scratch);
        hki_pool2d_max_backward_f32(&g, tx, tdy, tdx, begin, end, back);
        hki_pool2d_average_forward_f32(&g, tx, ta, begin, end, scratch);
        hki_pool2d_average_backward_f32(&g, tdy, tadx, begin, end, back);
    }
    compare(&g, "max forward", ty, max, begin * out, end * out, planes * out, f64);
    compare(&g, "max backward", tdx, max_dx, begin * in, end * in, planes * in, f64);
    compare(&g, "average forward", ta, average, begin * out, end * out, planes * out, f64);
    compare(&g, "average backward", tadx, average_dx, begin * in, end * in, planes * in, f64);
    void *all[] = {x,   dy, max, max_dx, average, average_dx, tx,
                   tdy, ty, tdx, ta,     tadx,    scratch,    back};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(void)
{
    for (int f64 = 0; f64 < 2; f64++) {
        for (int64_t width = 2; width <= 70; width++) {
            hki_pool2d_geometry g = {.in_height = 2 + width % 5,
                                     .in_width = width,
                                     .kernel_height = 2,
                                     .kernel_width = 2,
                                     .stride_height = 2,
                                     .stride_width = 2};
            check(g, 5, 0, 5, f64);
            check(g, 5, 1, 4, f64);
        }
        for (int i = 0; i < 1000; i++) {
            hki_pool2d_geometry g = {.in_height = random_between(1, 20),
                                     .in_width = random_between(1, 40),
                                     .kernel_height = random_between(1, 4),
                                     .kernel_width = random_between(1, 4),
                                     .stride_height = random_between(1, 3),
                                     .stride_width = random_between(1, 3),
                                     .count_include_pad = i % 2};
            g.pad_height = random_between(0, g.kernel_height - 1);
            g.pad_width = random_between(0, g.kernel_width - 1);
            if (g.in_height + 2 * g.pad_height < g.kernel_height ||
                g.in_width + 2 * g.pad_width < g.kernel_width)
                continue;
            int64_t begin = random_between(0, 2);
            check(g, 4, begin, random_between(begin + 1, 4), f64);
        }
        /* more rows than go into lanes at a time, more planes than lanes, and steps that leave rows out */
        for (int i = 0; i < 60; i++) {
            hki_pool2d_geometry g = {.in_height = random_between(20, 90),
                                     .in_width = random_between(20, 90),
                                     .kernel_height = random_between(1, 7),
                                     .kernel_width = random_between(1, 7),
                                     .stride_height = random_between(1, 9),
                                     .stride_width = random_between(1, 9),
                                     .count_include_pad = i % 2};
            g.pad_height = random_between(0, g.kernel_height - 1);
            g.pad_width = random_between(0, g.kernel_width - 1);
            check(g, 19, i % 3, 19 - i % 4, f64);
        }
        hki_pool2d_geometry wide = {.in_height = 3, /* not even three rows */
                                    .in_width = 2000,
                                    .kernel_height = 3,
                                    .kernel_width = 3,
                                    .stride_height = 1,
                                    .stride_width = 1,
                                    .pad_height = 1,
                                    .pad_width = 1};
        check(wide, 3, 0, 3, f64);
    }
    if (failures)
        printf("%d failures\n", failures);
    return failures != 0;
}
