/* roll, repeat, tile, pad: made of views and joins. */
#include "op/reduce/line.h"
#include "op/shape/fill.h"
#include "op/shape/join.h"
#include "op/shape/reshape.h"
#include "op/shape/view_op.h"

#include <inttypes.h>

static bool infer_axis(hki_call *call, int64_t axis, int64_t factor)
{
    const hki_shape_view *x = call->inputs[0];
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    if (factor < 0 ||
        __builtin_mul_overflow(x->shape.dims[axis], factor, &call->out_shape[0].dims[axis]))
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "axis %" PRId64 " of x has %" PRId64 " entries: %" PRId64
                               " times as many cannot be",
                               axis, x->shape.dims[axis], factor);
    return true;
}

/* Where row i along an axis of the result comes from. */
typedef int64_t (*source_fn)(const void *options, int64_t i, int64_t size, int64_t out_size);

/* All axes but one as they are. */
static void refer(const hki_call *call, int64_t axis, source_fn source, const double *in,
                  double *out)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_lines from = hki_lines_of(shape->ndim, shape->dims, axis),
                    to = hki_lines_of(shape->ndim, call->out_shape[0].dims, axis);
    for (int64_t line = 0; line < to.count; line++)
        for (int64_t i = 0; i < to.size; i++) {
            const int64_t index = source(call->options, i, from.size, to.size);
            out[hki_lines_at(&to, line) + i * to.inner] =
                in[hki_lines_at(&from, line) + index * from.inner];
        }
}

#define OPERATOR(op, text)                                                                         \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_PARAMS(op),                                                                         \
        HKI_OP_SAMPLES(op##_samples),                                                              \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .dtypes = HKI_ANY_DTYPE,                                                                   \
        .infer = op##_infer,                                                                       \
        .compose = op##_compose,                                                                   \
        .reference = op##_reference,                                                               \
    }

/* ---- roll -------------------------------------------------------------------------------------------- */

#define ROLL_ARGUMENTS(F, op)                                                                      \
    F(op, INT, shift, "", "places towards the end; negative: towards the front")                   \
    F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(roll, ROLL_ARGUMENTS)

static bool roll_infer(hki_call *call)
{
    return infer_axis(call, ((const hki_roll_options *)call->options)->axis, 1);
}

static hk_array *roll_compose(const hki_call *call)
{
    const hki_roll_options *o = call->options;
    hk_array *x = call->arrays[0];
    const int axis = hki_axis_from_front(o->axis, x->shape.ndim);
    int64_t size = x->shape.dims[axis], cut = size ? o->shift % size : 0;
    cut = cut > 0 ? size - cut : -cut;
    return hki_concat(
        (hk_array *const[]){(hk_slice)(x, axis, cut, size), (hk_slice)(x, axis, 0, cut)}, 2, axis);
}

static int64_t roll_source(const void *options, int64_t i, int64_t size, int64_t out_size)
{
    (void)out_size;
    int64_t from = (i - ((const hki_roll_options *)options)->shift) % size;
    return from < 0 ? from + size : from;
}

static void roll_reference(const hki_call *call, const double *const *in, double *const *out)
{
    refer(call, ((const hki_roll_options *)call->options)->axis, roll_source, in[0], out[0]);
}

static const hki_sample roll_samples[] = {
    {.inputs = {HKI_SHAPE(5)}, HKI_GIVEN(roll, 2, 0)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(roll, -7, -1)},
    {.inputs = {HKI_SHAPE(4, 0)}, HKI_GIVEN(roll, 1, 1)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(roll, 0, 0)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(roll, 5, 1)},
};
OPERATOR(roll, "x shifted along an axis: what falls off the end comes in at the front.");

/* ---- repeat, tile ------------------------------------------------------------------------------------- */

#define REPEAT_ARGUMENTS(F, op)                                                                    \
    F(op, INT, repeats, "", "how often")                                                           \
    F(op, INT, axis, "", "a negative one counts from the last")
HKI_ARGUMENTS(repeat, REPEAT_ARGUMENTS)
HKI_ARGUMENTS(tile, REPEAT_ARGUMENTS)

static bool repeat_infer(hki_call *call)
{
    const hki_repeat_options *o = call->options;
    return infer_axis(call, o->axis, o->repeats);
}

