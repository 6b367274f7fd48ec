#include "op/conv/conv2d_kernel.h"

#include "base/kernel_isa.h"
#include "base/sum_tree.h"
#include "op/conv/conv2d_plan.h"
#include "op/conv/conv2d_pointwise.h"

const hki_conv2d_lane_shape *hki_conv2d_shape_get(bool f64)
{
    return f64 ? HKI_OF_ISA(&hki_conv2d_shape, _f64) : HKI_OF_ISA(&hki_conv2d_shape, _f32);
}

/* Vectors of tiles that a piece should have: each transforms the weights. */
enum { PIECE_VECTORS = 4 };

int64_t hki_conv2d_block_samples(const hki_conv2d_geometry *geometry, bool f64)
{
    /* The forward pass's; the others cut a small batch nearly the same. */
    hki_conv2d_plan plan;
    if (hki_conv2d_pointwise_fits(geometry))
        return hki_conv2d_pointwise_group(geometry);
    hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_FORWARD, hki_conv2d_shape_get(f64));
    if (plan.direct)
        return 1;
    if (plan.tiles_in_lanes)
        return hki_min(HKI_CONV2D_LANES_MAX, hki_divide_up(PIECE_VECTORS * plan.lanes,
                                                           plan.tile_rows * plan.tile_columns));
    return plan.strips == 1 ? HKI_CONV2D_LANES_MAX : hki_divide_up(plan.lanes, plan.strips);
}

/* Each part loads the source again, and Winograd's method transforms it again: two parts are worth that sooner than more. */
enum {
    PARTS_MAX = 4,
    PART_CHANNELS = 48,
    WINOGRAD_PARTS_MAX = 2,
    TILES_PARTS_MAX = 8, /* where the lanes are tiles */
    HALF_CHANNELS = 32
};

int64_t hki_conv2d_parts(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass, bool f64)
{
    hki_conv2d_plan plan;
    if (pass == HKI_CONV2D_BACKWARD_WEIGHT || hki_conv2d_pointwise_fits(geometry))
        return 1;
    hki_conv2d_plan_init(&plan, geometry, pass, hki_conv2d_shape_get(f64));
    if (plan.direct || geometry->samples == 0)
        return 1;
    const int64_t blocks =
        hki_divide_up(geometry->samples, hki_conv2d_block_samples(geometry, f64));
    if (plan.tiles_in_lanes)
        return hki_min(hki_divide_up(TILES_PARTS_MAX, blocks),
                       hki_max(1, plan.target_channels / HALF_CHANNELS));
    const int64_t most = hki_divide_up(plan.winograd ? WINOGRAD_PARTS_MAX : PARTS_MAX, blocks);
    const int64_t halves = plan.target_channels >= 2 * HALF_CHANNELS ? 2 : 1;
    return hki_min(most, hki_max(halves, plan.target_channels / PART_CHANNELS));
}

bool hki_conv2d_is_winograd(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass, bool f64)
{
    hki_conv2d_plan plan;
    hki_conv2d_plan_init(&plan, geometry, pass, hki_conv2d_shape_get(f64));
    return plan.winograd;
}

static size_t scratch_bytes(const hki_conv2d_geometry *geometry, hki_conv2d_pass pass, bool f64)
{
    hki_conv2d_plan plan;
    if (hki_conv2d_pointwise_fits(geometry))
        return hki_conv2d_pointwise_scratch_bytes(geometry, pass, f64);
    hki_conv2d_plan_init(&plan, geometry, pass, hki_conv2d_shape_get(f64));
    return plan.bytes;
}

size_t hki_conv2d_forward_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    return scratch_bytes(geometry, HKI_CONV2D_FORWARD, f64);
}

size_t hki_conv2d_backward_data_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    return scratch_bytes(geometry, HKI_CONV2D_BACKWARD_DATA, f64);
}

/* Of dweight, and of dweight and dbias. */
static int64_t weight_count(const hki_conv2d_geometry *g)
{
    return g->out_channels * g->in_channels * g->kernel_height * g->kernel_width;
}

static size_t sums_bytes(const hki_conv2d_geometry *g, bool f64)
{
    const size_t item = f64 ? sizeof(double) : sizeof(float);
    return hki_round_up_bytes((size_t)(weight_count(g) + g->out_channels) * item, 64);
}

/* By which runs are planned: whole ones, or one of fewer samples. A run's bytes are to depend on
 * its own samples alone. */
static hki_conv2d_geometry of_run(const hki_conv2d_geometry *geometry, bool is_whole)
{
    hki_conv2d_geometry own = *geometry;
    const int64_t left = own.samples % HKI_SUM_RUN;
    own.samples = is_whole ? hki_round_up(own.samples, HKI_SUM_RUN) : left;
    return own;
}

/* Behind the plan's, sums of runs that wait for others: all but one. */
static size_t weight_plan_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    size_t most = 0;
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        const hki_conv2d_geometry own = of_run(geometry, is_whole);
        const size_t bytes = scratch_bytes(&own, HKI_CONV2D_BACKWARD_WEIGHT, f64);
        most = bytes > most ? bytes : most;
    }
    return most;
}

