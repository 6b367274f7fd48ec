/* What variances and deviations are made of. The mean is never one rounded number alone: of x far
 * from 0, rounding it would lose what the elements differ by. squares_about is one pass over x, where
 * that lies in lines or rows. Elsewhere centred takes away a mean in two parts, and deviation makes
 * the result of the sum of squares, in double. reduce_kernel.c has the loops and their order. */
#include "op/reduce/squares_about.h"

#include "base/integer.h"
#include "op/call/plan.h"
#include "op/elementwise/elementwise.h"
#include "op/elementwise/elementwise_gradient.h"
#include "op/reduce/reduce_kernel.h"
#include "op/shape/copy.h"

#include <math.h>

#define SPREAD_OPTIONS(F, op)                                                                      \
    VAR_OPTIONS(F, op)                                                                             \
    F(op, BOOL, is_root, "false", "the root of the variance")
#define DEVIATION_ARGUMENTS(F, op)                                                                 \
    F(op, F64, divisor, "", "what the sums are divided by")                                        \
    F(op, BOOL, is_root, "", "then comes the root")                                                \
    F(op, DTYPE, dtype, "", "dtype of the result")
HKI_OPTIONS(squares_about, SPREAD_OPTIONS)
HKI_ARGUMENTS(deviation, DEVIATION_ARGUMENTS)

static bool is_cpu(const hk_array *x)
{
    return x->storage->device->class->kernels == HKI_CPU;
}

/* Rows that are added up, or lines of elements side by side: what squares_about goes over once. */
static bool takes(const hki_reduce_geometry *geometry)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    if (kept->count == 0 || gone->ndim != 1)
        return false;
    return geometry->rows ? kept->ndim == 1 && kept->in_strides[0] == 1
                          : gone->in_strides[0] == 1 && gone->count > HKI_REDUCE_SHORT;
}

static bool has_lines(const hk_array *x, const hki_var_options *options)
{
    const hki_sum_options sums = hki_over(&options->axes, true);
    const unsigned mask = hki_reduce_mask_of(&sums, x->shape.ndim);
    const int64_t no_strides[HK_MAX_NDIM] = {0};
    hki_reduce_geometry geometry;
    if (!is_cpu(x) || (x->dtype != HK_F32 && x->dtype != HK_F64))
        return false;
    hki_reduce_geometry_init(&geometry, x->shape.ndim, x->shape.dims, x->strides, mask, no_strides);
    return takes(&geometry);
}

static hk_array *cast(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){.dtype = dtype});
}

