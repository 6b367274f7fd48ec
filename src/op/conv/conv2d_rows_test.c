/* conv2d_rows.h against sums in double precision, for geometries of all kinds, and the same
 * bytes however units are cut; through a captured step, whose other calls are the same, too. */
#include "check.h"
#include "op/conv/conv2d_rows.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static int64_t draw(int64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % below;
}

static void *lines(size_t bytes)
{
    return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static float *numbers(int64_t count)
{
    float *made = lines((size_t)count * sizeof *made);
    for (int64_t i = 0; i < count; i++)
        made[i] = (float)draw(2001) / 1000.0f - 1;
    return made;
}

static hki_conv2d_geometry geometry_make(void)
{
    hki_conv2d_geometry g;
    do {
        g = (hki_conv2d_geometry){.samples = 1 + draw(3),
                                  .in_channels = 16 + draw(40),
                                  .in_height = 1 + draw(16),
                                  .in_width = 1 + draw(16),
                                  .out_channels = 16 + draw(90),
                                  .kernel_height = 1 + draw(4),
                                  .kernel_width = 1 + draw(4),
                                  .stride_height = 1 + draw(3),
                                  .stride_width = 1 + draw(3),
                                  .pad_height = draw(3),
                                  .pad_width = draw(3),
                                  .dilation_height = 1 + draw(2),
                                  .dilation_width = 1 + draw(2)};
        if (draw(5) == 0)
            g.kernel_height = g.kernel_width = g.stride_height = g.stride_width = 1,
            g.pad_height = g.pad_width = 0;
        g.out_height =
            g.in_height + 2 * g.pad_height - g.dilation_height * (g.kernel_height - 1) - 1;
        g.out_width = g.in_width + 2 * g.pad_width - g.dilation_width * (g.kernel_width - 1) - 1;
        if (g.out_height < 0 || g.out_width < 0)
            continue;
        g.out_height = g.out_height / g.stride_height + 1;
        g.out_width = g.out_width / g.stride_width + 1;
    } while (g.out_height < 1 || g.out_width < 1 || !hki_conv2d_rows_fit(&g));
    return g;
}

static double expected_at(const hki_conv2d_geometry *g, const float *x, const float *weight,
                          int64_t o, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t c = 0; c < g->in_channels; c++)
        for (int64_t u = 0; u < g->kernel_height; u++)
            for (int64_t v = 0; v < g->kernel_width; v++) {
                const int64_t r = i * g->stride_height + u * g->dilation_height - g->pad_height;
                const int64_t s = j * g->stride_width + v * g->dilation_width - g->pad_width;
                if (r >= 0 && r < g->in_height && s >= 0 && s < g->in_width)
                    sum += (double)x[(c * g->in_height + r) * g->in_width + s] *
                           (double)weight[((o * g->in_channels + c) * g->kernel_height + u) *
                                              g->kernel_width +
                                          v];
            }
    return sum;
}

static void check_values(const hki_conv2d_geometry *g, const float *x, const float *weight,
                         const float *bias, const float *y)
{
    const int64_t pixels = g->out_height * g->out_width;
    const int64_t plane = g->in_channels * g->in_height * g->in_width;
    double worst = 0;
    for (int64_t k = 0; k < 60; k++) {
        const int64_t n = draw(g->samples), o = draw(g->out_channels), i = draw(g->out_height),
                      j = draw(g->out_width);
        const double expected =
            expected_at(g, x + n * plane, weight, o, i, j) + (bias ? (double)bias[o] : 0);
        const double error =
            fabs((double)y[(n * g->out_channels + o) * pixels + i * g->out_width + j] - expected);
        worst = error > worst ? error : worst;
    }
    CHECK(worst < 1e-3);
}

