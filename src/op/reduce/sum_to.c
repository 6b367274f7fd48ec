/* sum_to: the reverse of broadcasting, for gradients. Sums are in double, but where the first axis goes, which may be
 * samples: there those of runs are, and base/sum_tree.h says how they are added up. */
#include "base/sum_tree.h"
#include "op/call/plan.h"
#include "op/elementwise/elementwise.h"
#include "op/shape/copy.h"

#include <string.h>

#define SUM_TO_ARGUMENTS(F, op) F(op, DIMS, shape, "", "one that broadcasts to x's shape")
HKI_ARGUMENTS(sum_to, SUM_TO_ARGUMENTS)

enum { MAX_PIECES = 64 };

/* ---- how an input is summed -------------------------------------------------------------------------- */

/* The input's axes: their steps in bytes, and in elements of the sums (0: summed over). The first one is
 * cut into pieces, the others are joined where they can be. */
typedef struct sum_axes {
    int ndim;
    int64_t dims[HK_MAX_NDIM], steps[HK_MAX_NDIM], sum_steps[HK_MAX_NDIM];
} sum_axes;

static void axes_init(sum_axes *axes, const hki_tensor *in, const hki_tensor *out)
{
    int64_t out_strides[HK_MAX_NDIM];
    hk_dims shape = {.ndim = out->ndim};
    memcpy(shape.dims, out->dims, sizeof shape.dims);
    hki_dims_strides(&shape, out_strides);
    axes->ndim = 0;
    for (int axis = 0; axis < in->ndim; axis++) {
        int own = axis - (in->ndim - out->ndim), last = axes->ndim - 1;
        int64_t size = in->dims[axis];
        int64_t step = in->strides[axis] * (int64_t)hk_dtype_bytes(in->dtype);
        int64_t sum_step = own < 0 || out->dims[own] == 1 ? 0 : out_strides[own];
        if (axis > 0 && size == 1)
            continue;
        if (last > 0 && axes->steps[last] == step * size &&
            axes->sum_steps[last] == sum_step * size) {
            axes->dims[last] *= size;
        } else {
            axes->dims[++last] = size;
            axes->ndim = last + 1;
        }
        axes->steps[last] = step;
        axes->sum_steps[last] = sum_step;
    }
    if (axes->ndim == 0)
        *axes = (sum_axes){.ndim = 1, .dims = {1}};
}

/* Eight sums at a time, so that additions need not wait for each other. */
#define SUM_ROW(T)                                                                                 \
    static double sum_row_##T(const T *x, int64_t n)                                               \
    {                                                                                              \
        double lanes[8] = {0};                                                                     \
        int64_t i = 0;                                                                             \
        for (; i + 8 <= n; i += 8) {                                                               \
            for (int j = 0; j < 8; j++)                                                            \
                lanes[j] += (double)x[i + j];                                                      \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            lanes[i % 8] += (double)x[i];                                                          \
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +                                   \
               ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));                                    \
    }                                                                                              \
                                                                                                   \
    static double sum_steps_##T(const char *x, int64_t step, int64_t n)                            \
    {                                                                                              \
        double lanes[8] = {0};                                                                     \
        for (int64_t i = 0; i < n; i++)                                                            \
            lanes[i % 8] += (double)*(const T *)(x + i * step);                                    \
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +                                   \
               ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));                                    \
    }                                                                                              \
                                                                                                   \
    /* Adds the elements below axis `level` to the sums. */                                        \
    static void add_##T(const sum_axes *axes, int level, const char *x, double *sums)              \
    {                                                                                              \
        if (level == axes->ndim) {                                                                 \
            *sums += (double)*(const T *)x;                                                        \
            return;                                                                                \
        }                                                                                          \
        int64_t n = axes->dims[level], step = axes->steps[level];                                  \
        int64_t sum_step = axes->sum_steps[level];                                                 \
        if (level < axes->ndim - 1) {                                                              \
            for (int64_t i = 0; i < n; i++)                                                        \
                add_##T(axes, level + 1, x + i * step, sums + i * sum_step);                       \
        } else if (sum_step == 0) {                                                                \
            *sums += step == (int64_t)sizeof(T) ? sum_row_##T((const T *)x, n)                     \
                                                : sum_steps_##T(x, step, n);                       \
        } else if (step == (int64_t)sizeof(T) && sum_step == 1) {                                  \
            const T *row = (const T *)x;                                                           \
            for (int64_t i = 0; i < n; i++)                                                        \
                sums[i] += (double)row[i];                                                         \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                sums[i * sum_step] += (double)*(const T *)(x + i * step);                          \
        }                                                                                          \
    }
SUM_ROW(float)
SUM_ROW(double)

/* ---- the operator ---------------------------------------------------------------------------------------- */