static hk_array *subtract(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

hk_array *hki_centred(hk_array *x, const hk_dims *axes)
{
    const hki_sum_options kept = hki_over(axes, true);
    if (x->failed)
        return x;
    if (!is_cpu(x)) {
        hk_array *distance = subtract(x, hki_op_call1(&hki_op_mean, x, &kept));
        return subtract(distance, hki_op_call1(&hki_op_mean, distance, &kept));
    }
    hk_array *mean = hki_op_call1(&hki_op_mean_wide, x, &kept), *high = cast(mean, x->dtype);
    if (x->dtype == HK_F64)
        return subtract(x, high);
    hk_array *low = cast(subtract(mean, cast(high, HK_F64)), x->dtype);
    return hki_op_call3(&hki_op_centred, x, high, low, NULL);
}

hk_array *hki_mean_about(hk_array *x, const hki_var_options *options)
{
    const hki_sum_options kept = hki_over(&options->axes, true);
    const bool is_wide = !x->failed && x->dtype == HK_F32 && has_lines(x, options);
    return hki_op_call1(is_wide ? &hki_op_mean_wide : &hki_op_mean, x, &kept);
}

hk_array *hki_variance(hk_array *x, hk_array *mean, const hki_var_options *options, double count,
                       bool is_root)
{
    const hki_sum_options last = hki_over(&options->axes, options->keepdims);
    if (x->failed)
        return x;
    if (has_lines(x, options)) {
        const hki_squares_about_options about = {options->axes, options->keepdims,
                                                 options->correction, is_root};
        mean = mean ? mean : hki_mean_about(x, options);
        return hki_op_call2(&hki_op_squares_about, x, mean, &about);
    }
    hk_array *distance = hki_centred(x, &options->axes);
    const hki_deviation_options made = {hki_variance_divisor(options, count), is_root, x->dtype};
    if (is_cpu(x))
        return hki_op_call1(&hki_op_deviation, hki_op_call1(&hki_op_squares_wide, distance, &last),
                            &made);
    hk_array *squares =
        hki_op_call1(&hki_op_sum, hki_op_call1(&hki_op_square, distance, NULL), &last);
    hk_array *variance = hki_op_call_number(&hki_op_multiply_scalar, squares, 1 / made.divisor);
    return is_root ? hki_op_call1(&hki_op_sqrt, variance, NULL) : variance;
}

static double deviation_of(double squares, double divisor, bool is_root)
{
    return is_root ? sqrt(squares / divisor) : squares / divisor;
}

/* ---- squares_about --------------------------------------------------------------------------------------- */

static bool squares_about_infer(hki_call *call)
{
    const hki_squares_about_options *options = call->options;
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options sums = hki_over(&options->axes, options->keepdims);
    unsigned mask;
    if (!hki_reduce_mask(call, &sums, x->shape.ndim, &mask))
        return false;
    call->out_shape[0] = hki_reduce_shape(&x->shape, mask, options->keepdims);
    call->out_dtype[0] = x->dtype;
    return true;
}

static void squares_about_plan(const hki_call *call, hki_plan *plan)
{
    const hki_var_options *options = call->options;
    const hki_shape_view *x = call->inputs[0];
    const hki_sum_options sums = hki_over(&options->axes, true);
    const int64_t no_strides[HK_MAX_NDIM] = {0};
    hki_reduce_geometry geometry;
    hki_reduce_geometry_init(&geometry, x->shape.ndim, x->shape.dims, x->strides,
                             hki_reduce_mask_of(&sums, x->shape.ndim), no_strides);
    plan->work_ns = 0.25 * (double)x->size;
    if (geometry.parts) {
        plan->extent = geometry.gone.count;
        plan->grain = geometry.rows ? 16 : HKI_REDUCE_PART;
        plan->partial_bytes = (size_t)geometry.kept.count * sizeof(hki_reduce_word);
    } else {
        plan->extent = geometry.kept.count;
        plan->grain = geometry.rows ? 64 : 1;
    }
}

/* The kept elements of x, with their places in `to`, which has kept its axes or has not. */
static hki_reduce_geometry geometry_of(const hki_tensor *x, const hki_tensor *to, unsigned mask,
                                       bool keepdims)
{
    hki_reduce_geometry geometry;
    int64_t strides[HK_MAX_NDIM];
    hki_reduce_spread(x->ndim, mask, keepdims, to->strides, strides);
    hki_reduce_geometry_init(&geometry, x->ndim, x->dims, x->strides, mask, strides);
    return geometry;
}

/* From the sum of squares about the mean as a float: about the mean, which costs nothing for each
 * element. Where squares were no floats, what they should have been. step: from one element to the
 * next. */
static double squares_f32(const float *x, int64_t step, double mean, int64_t count, double sum,
                          bool is_wide)
{
    const double beside = mean - (double)(float)mean;
    if (is_wide || (sum > 1e-24 && sum < 1e36)) {
        sum -= (double)count * beside * beside;
        return sum < 0 ? 0 : sum;
    }
    sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += ((double)x[i * step] - mean) * ((double)x[i * step] - mean);
    return sum;
}

/* What a call is about. */
typedef struct about_call {
    const hki_squares_about_options *options;
    const hki_tensor *x, *mean, *y;
    hki_reduce_geometry of_y, of_mean;
} about_call;

static about_call about_call_of(const hki_kernel_call *call)
{
    const hki_squares_about_options *options = call->options;
    about_call self = {options, &call->in[0], &call->in[1], &call->out[0], .of_y = {.rows = false}};
    const hki_sum_options sums = hki_over(&options->axes, true);
    const unsigned mask = hki_reduce_mask_of(&sums, self.x->ndim);
    self.of_y = geometry_of(self.x, self.y, mask, options->keepdims);
    self.of_mean = geometry_of(self.x, self.mean, mask, true);
    self.of_y.parts = call->partial_bytes > 0;
    return self;
}

static double mean_at(const about_call *self, int64_t k)
{
    const hki_reduce_axes *kept = &self->of_mean.kept;
    const int64_t at = hki_reduce_offset(kept, kept->out_strides, k);
    return ((const double *)self->mean->data)[at];
}

/* Element `gone` of those that give kept element k. */
static const char *element_at(const about_call *self, int64_t k, int64_t gone)
{
    const hki_reduce_axes *kept = &self->of_y.kept;
    const int64_t at =
        hki_reduce_offset(kept, kept->in_strides, k) + gone * self->of_y.gone.in_strides[0];
    return (const char *)self->x->data + at * (int64_t)hki_dtype_bytes(self->x->dtype);
}

/* Whether a mean of doubles may be too far from the precise one: as its sum was rounded, it errs
 * about as a random walk does. */
static bool is_far(double mean, double count, double sum)
{
    return sum > 0 && mean * count * (mean * count) > 0x1p43 * sum;
}

/* What is left of the distances of doubles from their means, of at most HKI_REDUCE_TILE kept elements. */
static void gather_rests(const about_call *self, int64_t begin, int64_t end, double *rests)
{
    enum { LANES = 8 };
    const hki_reduce_axes *gone = &self->of_y.gone;
    double about[HKI_REDUCE_TILE];
    for (int64_t k = begin; k < end; k++) {
        const double *x = (const double *)(const void *)element_at(self, k, 0);
        double lanes[LANES] = {0};
        about[k - begin] = mean_at(self, k);
        for (int64_t i = 0; !self->of_y.rows && i < gone->count; i++)
            lanes[i % LANES] += x[i] - about[k - begin];
        rests[k - begin] = 0;
        for (int l = 0; l < LANES; l++)
            rests[k - begin] += lanes[l];
    }
    for (int64_t i = 0; self->of_y.rows && i < gone->count; i++) {
        const double *row = (const double *)(const void *)element_at(self, begin, i);
        for (int64_t k = 0; k < end - begin; k++)
            rests[k] += row[k] - about[k];
    }
}

/* Takes from sums what means that are not precise have added to them. */
static void mend_sums(const about_call *self, hki_reduce_word *words, int64_t begin, int64_t end)
{
    const double count = (double)self->of_y.gone.count;
    double rests[HKI_REDUCE_TILE];
    bool any_far = false;
    for (int64_t k = begin; k < end; k++)
        any_far |= is_far(mean_at(self, k), count, words[k - begin].f);
    if (!any_far)
        return;
    gather_rests(self, begin, end, rests);
    for (int64_t k = begin; k < end; k++) {
        const double sum = words[k - begin].f, rest = rests[k - begin];
        const double mended = sum - rest * rest / count;
        if (is_far(mean_at(self, k), count, sum))
            words[k - begin].f = mended < 0 ? 0 : mended;
    }
}

/* Writes kept elements [begin, end), at most HKI_REDUCE_TILE, of which words has the sums. */
static void write_deviations(const about_call *self, hki_reduce_word *words, int64_t begin,
                             int64_t end)
{
    const hki_reduce_axes *kept = &self->of_y.kept, *gone = &self->of_y.gone;
    const bool is_f32 = self->x->dtype == HK_F32, is_wide = self->of_y.rows;
    const double left = (double)gone->count - self->options->correction;
    if (!is_f32)
        mend_sums(self, words, begin, end);
    for (int64_t k = begin; k < end; k++) {
        const int64_t to = hki_reduce_offset(kept, kept->out_strides, k);
        double sum = words[k - begin].f;
        if (is_f32)
            sum = squares_f32((const float *)(const void *)element_at(self, k, 0),
                              gone->in_strides[0], mean_at(self, k), gone->count, sum, is_wide);
        const double made = deviation_of(sum, left > 0 ? left : 0, self->options->is_root);
        if (is_f32)
            ((float *)self->y->data)[to] = (float)made;
        else
            ((double *)self->y->data)[to] = made;
    }
}

/* Of at most HKI_REDUCE_TILE kept elements: the sums over elements [from, to) of what goes. */
static void gather_squares(const about_call *self, int64_t begin, int64_t end, int64_t from,
                           int64_t to, hki_reduce_word *words)
{
    const hk_dtype dtype = self->x->dtype;
    double about[HKI_REDUCE_TILE];
    for (int64_t k = begin; k < end; k++) {
        about[k - begin] = mean_at(self, k);
        words[k - begin].f = 0;
        if (!self->of_y.rows)
            words[k - begin] = hki_reduce_squares_about(dtype, element_at(self, k, from),
                                                        about[k - begin], to - from);
    }
    if (self->of_y.rows)
        hki_reduce_rows_about(dtype, element_at(self, begin, from), to - from,
                              self->of_y.gone.in_strides[0], end - begin, about, words);
}

static void squares_about_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin,
                              int64_t end)
{
    const about_call self = about_call_of(call);
    const bool parts = self.of_y.parts;
    const int64_t kept_end = parts ? self.of_y.kept.count : end;
    for (int64_t k = parts ? 0 : begin, next; k < kept_end; k = next) {
        hki_reduce_word tile[HKI_REDUCE_TILE];
        next = hki_min(k + HKI_REDUCE_TILE, kept_end);
        if (parts) {
            gather_squares(&self, k, next, begin, end,
                           (hki_reduce_word *)hki_partials_of(call, piece) + k);
        } else {
            gather_squares(&self, k, next, 0, self.of_y.gone.count, tile);
            write_deviations(&self, tile, k, next);
        }
    }
}