static bool tile_infer(hki_call *call)
{
    return repeat_infer(call);
}

/* x stretched along a new axis, in front of `axis` or behind it, and the two made one. */
static hk_array *stretch(const hki_call *call, bool behind)
{
    const hki_repeat_options *o = call->options;
    hk_array *x = call->arrays[0];
    const int axis = hki_axis_from_front(o->axis, x->shape.ndim);
    hki_view_layout layout = {.shape = {.ndim = 3, .dims = {1, x->shape.dims[axis], 1}}};
    for (int i = 0; i < x->shape.ndim; i++)
        layout.shape.dims[i < axis ? 0 : 2] *= i != axis ? x->shape.dims[i] : 1;
    hki_reshape_options lines = {.shape = layout.shape}, back = {.shape = call->out_shape[0]};
    hki_layout_insert(&layout, 1 + behind, 1, 0);
    hki_reshape_options apart = {.shape = layout.shape};
    layout.shape.dims[1 + behind] = o->repeats;
    x = hki_op_call1(&hki_op_reshape, hki_op_call1(&hki_op_reshape, x, &lines), &apart);
    return hki_op_call1(&hki_op_reshape,
                        hki_op_call1(&hki_op_copy, (hk_broadcast_to)(x, layout.shape), NULL),
                        &back);
}

static hk_array *repeat_compose(const hki_call *call)
{
    return stretch(call, true);
}

static hk_array *tile_compose(const hki_call *call)
{
    return stretch(call, false);
}

static int64_t repeat_source(const void *options, int64_t i, int64_t size, int64_t out_size)
{
    (void)size, (void)out_size;
    return i / ((const hki_repeat_options *)options)->repeats;
}

static int64_t tile_source(const void *options, int64_t i, int64_t size, int64_t out_size)
{
    (void)options, (void)out_size;
    return i % size;
}

static void repeat_reference(const hki_call *call, const double *const *in, double *const *out)
{
    refer(call, ((const hki_repeat_options *)call->options)->axis, repeat_source, in[0], out[0]);
}

static void tile_reference(const hki_call *call, const double *const *in, double *const *out)
{
    refer(call, ((const hki_tile_options *)call->options)->axis, tile_source, in[0], out[0]);
}

#define REPEAT_SAMPLES(op)                                                                         \
    static const hki_sample op##_samples[] = {                                                     \
        {.inputs = {HKI_SHAPE(5)}, HKI_GIVEN(op, 2, 0)},                                           \
        {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(op, 3, -1)},                                       \
        {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(op, 0, 0)},                                        \
        {.inputs = {HKI_SHAPE(4, 0)}, HKI_GIVEN(op, 2, 1)},                                        \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4)}, HKI_GIVEN(op, 2, 1)},         \
    }
REPEAT_SAMPLES(repeat);
REPEAT_SAMPLES(tile);
OPERATOR(repeat, "Each entry of an axis several times in a row.");
OPERATOR(tile, "x several times, one behind the other along an axis.");

/* ---- pad ---------------------------------------------------------------------------------------------- */

#define PAD_ARGUMENTS(F, op)                                                                       \
    F(op, INT, axis, "", "a negative one counts from the last")                                    \
    F(op, INT2, width, "", "entries added in front and behind")                                    \
    F(op, INT, mode, "", "an hk_pad_mode")                                                         \
    F(op, F64, value, "", "what HK_PAD_CONSTANT adds")
HKI_ARGUMENTS(pad, PAD_ARGUMENTS)

