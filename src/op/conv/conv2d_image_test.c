/* conv2d_image against loops in double: random shapes, all methods and instruction sets. Errors are measured in units
   of epsilon |x| |w|, |x| the largest element and |w| the largest sum of an output channel's weights, without signs: what
   a sum of that many products may lose by rounding once. */
#include "op/conv/conv2d_image.h"

#include "base/sanitizer.h"
#include "check.h"
#include "op/simd/kernel_fixture.h"

#include <float.h>
#include <math.h>

static buffer floats_make(int64_t count)
{
    return buffer_make((size_t)count * sizeof(float));
}

static float *floats(const buffer *b)
{
    return (float *)(void *)b->data;
}

/* ---- one case ---- */

typedef struct job {
    hki_conv2d_image image;
    int64_t samples, xs, ys, ws; /* elements of a sample of x and y, in rows; of the weights */
    bool has_bias;
    const float *x, *w, *bias; /* x in rows */
} job;

/* relu(convolution) of one element. */
HKI_PLAIN_LOOPS static double element(const job *j, int64_t n, int64_t o, int64_t r, int64_t c)
{
    const hki_conv2d_geometry *g = &j->image.block.geometry;
    double sum = j->has_bias ? (double)j->bias[o] : 0;
    for (int64_t i = 0; i < g->in_channels; i++)
        for (int64_t y = 0; y < g->kernel_height; y++)
            for (int64_t x = 0; x < g->kernel_width; x++) {
                int64_t row = r * g->stride_height + y * g->dilation_height - g->pad_height;
                int64_t column = c * g->stride_width + x * g->dilation_width - g->pad_width;
                if (row < 0 || row >= g->in_height || column < 0 || column >= g->in_width)
                    continue;
                sum +=
                    (double)j->x[n * j->xs + (i * g->in_height + row) * g->in_width + column] *
                    (double)
                        j->w[((o * g->in_channels + i) * g->kernel_height + y) * g->kernel_width +
                             x];
            }
    return j->image.block.relu && sum < 0 ? 0 : sum;
}

static double largest_of(const job *j)
{
    double x = 0, w = 0, row = 0;
    for (int64_t i = 0; i < j->samples * j->xs; i++)
        x = fmax(x, fabs((double)j->x[i]));
    int64_t terms = j->ws / j->image.block.geometry.out_channels;
    for (int64_t i = 0; i < j->ws; i++) {
        row = (i % terms ? row : 0) + fabs((double)j->w[i]);
        w = fmax(w, row);
    }
    return x * w;
}