static void squares_about_join(const hki_kernel_call *call)
{
    const about_call self = about_call_of(call);
    hki_reduce_word *words = (hki_reduce_word *)(void *)call->partials;
    if (!self.of_y.parts)
        return;
    for (int64_t piece = 1; piece < call->piece_count; piece++)
        hki_reduce_join(HKI_REDUCE_SUM, self.x->dtype, words,
                        hki_partials_of(call, call->first_piece + piece), self.of_y.kept.count);
    for (int64_t k = 0, next; k < self.of_y.kept.count; k = next) {
        next = hki_min(k + HKI_REDUCE_TILE, self.of_y.kept.count);
        write_deviations(&self, words + k, k, next);
    }
}

const hk_op hki_op_squares_about = {
    HKI_OP_NAMED(squares_about),
    HKI_OP_PARAMS(squares_about),
    .signature = "x, mean",
    .doc = "Mean of squared distances from means, float64 that kept their axes, over axes, whose "
           "elements lie side by side.",
    .dtypes = 1u << HK_F32 | 1u << HK_F64,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = squares_about_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = squares_about_plan,
    .kernel = {[HKI_CPU] = squares_about_cpu},
    .join = squares_about_join,
    .batch = hki_batch_all,
    .no_grad_why = "var, std and var_mean have gradients",
    .untested = "var, which calls it, tests it",
};