static void test_geometry(void)
{
    const hki_conv2d_geometry g = geometry_make();
    const int64_t results = g.samples * g.out_channels * g.out_height * g.out_width;
    float *x = numbers(g.samples * g.in_channels * g.in_height * g.in_width);
    float *weight = numbers(g.out_channels * g.in_channels * g.kernel_height * g.kernel_width);
    float *bias = draw(2) ? numbers(g.out_channels) : NULL;
    const int64_t units = hki_conv2d_rows_units(&g);
    void *packed = lines(hki_conv2d_rows_packed_bytes(&g));
    void *room = lines(hki_conv2d_rows_pack_scratch_bytes(&g));
    void *scratch = lines(hki_conv2d_rows_scratch_bytes(&g, units));
    float *whole = lines((size_t)results * sizeof *whole);
    float *parts = lines((size_t)results * sizeof *parts);
    hki_conv2d_rows_pack(&g, weight, packed, room);
    hki_conv2d_rows(&g, x, packed, bias, whole, 0, units, scratch);
    check_values(&g, x, weight, bias, whole);
    for (int64_t u = 0, count; u < units; u += count) {
        count = 1 + draw(units - u);
        void *own = lines(hki_conv2d_rows_scratch_bytes(&g, count));
        hki_conv2d_rows(&g, x, packed, bias, parts, u, u + count, own);
        free(own);
    }
    CHECK(!memcmp(whole, parts, (size_t)results * sizeof *whole));
    free(x);
    free(weight);
    free(bias);
    free(packed);
    free(room);
    free(scratch);
    free(whole);
    free(parts);
}

/* ---- in a captured step ---------------------------------------------------------------------- */

enum { CHANNELS = 32, SIDE = 12, ELEMENTS = CHANNELS * SIDE * SIDE };

static hk_array *layers(hk_array *x, hk_array *weight, hk_array *other)
{
    HK_SCOPE;
    const hk_conv2d_options same = {.padding = {1, 1}};
    hk_array *y = hk_relu(hk_conv2d(x, weight, NULL, &same));
    y = hk_add(hk_conv2d(y, other, NULL, &same), x);
    return hk_take(hk_conv2d(y, weight, NULL, &same));
}

static void test_captured(void)
{
    HK_SCOPE;
    static float by_calls[ELEMENTS], replayed[2][ELEMENTS];
    const hk_dims kernel = hk_shape(CHANNELS, CHANNELS, 3, 3);
    hk_seed(3);
    hk_array *weight = hk_random_uniform(kernel, HK_F32, hk_device_default());
    hk_array *other = hk_random_uniform(kernel, HK_F32, hk_device_default());
    hk_array *x = hk_random_uniform(hk_shape(1, CHANNELS, SIDE, SIDE), HK_F32, hk_device_default());
    hk_capture_begin(&x, 1);
    hk_array *y = layers(x, weight, other);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(!hk_status_print(hk_graph_status(graph), stderr));
    for (int step = 0; step < 3; step++) {
        if (step == 2) /* what is packed is packed anew */
            hk_multiply_into(other, other, -1);
        for (int i = 0; i < 2; i++) {
            hk_replay(graph, &x, 1);
            CHECK(hk_ok(hk_to_host(y, replayed[i], sizeof replayed[i])));
        }
        hk_array *expected = layers(x, weight, other);
        CHECK(hk_ok(hk_to_host(expected, by_calls, sizeof by_calls)));
        hk_array_release(expected);
        CHECK(!memcmp(replayed[0], replayed[1], sizeof by_calls));
        double worst = 0, most = 0;
        for (int i = 0; i < ELEMENTS; i++) {
            const double error = fabs((double)by_calls[i] - (double)replayed[0][i]);
            worst = error > worst ? error : worst;
            most = fabs((double)by_calls[i]) > most ? fabs((double)by_calls[i]) : most;
        }
        CHECK(worst < 1e-5 * most);
    }
    hk_graph_release(graph);
    hk_array_release(y);
}

int main(void)
{
    for (int i = 0; i < 300; i++)
        test_geometry();
    test_captured();
    return check_result();
}