static bool infer(hki_call *call)
{
    const hk_dims *shape = &((const hki_sum_to_options *)call->options)->shape;
    const hk_dims *from = &call->inputs[0]->shape;
    hk_dims both;
    call->out_shape[0] = *shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    if (hki_dims_broadcast(shape, from, &both) && hki_dims_equal(&both, from))
        return true;
    char has[256], wanted[256];
    hki_dims_describe(from, has, sizeof has);
    hki_dims_describe(shape, wanted, sizeof wanted);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "shape %s does not broadcast to x's, %s",
                           wanted, has);
}

/* The first axis of x stays in the result: then pieces have sums of their own. */
static bool keeps_first(const hk_dims *in, const hk_dims *out)
{
    return in->ndim > 0 && out->ndim == in->ndim && out->dims[0] == in->dims[0];
}

/* Workspace of a piece: where the first axis goes, room for `live` sums of the output's dtype, then for doubles. */
static size_t sums_bytes(int64_t count, hk_dtype dtype)
{
    return hki_round_up_bytes((size_t)count * hk_dtype_bytes(dtype), sizeof(double));
}

/* Where the first axis stays, pieces are ranges of it, with room for the sums of one entry; else they are parts of the tree. */
static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const hk_dims *out = &call->out_shape[0];
    int64_t size = x->size, sums = 1;
    hki_dims_size(out, &sums);
    plan->extent = x->shape.ndim > 0 ? x->shape.dims[0] : 1;
    plan->work_ns = 0.5 * (double)size + (double)sums;
    if (keeps_first(&x->shape, out)) {
        sums = out->dims[0] > 0 ? sums / out->dims[0] : 0;
        plan->partial_bytes = (size_t)hki_max(sums, 1) * sizeof(double);
        return;
    }
    /* joining is to be less work than summing */
    int64_t most = hki_min(size / (4 * hki_max(sums, 1)), MAX_PIECES);
    most = hki_max(1, hki_min(most, (int64_t)(plan->work_ns / HKI_PLAN_PIECE_NS)));
    const int64_t live = hki_sum_live(hki_sum_runs(plan->extent));
    plan->extent = hki_sum_cut_to(plan->extent, most).pieces;
    plan->partial_bytes = (size_t)live * sums_bytes(hki_max(sums, 1), x->dtype) +
                          (size_t)hki_max(sums, 1) * sizeof(double);
}

static void store(hk_dtype dtype, void *out, int64_t begin, int64_t count, const double *sums)
{
    if (dtype == HK_F64) {
        memcpy((double *)out + begin, sums, (size_t)count * sizeof *sums);
        return;
    }
    float *to = (float *)out + begin;
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)sums[i];
}

static bool tensor_keeps_first(const hki_kernel_call *call)
{
    const hki_tensor *in = &call->in[0], *out = &call->out[0];
    return in->ndim > 0 && out->ndim == in->ndim && out->dims[0] == in->dims[0];
}

typedef void (*add_fn)(const sum_axes *axes, int level, const char *x, double *sums);

static hki_sum_cut cut_of(const hki_kernel_call *call)
{
    return hki_sum_cut_to(call->in[0].ndim > 0 ? call->in[0].dims[0] : 1, call->piece_count);
}

/* The sum over the samples of a piece, run after run, into its partials. */
static void sum_piece(const hki_kernel_call *call, int64_t piece, sum_axes *axes, add_fn add)
{
    const hki_tensor *in = &call->in[0], *out = &call->out[0];
    const hki_sum_cut cut = cut_of(call);
    const size_t stride = sums_bytes(hki_max(out->size, 1), out->dtype);
    char *parts = hki_partials_of(call, piece);
    double *sums =
        (double *)(void *)(parts + (size_t)hki_sum_live(hki_sum_runs(cut.samples)) * stride);
    int64_t begin, end;
    int live = 0;
    hki_sum_piece(&cut, piece - call->first_piece, &begin, &end);
    const int64_t runs = hki_max(1, hki_sum_runs(end - begin));
    for (int64_t run = 0; run < runs; run++) {
        const int64_t first = begin + run * HKI_SUM_RUN;
        memset(sums, 0, (size_t)out->size * sizeof *sums);
        axes->dims[0] = hki_min(HKI_SUM_RUN, end - first);
        add(axes, 0, (const char *)in->data + first * axes->steps[0], sums);
        store(out->dtype, parts + (size_t)live * stride, 0, out->size, sums);
        live = hki_sum_join(out->dtype, out->size, parts, parts + stride, stride, live + 1,
                            hki_sum_pairs(runs, run));
    }
}

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *in = &call->in[0], *out = &call->out[0];
    double *sums = hki_partials_of(call, piece);
    const add_fn add = in->dtype == HK_F64 ? add_double : add_float;
    sum_axes axes;
    axes_init(&axes, in, out);
    const char *x = (const char *)in->data + begin * axes.steps[0];
    int64_t out_size = out->size;
    if (!tensor_keeps_first(call)) {
        sum_piece(call, piece, &axes, add);
        return;
    }
    int64_t count = end > begin ? out_size / out->dims[0] : 0;
    for (int64_t i = begin; i < end; i++, x += axes.steps[0]) {
        memset(sums, 0, (size_t)count * sizeof *sums);
        add(&axes, 1, x, sums);
        store(out->dtype, out->data, i * count, count, sums);
    }
}