/* The largest error of y, in rows, in the unit told above. */
HKI_PLAIN_LOOPS static double worst_of(const job *j, const float *y)
{
    const hki_conv2d_block *b = &j->image.block;
    int64_t height = hki_conv2d_block_out_height(b), width = hki_conv2d_block_out_width(b);
    int64_t ph = b->pool ? b->pool_height : 1, pw = b->pool ? b->pool_width : 1;
    double worst = 0, unit = FLT_EPSILON * (largest_of(j) + 0.5);
    for (int64_t i = 0; i < j->samples * j->ys; i++) {
        int64_t n = i / j->ys, o = i % j->ys / (height * width), r = i % (height * width) / width;
        double best = -INFINITY, sum = 0;
        for (int64_t k = 0; k < ph * pw; k++) {
            double v = element(j, n, o, r * ph + k / pw, i % width * pw + k % pw);
            best = v > best ? v : best;
            sum += v;
        }
        double expected = b->pool == HKI_BLOCK_POOL_MAX ? best : sum / (double)(ph * pw);
        double error = fabs((double)y[i] - expected) / unit;
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}

static buffer random_floats(int64_t count)
{
    buffer b = floats_make(count);
    for (int64_t i = 0; i < count; i++)
        floats(&b)[i] = (float)random_get();
    return b;
}

/* y in rows; twice, from samples one by one and together: the bytes of a sample are its own where the method is
   direct or Winograd's. */
static double run_case(job *j, bool as_image)
{
    const hki_conv2d_block *block = &j->image.block;
    const hki_image result = hki_conv2d_image_result(block);
    const int64_t elements = hki_image_elements(&result);
    buffer x = random_floats(j->samples * j->xs), w = random_floats(j->ws);
    buffer bias = random_floats(block->geometry.out_channels);
    buffer in = floats_make(j->samples * hki_image_elements(&j->image.x));
    buffer packed = buffer_make(hki_conv2d_image_packed_bytes(&j->image));
    buffer scratch = buffer_make(hki_conv2d_image_scratch_bytes(&j->image));
    buffer out = floats_make(j->samples * elements), y = floats_make(j->samples * j->ys);
    j->x = floats(&x);
    j->w = floats(&w);
    j->bias = floats(&bias);
    if (as_image)
        hki_image_gather(&j->image.x, j->x, j->samples, floats(&in));
    CHECK(hki_conv2d_image_supports(&j->image));
    CHECK(packed.bytes % 64 == 0 && scratch.bytes % 64 == 0);
    hki_conv2d_image_pack(&j->image, j->w, packed.data);
    hki_conv2d_image_forward(&j->image, j->samples, as_image ? floats(&in) : j->x, packed.data,
                             j->has_bias ? j->bias : NULL, floats(&out), scratch.data);
    hki_image_scatter(&result, floats(&out), j->samples, floats(&y));
    double worst = worst_of(j, floats(&y));
    buffer_drop(&x);
    buffer_drop(&w);
    buffer_drop(&bias);
    buffer_drop(&in);
    buffer_drop(&packed);
    buffer_drop(&scratch);
    buffer_drop(&out);
    buffer_drop(&y);
    return worst;
}

static job job_make(hki_conv2d_geometry g, bool relu, hki_block_pool pool, int64_t size,
                    int64_t samples, bool as_image)
{
    g.out_height =
        (g.in_height + 2 * g.pad_height - g.dilation_height * (g.kernel_height - 1) - 1) /
            g.stride_height +
        1;
    g.out_width = (g.in_width + 2 * g.pad_width - g.dilation_width * (g.kernel_width - 1) - 1) /
                      g.stride_width +
                  1;
    job j = {.image.block = {g, relu, pool, size, size}, .samples = samples, .has_bias = true};
    as_image = as_image || hki_conv2d_image_wants_image(&j.image.block);
    j.image.x = hki_image_make(g.in_channels, g.in_height, g.in_width);
    if (!as_image)
        j.image.x.stride = 0;
    j.xs = g.in_channels * g.in_height * g.in_width;
    j.ys = g.out_channels * hki_conv2d_block_out_height(&j.image.block) *
           hki_conv2d_block_out_width(&j.image.block);
    j.ws = g.out_channels * g.in_channels * g.kernel_height * g.kernel_width;
    return j;
}

static void check_worst(double worst, double bound)
{
    if (!(worst <= bound))
        fprintf(stderr, "off by %g; expected %g at most\n", worst, bound);
    CHECK(worst <= bound);
}

static hki_conv2d_geometry geometry(int64_t in, int64_t out, int64_t size, int64_t kernel,
                                    int64_t pad)
{
    return (hki_conv2d_geometry){.in_channels = in,
                                 .in_height = size,
                                 .in_width = size,
                                 .out_channels = out,
                                 .kernel_height = kernel,
                                 .kernel_width = kernel,
                                 .stride_height = 1,
                                 .stride_width = 1,
                                 .pad_height = pad,
                                 .pad_width = pad,
                                 .dilation_height = 1,
                                 .dilation_width = 1};
}

static void test_random_shapes(void)
{
    for (int i = 0; i < (HKI_SANITIZED ? 60 : 200); i++) {
        bool square = random_between(0, 2) > 0;
        hki_conv2d_geometry g =
            geometry(random_between(1, 21), random_between(1, 40), 1,
                     square ? random_between(0, 1) ? 3 : 5 : random_between(1, 4), 0);
        if (!square) {
            g.kernel_width = random_between(1, 5);
            g.stride_height = random_between(1, 3);
            g.stride_width = random_between(1, 3);
            g.dilation_height = random_between(1, 2);
            g.dilation_width = random_between(1, 2);
        }
        g.pad_height = random_between(0, 2);
        g.pad_width = random_between(0, 2);
        g.in_height = g.dilation_height * (g.kernel_height - 1) + random_between(1, 18);
        g.in_width = g.dilation_width * (g.kernel_width - 1) + random_between(1, 30);
        hki_block_pool pool = (hki_block_pool)random_between(0, 2);
        bool as_image = random_between(0, 1);
        int64_t samples = random_between(1, HKI_IMAGE_SAMPLES), size = random_between(1, 3);
        bool relu = random_between(0, 1);
        job j = job_make(g, relu, pool, size, samples, as_image);
        j.has_bias = random_between(0, 3) > 0;
        if (!hki_conv2d_block_supports(&j.image.block, false))
            continue; /* windows larger than what there is */
        double worst = run_case(&j, j.image.x.stride > 0);
        check_worst(worst, 12);
    }
}

static hki_conv2d_geometry dense(int64_t in, int64_t out)
{
    return geometry(in, out, 1, 1, 0);
}

static void test_dense(void)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 26, 50, 64, 129};
    for (size_t o = 0; o < sizeof sizes / sizeof *sizes; o++)
        for (int64_t samples = 1; samples <= HKI_IMAGE_SAMPLES; samples++) {
            const int64_t out = sizes[o];
            job rows = job_make(dense(3 * 13, out), true, HKI_BLOCK_POOL_NONE, 1, samples, false);
            CHECK(run_case(&rows, false) <= 8);
            /* an image of other layers, which the matrix' columns go through in C order */
            job image = job_make(dense(3 * 12, out), false, HKI_BLOCK_POOL_NONE, 1, samples, true);
            image.image.x = hki_image_make(9, 2, 2);
            CHECK(run_case(&image, true) <= 8);
            /* a kernel as large as the image */
            job whole =
                job_make(geometry(5, out, 3, 3, 0), true, HKI_BLOCK_POOL_NONE, 1, samples, true);
            CHECK(run_case(&whole, true) <= 8);
        }
}