/* ---- centred --------------------------------------------------------------------------------------------- */

#define CENTRED(name, T)                                                                           \
    static int64_t centred_##name(const hki_run *run)                                              \
    {                                                                                              \
        const T *x = (const T *)run->in[0], *high = (const T *)run->in[1],                         \
                *low = (const T *)run->in[2];                                                      \
        const int64_t xs = run->in_step[0] / (int64_t)sizeof(T);                                   \
        const int64_t hs = run->in_step[1] / (int64_t)sizeof(T);                                   \
        const int64_t ls = run->in_step[2] / (int64_t)sizeof(T);                                   \
        const int64_t ys = run->out_step / (int64_t)sizeof(T);                                     \
        T *y = (T *)run->out;                                                                      \
        if (xs == 1 && ys == 1 && hs == 1 && ls == 1)                                              \
            for (int64_t i = 0; i < run->n; i++)                                                   \
                y[i] = x[i] - high[i] - low[i];                                                    \
        else if (xs == 1 && ys == 1 && hs == 0 && ls == 0)                                         \
            for (int64_t i = 0; i < run->n; i++)                                                   \
                y[i] = x[i] - *high - *low;                                                        \
        else                                                                                       \
            for (int64_t i = 0; i < run->n; i++)                                                   \
                y[i * ys] = x[i * xs] - high[i * hs] - low[i * ls];                                \
        return -1;                                                                                 \
    }
CENTRED(f32, float)
CENTRED(f64, double)

static void centred_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_walk(call, begin, end, NULL, call->out[0].dtype == HK_F32 ? centred_f32 : centred_f64);
}

static void centred_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.3);
}

static void centred_grad(hki_grad_call *call)
{
    if (call->wanted[0])
        call->dx[0] = call->dy;
    for (int i = 1; i < 3; i++)
        if (call->wanted[i]) {
            hki_set_summed(call, i, call->dy);
            call->dx[i] = hki_op_call1(&hki_op_negative, call->dx[i], NULL);
        }
}

const hk_op hki_op_centred = {
    HKI_OP_NAMED(centred),
    .signature = "x, high, low",
    .doc = "x less the two parts of a mean, which are broadcast to it.",
    .dtypes = HKI_FLOATS,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = hki_infer_same,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = centred_plan,
    .kernel = {[HKI_CPU] = centred_cpu},
    .batch = hki_batch_elementwise,
    .grad = centred_grad,
    .untested = "var, which calls it, tests it",
};

/* ---- deviation ------------------------------------------------------------------------------------------- */

static bool deviation_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = ((const hki_deviation_options *)call->options)->dtype;
    return true;
}

static int64_t deviations(const hki_run *run)
{
    const hki_deviation_options *options = run->given;
    for (int64_t i = 0; i < run->n; i++) {
        const double squares = *(const double *)(const void *)(run->in[0] + i * run->in_step[0]);
        const double made = deviation_of(squares, options->divisor, options->is_root);
        void *to = run->out + i * run->out_step;
        if (options->dtype == HK_F32)
            *(float *)to = (float)made;
        else
            *(double *)to = made;
    }
    return -1;
}

static void deviation_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_walk(call, begin, end, call->options, deviations);
}

static void deviation_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 2);
}

const hk_op hki_op_deviation = {
    HKI_OP_NAMED(deviation),
    HKI_OP_PARAMS(deviation),
    .signature = "squares",
    .doc = "Variance, or its root, of the sum of squared distances, as another dtype of floats.",
    .dtypes = 1u << HK_F64,
    .internal = true,
    .host_only = true,
    .infallible = true,
    .infer = deviation_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = deviation_plan,
    .kernel = {[HKI_CPU] = deviation_cpu},
    .batch = hki_batch_elementwise,
    .no_grad_why = "var, std and var_mean have gradients",
    .untested = "var, which calls it, tests it",
};