static bool pad_infer(hki_call *call)
{
    const hki_pad_options *o = call->options;
    int64_t axis = o->axis, *size;
    if (!infer_axis(call, axis, 1) ||
        !hki_call_take_axis(call, "axis", &axis, call->out_shape[0].ndim))
        return false;
    if (o->mode < HK_PAD_CONSTANT || o->mode > HK_PAD_WRAP)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "mode is %" PRId64 ", but must be an hk_pad_mode, 0 to 3", o->mode);
    size = &call->out_shape[0].dims[axis];
    const int64_t limits[] = {INT64_MAX >> 2, *size ? INT64_MAX >> 2 : 0, *size - 1, *size};
    for (int i = 0; i < 2; i++)
        if (o->width[i] < 0 || (o->width[i] > 0 && o->width[i] > limits[o->mode]))
            return hki_call_refuse(
                call, HK_OUT_OF_RANGE,
                "width[%d] is %" PRId64 ", but axis %" PRId64 " of x has %" PRId64
                " entries, so that in mode %" PRId64 " it must be from 0 to %" PRId64,
                i, o->width[i], axis, *size, o->mode, limits[o->mode] > 0 ? limits[o->mode] : 0);
    hk_complex element;
    if (o->mode == HK_PAD_CONSTANT && !hki_dtype_store(call->out_dtype[0], &element, o->value))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "value is %g, but %s has no such value",
                               o->value, hk_dtype_name(call->out_dtype[0]));
    *size += o->width[0] + o->width[1];
    return true;
}

/* What is added on one side. */
static hk_array *padding(const hki_call *call, int axis, bool behind)
{
    const hki_pad_options *o = call->options;
    hk_array *x = call->arrays[0];
    int64_t size = x->shape.dims[axis], width = o->width[behind];
    hk_dims shape = x->shape;
    shape.dims[axis] = width;
    if (width == 0)
        return (hk_slice)(x, axis, 0, 0);
    if (o->mode == HK_PAD_CONSTANT) {
        hki_full_options full = {.shape = shape, .value = o->value, .dtype = x->dtype};
        return hki_op_call(&hki_op_full, NULL, 0, &full, (hk_device){call->device}, NULL);
    }
    int64_t begin = o->mode == HK_PAD_WRAP ? (behind ? 0 : size - width)
                    : behind               ? size - 1 - width
                                           : 1;
    if (o->mode == HK_PAD_EDGE)
        return (hk_broadcast_to)((hk_slice)(x, axis, behind ? size - 1 : 0, behind ? size : 1),
                                 shape);
    x = (hk_slice)(x, axis, begin, begin + width);
    return o->mode == HK_PAD_WRAP ? x : hki_op_call1(&hki_op_flip, x, &(int64_t){axis});
}

static hk_array *pad_compose(const hki_call *call)
{
    const hki_pad_options *o = call->options;
    hk_array *x = call->arrays[0];
    const int axis = hki_axis_from_front(o->axis, x->shape.ndim);
    return hki_concat((hk_array *const[]){padding(call, axis, false), x, padding(call, axis, true)},
                      3, axis);
}

static void pad_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_pad_options *o = call->options;
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_lines from = hki_lines_of(shape->ndim, shape->dims, o->axis),
                    to = hki_lines_of(shape->ndim, call->out_shape[0].dims, o->axis);
    const int64_t size = from.size;
    for (int64_t i = 0; i < to.count * to.size; i++) {
        int64_t row = i / to.inner / to.size, at = i / to.inner % to.size - o->width[0];
        bool inside = at >= 0 && at < size;
        if (o->mode == HK_PAD_EDGE)
            at = at < 0 ? 0 : at >= size ? size - 1 : at;
        else if (o->mode == HK_PAD_REFLECT)
            at = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
        else if (o->mode == HK_PAD_WRAP)
            at = at < 0 ? at + size : at >= size ? at - size : at;
        out[0][i] = o->mode == HK_PAD_CONSTANT && !inside
                        ? o->value
                        : in[0][(row * size + at) * to.inner + i % to.inner];
    }
}

static const hki_sample pad_samples[] = {
    {.inputs = {HKI_SHAPE(5)}, HKI_GIVEN(pad, 0, {2, 3}, HK_PAD_CONSTANT, 1)},
    {.inputs = {HKI_SHAPE(0)}, HKI_GIVEN(pad, 0, {2, 0}, HK_PAD_CONSTANT, 1)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(pad, -1, {2, 5}, HK_PAD_EDGE, 0)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(pad, 0, {3, 2}, HK_PAD_REFLECT, 0)},
    {.inputs = {HKI_SHAPE(4, 3)}, HKI_GIVEN(pad, 0, {4, 1}, HK_PAD_WRAP, 0)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4)},
     HKI_GIVEN(pad, 1, {2, 2}, HK_PAD_REFLECT, 0)},
};
OPERATOR(pad, "x with entries added at both ends of an axis.");