/* So large that it takes several steps, the last of which is not full. */
static void test_large_dense(void)
{
    for (int64_t out = 300; out < 420; out += 17) {
        job j = job_make(dense(600, out), true, HKI_BLOCK_POOL_NONE, 1, 1 + out % 4, true);
        j.image.x = hki_image_make(24, 5, 5);
        CHECK(run_case(&j, true) <= 8);
    }
}

/* Windows of 2 x 2 of all widths, with as many channels left over as vectors have quarters, halves and more. */
static void test_windows(void)
{
    for (int64_t size = 4; size <= 21; size++)
        for (int64_t channels = 17; channels <= 25; channels++) {
            hki_conv2d_geometry g =
                geometry(1 + size % 3, size % 2 ? channels : channels - 16, size, 3, size % 5 == 0);
            g.stride_width = 1 + channels % 2;
            if (g.stride_width == 2 && size < 6)
                continue;
            job j = job_make(g, size % 4 < 2,
                             channels % 3 ? HKI_BLOCK_POOL_AVERAGE : HKI_BLOCK_POOL_MAX, 2, 1,
                             channels % 4 == 0);
            check_worst(run_case(&j, j.image.x.stride > 0), 12);
        }
}

/* The bound that the header tells of Winograd's method. */
static void test_winograd_bound(void)
{
    for (int i = 0; i < 16; i++) {
        job j = job_make(geometry(9 + i, 32, 12, 5, i % 3), false, HKI_BLOCK_POOL_NONE, 1,
                         1 + i % 4, true);
        CHECK(hki_conv2d_image_wants_image(&j.image.block));
        check_worst(run_case(&j, true), 12);
    }
}

/* Channels left over, from one to more than a quarter of the lanes, and all counts of tiles that a step takes. */
static void test_winograd_tails(void)
{
    for (int64_t out = 33; out <= 42; out++)
        for (int64_t in = 8; in <= 20; in += 3) {
            job j = job_make(geometry(in, out, 8 + out % 3 * 4, 5, in % 3), out % 2,
                             out % 3 ? HKI_BLOCK_POOL_AVERAGE : HKI_BLOCK_POOL_NONE, 2,
                             1 + (in + out) % 4, true);
            check_worst(run_case(&j, true), 12);
        }
}

/* NaN stays NaN, infinity is not lost. */
static void test_special_values(void)
{
    job j = job_make(geometry(1, 3, 6, 3, 0), true, HKI_BLOCK_POOL_MAX, 2, 1, false);
    float x[36], w[27], rows[3 * 4];
    const hki_image result = hki_conv2d_image_result(&j.image.block);
    buffer packed = buffer_make(hki_conv2d_image_packed_bytes(&j.image));
    buffer scratch = buffer_make(hki_conv2d_image_scratch_bytes(&j.image));
    buffer out = floats_make(hki_image_elements(&result));
    for (int i = 0; i < 36; i++)
        x[i] = (float)i;
    x[0] = NAN;
    x[35] = INFINITY;
    for (int i = 0; i < 27; i++)
        w[i] = 1;
    hki_conv2d_image_pack(&j.image, w, packed.data);
    hki_conv2d_image_forward(&j.image, 1, x, packed.data, NULL, floats(&out), scratch.data);
    hki_image_scatter(&result, floats(&out), 1, rows);
    for (int o = 0; o < 3; o++) {
        CHECK(isnan(rows[4 * o]));
        CHECK(isfinite(rows[4 * o + 1]) && rows[4 * o + 1] > 0);
        CHECK(isinf(rows[4 * o + 3]));
    }
    buffer_drop(&packed);
    buffer_drop(&scratch);
    buffer_drop(&out);
}

static int run_all(void)
{
    test_random_shapes();
    test_dense();
    test_large_dense();
    test_windows();
    test_winograd_bound();
    test_winograd_tails();
    test_special_values();
    return check_result();
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, run_all);
}
