/* conv2d_block against loops in double, and against the kernels that it fuses. Most values are small integers, whose
   sums are exact in any order, so that results are compared for equality, and ties, zeros and -0 are common. */
#include "op/conv/conv2d_block.h"

#include "base/sanitizer.h"
#include "check.h"
#include "op/pool/pool2d_kernel.h"
#include "op/simd/kernel_fixture.h"

#include <math.h>

enum { LANES_MAX = 16 };

static double value_get(const void *p, int64_t i, bool f64)
{
    return f64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static void value_set(void *p, int64_t i, double value, bool f64)
{
    if (f64)
        ((double *)p)[i] = value;
    else
        ((float *)p)[i] = (float)value;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* ---- one case ---- */

typedef struct job {
    hki_conv2d_block block;
    bool f64;
    int64_t lanes, samples;
    int64_t xs, rs, ys, ws;           /* elements: x, result that windows cover, y, weights */
    int64_t rows, columns, ph, pw;    /* of that result, of a window */
    double *x, *weight, *bias, *dy;   /* [sample][...] */
    double *y, *dx, *dweight, *dbias; /* wanted */
} job;

static double *array_make(int64_t count, int64_t most, double unit)
{
    double *p = malloc((size_t)(count + 1) * sizeof *p);
    if (!p)
        abort();
    for (int64_t i = 0; i < count; i++) {
        p[i] = (double)random_between(-most, most) * unit;
        if (p[i] == 0 && random_between(0, 1))
            p[i] = -0.0;
    }
    return p;
}

static hki_conv2d_block block_make(const int64_t a[12], bool relu, hki_block_pool pool, int64_t ph,
                                   int64_t pw)
{
    hki_conv2d_geometry g = {.in_channels = a[0],
                             .in_height = a[1],
                             .in_width = a[2],
                             .out_channels = a[3],
                             .kernel_height = a[4],
                             .kernel_width = a[5],
                             .stride_height = a[6],
                             .stride_width = a[7],
                             .pad_height = a[8],
                             .pad_width = a[9],
                             .dilation_height = a[10],
                             .dilation_width = a[11]};
    g.out_height = (a[1] + 2 * a[8] - a[10] * (a[4] - 1) - 1) / a[6] + 1;
    g.out_width = (a[2] + 2 * a[9] - a[11] * (a[5] - 1) - 1) / a[7] + 1;
    return (hki_conv2d_block){g, relu, pool, ph, pw};
}

static void job_make(job *j, const hki_conv2d_block *block, bool f64, int64_t samples)
{
    const hki_conv2d_geometry *g = &block->geometry;
    bool pools = block->pool != HKI_BLOCK_POOL_NONE;
    memset(j, 0, sizeof *j);
    j->block = *block;
    j->f64 = f64;
    j->lanes = hki_conv2d_block_lanes(f64);
    j->samples = samples < j->lanes ? samples : j->lanes;
    j->ph = pools ? block->pool_height : 1;
    j->pw = pools ? block->pool_width : 1;
    j->rows = g->out_height / j->ph * j->ph;
    j->columns = g->out_width / j->pw * j->pw;
    j->xs = g->in_channels * g->in_height * g->in_width;
    j->rs = g->out_channels * j->rows * j->columns;
    j->ys = j->rs / (j->ph * j->pw);
    j->ws = g->out_channels * g->in_channels * g->kernel_height * g->kernel_width;
    j->x = array_make(j->samples * j->xs, 3, 1);
    j->weight = array_make(j->ws, 3, 1);
    j->bias = array_make(g->out_channels, 3, 1);
    j->dy = array_make(j->samples * j->ys, 3, (double)(j->ph * j->pw));
    j->y = array_make(j->samples * j->ys, 0, 0);
    j->dx = array_make(j->samples * j->xs, 0, 0);
    j->dweight = array_make(j->ws, 0, 0);
    j->dbias = array_make(g->out_channels, 0, 0);
}

static void job_drop(job *j)
{
    double *all[] = {j->x, j->weight, j->bias, j->dy, j->y, j->dx, j->dweight, j->dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* The convolution at o, row, column: forward the sum; with a gradient, spreads it instead. */
HKI_PLAIN_LOOPS static double tap_all(job *j, int64_t n, int64_t o, int64_t row, int64_t column,
                                      const double *gradient)
{
    const hki_conv2d_geometry *g = &j->block.geometry;
    double sum = 0;
    for (int64_t c = 0; c < g->in_channels; c++) {
        for (int64_t ky = 0; ky < g->kernel_height; ky++) {
            for (int64_t kx = 0; kx < g->kernel_width; kx++) {
                int64_t iy = row * g->stride_height - g->pad_height + ky * g->dilation_height;
                int64_t ix = column * g->stride_width - g->pad_width + kx * g->dilation_width;
                if (iy < 0 || iy >= g->in_height || ix < 0 || ix >= g->in_width)
                    continue;
                int64_t xi = n * j->xs + (c * g->in_height + iy) * g->in_width + ix;
                int64_t wi =
                    ((o * g->in_channels + c) * g->kernel_height + ky) * g->kernel_width + kx;
                sum += j->x[xi] * j->weight[wi];
                if (gradient) {
                    j->dx[xi] += *gradient * j->weight[wi];
                    j->dweight[wi] += *gradient * j->x[xi];
                }
            }
        }
    }
    return sum;
}

/* What is wanted of all passes. */
static void job_solve(job *j)
{
    const hki_conv2d_geometry *g = &j->block.geometry;
    double a[64];
    for (int64_t n = 0; n < j->samples; n++) {
        for (int64_t o = 0; o < g->out_channels; o++) {
            for (int64_t i = 0; i < j->rows * j->columns / (j->ph * j->pw); i++) {
                int64_t per_row = j->columns / j->pw,
                        yi = n * j->ys + o * (j->ys / g->out_channels) + i;
                int64_t row = i / per_row * j->ph, column = i % per_row * j->pw;
                int64_t best = 0, window = j->ph * j->pw;
                double sum = 0;
                for (int64_t k = 0; k < window; k++) {
                    a[k] = tap_all(j, n, o, row + k / j->pw, column + k % j->pw, NULL) + j->bias[o];
                    if (j->block.relu)
                        a[k] = a[k] < 0 ? 0 : a[k];
                    sum += a[k];
                    if (!(a[k] <= a[best]) && !isnan(a[best]))
                        best = k;
                }
                bool max = j->block.pool == HKI_BLOCK_POOL_MAX;
                j->y[yi] = max ? a[best] : sum / (double)window;
                for (int64_t k = 0; k < window; k++) {
                    double d = max ? (k == best ? j->dy[yi] : 0) : j->dy[yi] / (double)window;
                    if (j->block.relu && a[k] <= 0)
                        d = 0;
                    j->dbias[o] += d;
                    if (d != 0)
                        tap_all(j, n, o, row + k / j->pw, column + k % j->pw, &d);
                }
            }
        }
    }
}

/* [sample][elements] to lanes; the others hold what is finite, or not. */
static buffer to_lanes(const job *j, const double *from, int64_t elements, bool finite)
{
    static const double others[] = {NAN, INFINITY, -INFINITY};
    buffer b = buffer_make((size_t)(elements * j->lanes) * (j->f64 ? 8 : 4));
    for (int64_t e = 0; e < elements; e++)
        for (int64_t s = 0; s < j->lanes; s++) {
            double value = finite ? 5 : others[(e + s) % 3];
            value_set(b.data, e * j->lanes + s, s < j->samples ? from[s * elements + e] : value,
                      j->f64);
        }
    return b;
}

static buffer plain(const job *j, const double *from, int64_t elements)
{
    buffer b = buffer_make((size_t)elements * (j->f64 ? 8 : 4));
    for (int64_t e = 0; e < elements; e++)
        value_set(b.data, e, from[e], j->f64);
    return b;
}

static void compare(const char *label, const char *what, const void *got, const double *want,
                    int64_t samples, int64_t elements, int64_t lanes, bool f64)
{
    for (int64_t s = 0; s < samples; s++) {
        for (int64_t e = 0; e < elements; e++) {
            double value = value_get(got, e * lanes + s, f64), wanted = want[s * elements + e];
            if (!f64)
                wanted = (double)(float)wanted;
            if (!same(value, wanted)) {
                fprintf(stderr, "%s %s %s: sample %lld element %lld is %g, wanted %g\n", label,
                        what, f64 ? "f64" : "f32", (long long)s, (long long)e, value, wanted);
                CHECK(false);
                return;
            }
        }
    }
    check_count++;
}

static buffer packed_make(const job *j, bool forward, const void *weight)
{
    size_t bytes = hki_conv2d_block_packed_bytes(&j->block, j->f64);
    buffer first = buffer_make(bytes), moved = buffer_make(bytes);
    if (forward)
        hki_conv2d_block_pack_forward(&j->block, j->f64, weight, first.data);
    else
        hki_conv2d_block_pack_backward(&j->block, j->f64, weight, first.data);
    memcpy(moved.data, first.data, bytes); /* it has no addresses in it */
    memset(first.data, 0xff, bytes);
    buffer_drop(&first);
    return moved;
}

/* All passes of one block; `finite` says what the lanes hold that are not in use. */
static void check_job(const char *label, job *j, bool finite)
{
    const hki_conv2d_block *b = &j->block;
    const hki_conv2d_geometry *g = &b->geometry;
    bool f64 = j->f64;
    size_t size = f64 ? 8 : 4;
    CHECK(hki_conv2d_block_supports(b, f64));
    CHECK_EQ_I64(hki_conv2d_block_out_height(b), j->rows / j->ph);
    CHECK_EQ_I64(hki_conv2d_block_out_width(b), j->columns / j->pw);
    size_t mask_bytes = hki_conv2d_block_mask_bytes(b, f64);
    CHECK((mask_bytes > 0) == (b->relu || b->pool == HKI_BLOCK_POOL_MAX));
    size_t scratch_bytes = hki_conv2d_block_forward_scratch_bytes(b, f64);
    CHECK((mask_bytes | scratch_bytes | hki_conv2d_block_packed_bytes(b, f64)) % 64 == 0);

    buffer x = to_lanes(j, j->x, j->xs, finite), dy = to_lanes(j, j->dy, j->ys, finite);
    buffer weight = plain(j, j->weight, j->ws), bias = plain(j, j->bias, g->out_channels);
    buffer y = buffer_make((size_t)(j->ys * j->lanes) * size), y2 = buffer_make(y.bytes);
    buffer mask = buffer_make(mask_bytes), forward = packed_make(j, true, weight.data);
    buffer scratch = buffer_make(scratch_bytes);
    hki_conv2d_block_forward(b, f64, x.data, forward.data, bias.data, y.data, mask.data,
                             scratch.data);
    memset(scratch.data, 0xff, scratch.bytes);
    hki_conv2d_block_forward(b, f64, x.data, forward.data, bias.data, y2.data, NULL, scratch.data);
    compare(label, "y", y.data, j->y, j->samples, j->ys, j->lanes, f64);
    compare(label, "y without a mask", y2.data, j->y, j->samples, j->ys, j->lanes, f64);
    buffer_drop(&scratch);

    /* everything, then each alone: the same bytes */
    buffer backward = packed_make(j, false, weight.data);
    buffer dx = buffer_make((size_t)(j->xs * j->lanes) * size), dx2 = buffer_make(dx.bytes);
    buffer dw[2], db[2];
    for (int i = 0; i < 2; i++) {
        /* they are added to */
        dw[i] = buffer_make((size_t)j->ws * size);
        db[i] = buffer_make((size_t)g->out_channels * size);
        for (int64_t e = 0; e < j->ws; e++)
            value_set(dw[i].data, e, 2, f64);
        for (int64_t e = 0; e < g->out_channels; e++)
            value_set(db[i].data, e, 3, f64);
    }
    scratch = buffer_make(hki_conv2d_block_backward_scratch_bytes(b, f64));
    void *m = mask_bytes ? mask.data : NULL;
#define BACKWARD(packed, dx, dweight, dbias)                                                       \
    memset(scratch.data, 0xff, scratch.bytes);                                                     \
    hki_conv2d_block_backward(b, f64, x.data, dy.data, m, packed, j->samples, dx, dweight, dbias,  \
                              scratch.data)
    BACKWARD(backward.data, dx.data, dw[0].data, db[0].data);
    BACKWARD(backward.data, dx2.data, NULL, NULL);
    BACKWARD(NULL, NULL, dw[1].data, NULL);
    BACKWARD(NULL, NULL, NULL, db[1].data);
    BACKWARD(NULL, NULL, NULL, NULL);
#undef BACKWARD
    buffer_drop(&scratch);
    for (int64_t e = 0; e < j->ws; e++)
        j->dweight[e] += 2;
    for (int64_t e = 0; e < g->out_channels; e++)
        j->dbias[e] += 3;
    compare(label, "dx", dx.data, j->dx, j->samples, j->xs, j->lanes, f64);
    compare(label, "dx alone", dx2.data, j->dx, j->samples, j->xs, j->lanes, f64);
    for (int i = 0; i < 2; i++) {
        compare(label, i ? "dweight alone" : "dweight", dw[i].data, j->dweight, 1, j->ws, 1, f64);
        compare(label, i ? "dbias alone" : "dbias", db[i].data, j->dbias, 1, g->out_channels, 1,
                f64);
    }
    buffer *all[] = {&x,        &dy, &weight, &bias,  &y,     &y2,    &mask, &forward,
                     &backward, &dx, &dx2,    &dw[0], &dw[1], &db[0], &db[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

static void check_block(const char *label, const hki_conv2d_block *block, bool f64, int64_t samples)
{
    job j;
    job_make(&j, block, f64, samples);
    job_solve(&j);
    check_job(label, &j, samples % 2 == 0);
    job_drop(&j);
}

/* NaN in x: passes relu, is the first greatest of its window, and takes the gradient. */
static void check_nan(bool f64, hki_block_pool pool)
{
    const int64_t a[12] = {1, 9, 8, 5, 1, 1, 1, 1, 0, 0, 1, 1};
    hki_conv2d_block block = block_make(a, true, pool, 3, 2);
    job j;
    job_make(&j, &block, f64, LANES_MAX);
    for (int64_t i = 0; i < j.samples * j.xs; i++)
        if (random_between(0, 3) == 0)
            j.x[i] = NAN;
    for (int64_t i = 0; i < j.ws; i++)
        j.weight[i] = 1;
    job_solve(&j);
    check_job("NaN", &j, true);
    job_drop(&j);
}

/* ---- against the kernels that are fused here, on values that are rounded ---- */

static buffer reals(int64_t count, bool f64)
{
    buffer b = buffer_make((size_t)count * (f64 ? 8 : 4));
    for (int64_t i = 0; i < count; i++)
        value_set(b.data, i, random_get(), f64);
    return b;
}

static void apart(const hki_conv2d_block *block, bool f64, int64_t samples, const void *x,
                  const void *weight, const void *bias, void *y)
{
    hki_conv2d_geometry g = block->geometry;
    g.samples = samples;
    int64_t planes = samples * g.out_channels, count = planes * g.out_height * g.out_width;
    buffer scratch = buffer_make(hki_conv2d_forward_scratch_bytes(&g, f64));
    buffer a = buffer_make((size_t)count * (f64 ? 8 : 4));
    if (f64)
        hki_conv2d_forward_f64(&g, x, weight, bias, (double *)a.data, 0, samples, scratch.data);
    else
        hki_conv2d_forward_f32(&g, x, weight, bias, (float *)a.data, 0, samples, scratch.data);
    for (int64_t i = 0; block->relu && i < count; i++) {
        double v = value_get(a.data, i, f64);
        value_set(a.data, i, v < 0 ? 0 : v, f64);
    }
    hki_pool2d_geometry p = {.in_height = g.out_height,
                             .in_width = g.out_width,
                             .out_height = hki_conv2d_block_out_height(block),
                             .out_width = hki_conv2d_block_out_width(block),
                             .kernel_height = block->pool_height,
                             .kernel_width = block->pool_width,
                             .stride_height = block->pool_height,
                             .stride_width = block->pool_width};
    bool average = block->pool == HKI_BLOCK_POOL_AVERAGE;
    buffer pool_scratch = buffer_make(hki_pool2d_scratch_bytes(&p, false, f64));
    if (block->pool == HKI_BLOCK_POOL_NONE)
        memcpy(y, a.data, a.bytes);
    else if (f64 && average)
        hki_pool2d_average_forward_f64(&p, (double *)a.data, y, 0, planes, pool_scratch.data);
    else if (f64)
        hki_pool2d_max_forward_f64(&p, (double *)a.data, y, 0, planes, pool_scratch.data);
    else if (average)
        hki_pool2d_average_forward_f32(&p, (float *)a.data, y, 0, planes, pool_scratch.data);
    else
        hki_pool2d_max_forward_f32(&p, (float *)a.data, y, 0, planes, pool_scratch.data);
    buffer_drop(&a), buffer_drop(&scratch), buffer_drop(&pool_scratch);
}

/* Averages whose sum is no number, beside some whose sum is one. */
static void check_large(int64_t pool_height, int64_t pool_width, bool f64)
{
    const int64_t a[12] = {1, 6, 12, 1, 1, 1, 1, 1, 0, 0, 1, 1};
    hki_conv2d_block block = block_make(a, true, HKI_BLOCK_POOL_AVERAGE, pool_height, pool_width);
    const int64_t lanes = hki_conv2d_block_lanes(f64), xs = 6 * 12;
    const int64_t ys = hki_conv2d_block_out_height(&block) * hki_conv2d_block_out_width(&block);
    const size_t size = f64 ? 8 : 4;
    buffer x = reals(lanes * xs, f64), weight = reals(1, f64), bias = reals(1, f64);
    buffer want = buffer_make((size_t)(lanes * ys) * size), got = buffer_make(want.bytes);
    buffer xl = buffer_make(x.bytes), yl = buffer_make(want.bytes);
    buffer packed = buffer_make(hki_conv2d_block_packed_bytes(&block, f64));
    buffer scratch = buffer_make(hki_conv2d_block_forward_scratch_bytes(&block, f64));
    for (int64_t i = 0; i < lanes * xs; i++)
        if (i / xs % 3 && i % 12 >= 6)
            value_set(x.data, i, (i % 5 ? 0.9 : -0.9) * (f64 ? 1.7e308 : 3.4e38), f64);
    value_set(weight.data, 0, 1, f64);
    apart(&block, f64, lanes, x.data, weight.data, bias.data, want.data);
    hki_conv2d_block_pack_forward(&block, f64, weight.data, packed.data);
    hki_block_gather(f64, x.data, lanes, xs, xl.data);
    hki_conv2d_block_forward(&block, f64, xl.data, packed.data, bias.data, yl.data, NULL,
                             scratch.data);
    hki_block_scatter(f64, yl.data, lanes, ys, got.data);
    CHECK(memcmp(got.data, want.data, got.bytes) == 0);
    for (int64_t i = 0; i < lanes * ys; i++)
        CHECK(isfinite(value_get(got.data, i, f64)));
    buffer *all[] = {&x, &weight, &bias, &want, &got, &xl, &yl, &packed, &scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* Forward gives the bytes of the kernels apart, in whatever lane a sample is. */
static void check_apart(const char *label, const hki_conv2d_block *block, bool f64)
{
    const hki_conv2d_geometry *g = &block->geometry;
    int64_t lanes = hki_conv2d_block_lanes(f64), samples = 2 * LANES_MAX;
    int64_t xs = g->in_channels * g->in_height * g->in_width;
    int64_t ys =
        g->out_channels * hki_conv2d_block_out_height(block) * hki_conv2d_block_out_width(block);
    size_t size = f64 ? 8 : 4;
    buffer x = reals(samples * xs, f64);
    buffer weight =
        reals(g->out_channels * g->in_channels * g->kernel_height * g->kernel_width, f64);
    buffer bias = reals(g->out_channels, f64);
    buffer want = buffer_make((size_t)(samples * ys) * size);
    buffer got = buffer_make((size_t)(lanes * ys) * size);
    buffer xl = buffer_make((size_t)(xs * lanes) * size),
           yl = buffer_make((size_t)(ys * lanes) * size);
    buffer packed = buffer_make(hki_conv2d_block_packed_bytes(block, f64));
    buffer scratch = buffer_make(hki_conv2d_block_forward_scratch_bytes(block, f64));
    apart(block, f64, samples, x.data, weight.data, bias.data, want.data);
    hki_conv2d_block_pack_forward(block, f64, weight.data, packed.data);
    static const int64_t first[] = {0, 1, 5, 16};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        hki_block_gather(f64, x.data + (size_t)(first[i] * xs) * size, lanes, xs, xl.data);
        hki_conv2d_block_forward(block, f64, xl.data, packed.data, bias.data, yl.data, NULL,
                                 scratch.data);
        hki_block_scatter(f64, yl.data, lanes, ys, got.data);
        bool equal = memcmp(got.data, want.data + (size_t)(first[i] * ys) * size, got.bytes) == 0;
        if (!equal)
            fprintf(stderr, "%s %s: other bytes than apart\n", label, f64 ? "f64" : "f32");
        CHECK(equal);
    }
    buffer *all[] = {&x, &weight, &bias, &want, &got, &xl, &yl, &packed, &scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buffer_drop(all[i]);
}

/* ---- samples to lanes and back ---- */

static void check_lanes(bool f64)
{
    int64_t lanes = hki_conv2d_block_lanes(f64);
    size_t size = f64 ? 8 : 4;
    for (int64_t elements = 1; elements < 3 * lanes; elements++) {
        for (int64_t count = 1; count <= lanes; count++) {
            buffer rows = reals(count * elements, f64), back = buffer_make(rows.bytes);
            buffer in = buffer_make((size_t)(elements * lanes) * size);
            hki_block_gather(f64, rows.data, count, elements, in.data);
            bool right = true;
            for (int64_t e = 0; e < elements; e++)
                for (int64_t s = 0; s < lanes; s++)
                    right =
                        right && value_get(in.data, e * lanes + s, f64) ==
                                     (s < count ? value_get(rows.data, s * elements + e, f64) : 0);
            CHECK(right);
            hki_block_scatter(f64, in.data, count, elements, back.data);
            CHECK(memcmp(rows.data, back.data, rows.bytes) == 0);
            buffer_drop(&rows), buffer_drop(&back), buffer_drop(&in);
        }
    }
}

static void check_refusals(void)
{
    const int64_t a[12] = {2, 5, 5, 3, 3, 3, 1, 1, 0, 0, 1, 1};
    hki_conv2d_block block = block_make(a, true, HKI_BLOCK_POOL_MAX, 2, 2);
    CHECK(hki_conv2d_block_supports(&block, false));
    block.pool_width = 4; /* wider than the result */
    CHECK(!hki_conv2d_block_supports(&block, false));
    block.pool = HKI_BLOCK_POOL_NONE; /* then windows do not matter */
    CHECK(hki_conv2d_block_supports(&block, false));
    block.geometry.in_channels = (int64_t)1 << 28;
    CHECK(!hki_conv2d_block_supports(&block, false));
    block.geometry.in_channels = (int64_t)1 << 62;
    CHECK(!hki_conv2d_block_supports(&block, true));
}

/* ---- the cases ---- */

#define NONE HKI_BLOCK_POOL_NONE
#define AVG  HKI_BLOCK_POOL_AVERAGE
#define MAX  HKI_BLOCK_POOL_MAX

static const struct {
    const char *label;
    int64_t a[12]; /* c h w o, kernel, stride, padding, dilation */
    bool relu;
    hki_block_pool pool;
    int64_t ph, pw;
} cases[] = {
    {"lenet 1", {1, 28, 28, 20, 3, 3, 1, 1, 0, 0, 1, 1}, true, AVG, 2, 2},
    {"lenet 2", {20, 13, 13, 50, 5, 5, 1, 1, 0, 0, 1, 1}, true, AVG, 2, 2},
    {"lenet 2 max", {20, 13, 13, 50, 5, 5, 1, 1, 0, 0, 1, 1}, true, MAX, 2, 2},
    {"dense relu", {800, 1, 1, 128, 1, 1, 1, 1, 0, 0, 1, 1}, true, NONE, 0, 0},
    {"dense", {128, 1, 1, 10, 1, 1, 1, 1, 0, 0, 1, 1}, false, NONE, 0, 0},
    {"one of all", {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1}, false, NONE, 1, 1},
    {"residual", {8, 14, 14, 16, 3, 3, 1, 1, 1, 1, 1, 1}, true, NONE, 2, 2},
    {"bands", {24, 40, 40, 9, 3, 3, 1, 1, 0, 0, 1, 1}, true, MAX, 3, 3},
    {"padded bands", {24, 40, 40, 9, 3, 3, 1, 1, 1, 1, 1, 1}, true, AVG, 2, 4},
    {"strided bands", {24, 60, 41, 7, 5, 3, 2, 2, 2, 1, 1, 1}, true, AVG, 2, 2},
    {"bands of dx", {3, 30, 30, 64, 3, 3, 1, 1, 1, 1, 1, 1}, false, AVG, 2, 2},
    {"bands of dx, stride 3", {3, 50, 50, 80, 4, 4, 3, 3, 0, 0, 1, 1}, true, MAX, 2, 3},
    {"stride over kernel", {2, 11, 11, 3, 2, 2, 4, 4, 0, 0, 1, 1}, true, NONE, 0, 0},
    {"1x1 stride 2", {5, 9, 8, 4, 1, 1, 2, 2, 0, 0, 1, 1}, true, MAX, 2, 2},
    {"wide padding", {3, 5, 5, 4, 2, 2, 1, 1, 3, 3, 1, 1}, true, MAX, 2, 2},
    {"kernel is the image", {7, 5, 4, 11, 5, 4, 1, 1, 0, 0, 1, 1}, true, NONE, 1, 1},
    {"window is the result", {3, 8, 8, 6, 3, 3, 1, 1, 0, 0, 1, 1}, true, AVG, 6, 6},
    {"dilation", {4, 15, 13, 5, 3, 2, 1, 1, 0, 0, 2, 3}, true, MAX, 1, 2},
    {"lenet-5 3", {16, 5, 5, 120, 5, 5, 1, 1, 0, 0, 1, 1}, true, NONE, 0, 0},
    {"one pixel, padded", {3, 1, 1, 4, 3, 3, 1, 1, 1, 1, 1, 1}, true, NONE, 0, 0},
};

static void check_random(int i)
{
    hki_conv2d_block b;
    do {
        const int64_t a[12] = {random_between(1, 7),  random_between(1, 17), random_between(1, 17),
                               random_between(1, 13), random_between(1, 5),  random_between(1, 5),
                               random_between(1, 3),  random_between(1, 3),  random_between(0, 3),
                               random_between(0, 3),  random_between(1, 2),  random_between(1, 2)};
        b = block_make(a, i % 5 != 0, (hki_block_pool)(i % 3), random_between(1, 3),
                       random_between(1, 4));
    } while (b.geometry.in_height + 2 * b.geometry.pad_height <
                 b.geometry.dilation_height * (b.geometry.kernel_height - 1) + 1 ||
             b.geometry.in_width + 2 * b.geometry.pad_width <
                 b.geometry.dilation_width * (b.geometry.kernel_width - 1) + 1 ||
             b.geometry.out_height < b.pool_height || b.geometry.out_width < b.pool_width);
    const hki_conv2d_geometry *g = &b.geometry;
    char label[400];
    snprintf(
        label, sizeof label,
        "random %d: c%lld h%lld w%lld o%lld k%lldx%lld s%lldx%lld p%lldx%lld d%lldx%lld relu%d "
        "pool%d %lldx%lld",
        i, (long long)g->in_channels, (long long)g->in_height, (long long)g->in_width,
        (long long)g->out_channels, (long long)g->kernel_height, (long long)g->kernel_width,
        (long long)g->stride_height, (long long)g->stride_width, (long long)g->pad_height,
        (long long)g->pad_width, (long long)g->dilation_height, (long long)g->dilation_width,
        b.relu, (int)b.pool, (long long)b.pool_height, (long long)b.pool_width);
    check_block(label, &b, i % 2, random_between(1, LANES_MAX));
    check_apart(label, &b, i % 2);
}

static int check_isa(void)
{
    for (int f64 = 0; f64 < 2; f64++) {
        check_lanes(f64);
        check_large(2, 2, f64);
        check_large(3, 2, f64);
        check_large(3, 3, f64);
        /* Sanitizers take so long that each of two neighbours is checked with one type. */
        const size_t step = HKI_SANITIZED ? 2 : 1;
        for (size_t i = (size_t)f64 % step; i < sizeof cases / sizeof *cases; i += step) {
            hki_conv2d_block b =
                block_make(cases[i].a, cases[i].relu, cases[i].pool, cases[i].ph, cases[i].pw);
            int64_t samples =
                i / step % 2 ? hki_conv2d_block_lanes(f64) : random_between(1, LANES_MAX);
            check_block(cases[i].label, &b, f64, samples);
            check_apart(cases[i].label, &b, f64);
        }
        for (int64_t samples = 1; samples <= LANES_MAX; samples++) {
            const int64_t a[12] = {3, 7, 6, 5, 3, 3, 1, 1, 1, 0, 1, 1};
            hki_conv2d_block b = block_make(a, true, HKI_BLOCK_POOL_MAX, 2, 2);
            check_block("samples", &b, f64, samples);
        }
        for (int pool = 0; pool < 3; pool++)
            check_nan(f64, (hki_block_pool)pool);
    }
    for (int i = 0; i < (HKI_SANITIZED ? 60 : 240); i++)
        check_random(i);
    check_refusals();
    return check_result();
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, check_isa);
}