static void join(const hki_kernel_call *call)
{
    const hki_tensor *out = &call->out[0];
    const hki_sum_cut cut = cut_of(call);
    if (tensor_keeps_first(call))
        return;
    hki_sum_join_pieces(&cut, out->dtype, out->size, call->partials, call->partial_bytes);
    memcpy(out->data, call->partials, (size_t)out->size * hk_dtype_bytes(out->dtype));
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *from = &call->inputs[0]->shape, *to = &call->out_shape[0];
    int64_t size = 0;
    hki_dims_size(to, &size);
    for (int64_t i = 0; i < size; i++)
        out[0][i] = 0;
    for (int64_t i = 0; i < call->inputs[0]->size; i++) {
        int64_t rest = i, target = 0, stride = 1;
        for (int axis = from->ndim - 1; axis >= 0; axis--) {
            int own = axis - (from->ndim - to->ndim);
            if (own >= 0) {
                if (to->dims[own] != 1)
                    target += rest % from->dims[axis] * stride;
                stride *= to->dims[own];
            }
            rest /= from->dims[axis];
        }
        out[0][target] += in[0][i];
    }
}

hk_array *hki_op_sum_to_shape(hk_array *x, const hk_dims *shape)
{
    if (hki_dims_equal(&x->shape, shape) && !x->failed)
        return x;
    hki_sum_to_options options = {.shape = *shape};
    if (!x->failed && hki_dtype_is_half(x->dtype)) {
        hk_array *wide = hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){HK_F32});
        return hki_op_call1(&hki_op_cast, hki_op_call1(&hki_op_sum_to, wide, &options),
                            &(const hki_cast_options){x->dtype});
    }
    return hki_op_call1(&hki_op_sum_to, x, &options);
}

/* Stretched again, as a view. */
static void grad(hki_grad_call *call)
{
    const hk_dims *shape = &call->input_shape[0];
    int64_t strides[HK_MAX_NDIM] = {0};
    hk_array *dy = call->dy;
    const int more = shape->ndim - dy->shape.ndim;
    for (int i = 0; i < dy->shape.ndim; i++)
        strides[more + i] = dy->shape.dims[i] == shape->dims[more + i] ? dy->strides[i] : 0;
    call->dx[0] = dy->failed ? dy : hki_array_view(dy, *shape, strides, dy->offset);
}

#define TO(...)                                                                                    \
    .options = &(const hki_sum_to_options)                                                         \
    {                                                                                              \
        .shape = HKI_SHAPE(__VA_ARGS__)                                                            \
    }
#define TO_0D                                                                                      \
    .options = &(const hki_sum_to_options)                                                         \
    {                                                                                              \
        .shape = HKI_SHAPE_0D                                                                      \
    }
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(5, 19)}, TO(19)},
    {.inputs = {HKI_SHAPE(5, 19)}, TO(5, 1)},
    {.inputs = {HKI_SHAPE(5, 19)}, TO(1, 19)},
    {.inputs = {HKI_SHAPE(5, 19)}, TO_0D},
    {.inputs = {HKI_SHAPE_0D}, TO_0D},
    {.inputs = {HKI_SHAPE(2, 3, 4, 5)}, TO(3, 1, 1)},
    {.inputs = {HKI_SHAPE(2, 3, 4, 5)}, TO(2, 1, 4, 1)},
    {.inputs = {HKI_SHAPE(3, 0)}, TO(3, 1)},
    {.inputs = {HKI_SHAPE(0, 3)}, TO(3)},
    {.inputs = {HKI_SHAPE(600, 300)}, TO(300)},
    {.inputs = {HKI_SHAPE(600, 300)}, TO(1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(6, 7)}, TO(7)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(6, 7)}, TO(6, 1)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, TO(1, 4)},
};

const hk_op hki_op_sum_to = {
    HKI_OP_NAMED(sum_to),
    HKI_OP_PARAMS(sum_to),
    HKI_OP_SAMPLES(samples),
    .signature = "x",
    .doc = "x summed over the axes along which `shape` would be broadcast to x's shape.",
    .dtypes = HKI_FLOATS,
    .internal = true,
    .infer = infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = kernel},
    .join = join,
    .grad = grad,
    .reference = reference,
    .tolerance_f32 = 1e-5, /* of terms that cancel: pairs are rounded */
    .tolerance_f64 = 1e-13,
};