size_t hki_conv2d_backward_weight_scratch_bytes(const hki_conv2d_geometry *geometry, bool f64)
{
    const size_t waiting = (size_t)hki_sum_live(hki_sum_runs(geometry->samples)) - 1;
    return weight_plan_bytes(geometry, f64) + waiting * sums_bytes(geometry, f64);
}

#define PASSES(T, DT, F64)                                                                         \
    void hki_conv2d_forward_##DT(const hki_conv2d_geometry *geometry, const T *x, const T *weight, \
                                 const T *bias, T *y, int64_t sample_begin, int64_t sample_end,    \
                                 void *scratch)                                                    \
    {                                                                                              \
        hki_conv2d_plan plan;                                                                      \
        if (hki_conv2d_pointwise_fits(geometry)) {                                                 \
            hki_conv2d_pointwise_forward(geometry, F64, x, weight, bias, y, sample_begin,          \
                                         sample_end, scratch);                                     \
            return;                                                                                \
        }                                                                                          \
        hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_FORWARD, hki_conv2d_shape_get(F64));      \
        hki_conv2d_plan_build(&plan, scratch);                                                     \
        HKI_OF_ISA(hki_conv2d_apply, _##DT)                                                        \
        (&plan, x, weight, bias, y, sample_begin, sample_end, scratch);                            \
    }                                                                                              \
    void hki_conv2d_backward_data_##DT(const hki_conv2d_geometry *geometry, const T *dy,           \
                                       const T *weight, T *dx, int64_t sample_begin,               \
                                       int64_t sample_end, void *scratch)                          \
    {                                                                                              \
        hki_conv2d_plan plan;                                                                      \
        if (hki_conv2d_pointwise_fits(geometry)) {                                                 \
            hki_conv2d_pointwise_data(geometry, F64, dy, weight, dx, sample_begin, sample_end,     \
                                      scratch);                                                    \
            return;                                                                                \
        }                                                                                          \
        hki_conv2d_plan_init(&plan, geometry, HKI_CONV2D_BACKWARD_DATA,                            \
                             hki_conv2d_shape_get(F64));                                           \
        hki_conv2d_plan_build(&plan, scratch);                                                     \
        HKI_OF_ISA(hki_conv2d_apply, _##DT)                                                        \
        (&plan, dy, weight, NULL, dx, sample_begin, sample_end, scratch);                          \
    }                                                                                              \
    bool hki_conv2d_backward_weight_##DT(const hki_conv2d_geometry *geometry, const T *x,          \
                                         const T *dy, T *dweight, T *dbias, int64_t sample_begin,  \
                                         int64_t sample_end, void *scratch)                        \
    {                                                                                              \
        hki_conv2d_plan plan;                                                                      \
        const bool pointwise = hki_conv2d_pointwise_fits(geometry);                                \
        const int64_t runs = hki_max(1, hki_sum_runs(sample_end - sample_begin));                  \
        const int64_t weights = weight_count(geometry);                                            \
        const size_t step = sums_bytes(geometry, F64);                                             \
        char *waiting = (char *)scratch + weight_plan_bytes(geometry, F64);                        \
        bool done = true;                                                                          \
        for (int64_t run = 0, live = 0, pairs; done && run < runs; run++, live += 1 - pairs) {     \
            const int64_t begin = sample_begin + run * HKI_SUM_RUN;                                \
            const int64_t end = hki_min(begin + HKI_SUM_RUN, sample_end);                          \
            const bool is_whole = end - begin == HKI_SUM_RUN, is_planned = run > 0 && is_whole;    \
            if (!pointwise && !is_planned) {                                                       \
                const hki_conv2d_geometry own = of_run(geometry, is_whole);                        \
                hki_conv2d_plan_init(&plan, &own, HKI_CONV2D_BACKWARD_WEIGHT,                      \
                                     hki_conv2d_shape_get(F64));                                   \
                hki_conv2d_plan_build(&plan, scratch);                                             \
            }                                                                                      \
            T *sums = live ? (T *)(void *)(waiting + (size_t)(live - 1) * step) : dweight;         \
            T *bias = !dbias ? NULL : live ? sums + weights : dbias;                               \
            if (pointwise)                                                                         \
                hki_conv2d_pointwise_weight(geometry, F64, x, dy, sums, bias, begin, end,          \
                                            scratch);                                              \
            else                                                                                   \
                done = HKI_OF_ISA(hki_conv2d_weigh, _##DT)(&plan, x, dy, sums, bias, begin, end,   \
                                                           is_planned, scratch);                   \
            pairs = hki_sum_pairs(runs, run);                                                      \
            hki_sum_join(F64 ? HK_F64 : HK_F32, weights, dweight, waiting, step, (int)live + 1,    \
                         (int)pairs);                                                              \
            if (dbias)                                                                             \
                hki_sum_join(F64 ? HK_F64 : HK_F32, geometry->out_channels, dbias,                 \
                             waiting + (size_t)weights * sizeof(T), step, (int)live + 1,           \
                             (int)pairs);                                                          \
        }                                                                                          \
        return done;                                                                               \
    }

PASSES(float, f32, false)
PASSES(double, f64, true)
