/* Channels become squares of an image, and squares channels. */
#include "op/op.h"
#include "op/shape/reshape.h"

#include <inttypes.h>

#define SPACE_ARGUMENTS(F, op)                                                                     \
    F(op, INT, block, "", "height and width of a square, 1 at least")                              \
    F(op, BOOL, crd, "",                                                                           \
      "the channels of a square lie together, as in PyTorch's pixel_shuffle; else as many "        \
      "apart as the result has, as in ONNX's mode DCR")
HKI_ARGUMENTS(depth_to_space, SPACE_ARGUMENTS)
typedef hki_depth_to_space_options space_options;

static bool check(hki_call *call)
{
    const space_options *o = call->options;
    const hki_shape_view *x = call->inputs[0];
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim != 4)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x is %s, but needs 4 axes: samples, channels, height, width", text);
    if (o->block < 1 || o->block > INT32_MAX)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "block is %" PRId64 ", but must be from 1 to %d", o->block,
                               INT32_MAX);
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    return true;
}

static bool divides(hki_call *call, int axis, const char *name, int64_t by)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    char text[256];
    hki_dims_describe(shape, text, sizeof text);
    return shape->dims[axis] % by == 0 ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "x is %s, but its %s must be a multiple of %" PRId64
                           ", which block asks for",
                           text, name, by);
}

/* Of empty images sizes may grow beyond all bounds. */
static bool grow(hki_call *call, int axis, int64_t by)
{
    int64_t *size = &call->out_shape[0].dims[axis];
    if (*size > (INT64_MAX >> 2) / by)
        return hki_call_refuse(call, HK_OUT_OF_RANGE,
                               "block is %" PRId64 ", which makes axis %d of the result too long",
                               ((const space_options *)call->options)->block, axis);
    *size *= by;
    return true;
}

static bool to_space_infer(hki_call *call)
{
    if (!check(call))
        return false;
    const int64_t block = ((const space_options *)call->options)->block;
    if (!divides(call, 1, "number of channels", block * block))
        return false;
    call->out_shape[0].dims[1] /= block * block;
    return grow(call, 2, block) && grow(call, 3, block);
}

static bool to_depth_infer(hki_call *call)
{
    if (!check(call))
        return false;
    const int64_t block = ((const space_options *)call->options)->block;
    if (!divides(call, 2, "height", block) || !divides(call, 3, "width", block))
        return false;
    call->out_shape[0].dims[2] /= block;
    call->out_shape[0].dims[3] /= block;
    return grow(call, 1, block * block);
}

static hk_array *reordered(hk_array *x, const hk_dims *parts, const hk_dims *order,
                           const hk_dims *shape)
{
    const hki_reshape_options apart = {.shape = *parts}, together = {.shape = *shape};
    x = hki_op_call1(&hki_op_reshape, x, &apart);
    return hki_op_call1(&hki_op_reshape, hki_op_call1(&hki_op_permute_dims, x, order), &together);
}

static hk_array *to_space_compose(const hki_call *call)
{
    const space_options *o = call->options;
    const int64_t *x = call->inputs[0]->shape.dims, *y = call->out_shape[0].dims, b = o->block;
    const hk_dims by_channel = {.ndim = 6, .dims = {x[0], y[1], b, b, x[2], x[3]}};
    const hk_dims by_place = {.ndim = 6, .dims = {x[0], b, b, y[1], x[2], x[3]}};
    const hk_dims from_channel = {.ndim = 6, .dims = {0, 1, 4, 2, 5, 3}};
    const hk_dims from_place = {.ndim = 6, .dims = {0, 3, 4, 1, 5, 2}};
    return reordered(call->arrays[0], o->crd ? &by_channel : &by_place,
                     o->crd ? &from_channel : &from_place, &call->out_shape[0]);
}

static hk_array *to_depth_compose(const hki_call *call)
{
    const space_options *o = call->options;
    const int64_t *x = call->inputs[0]->shape.dims, *y = call->out_shape[0].dims, b = o->block;
    const hk_dims parts = {.ndim = 6, .dims = {x[0], x[1], y[2], b, y[3], b}};
    const hk_dims to_channel = {.ndim = 6, .dims = {0, 1, 3, 5, 2, 4}};
    const hk_dims to_place = {.ndim = 6, .dims = {0, 3, 5, 1, 2, 4}};
    return reordered(call->arrays[0], &parts, o->crd ? &to_channel : &to_place,
                     &call->out_shape[0]);
}

/* deep: the array of more channels, wide: the other one. Of element i of the wide one, where it is in the deep one. */
static int64_t place_in_deep(const space_options *o, const int64_t *wide, int64_t i)
{
    const int64_t b = o->block, column = i % wide[3], row = i / wide[3] % wide[2],
                  channel = i / wide[3] / wide[2] % wide[1],
                  sample = i / wide[3] / wide[2] / wide[1];
    const int64_t within = row % b * b + column % b;
    const int64_t deep = o->crd ? channel * b * b + within : within * wide[1] + channel;
    return ((sample * wide[1] * b * b + deep) * (wide[2] / b) + row / b) * (wide[3] / b) +
           column / b;
}

static void to_space_reference(const hki_call *call, const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][i] = in[0][place_in_deep(call->options, call->out_shape[0].dims, i)];
}

static void to_depth_reference(const hki_call *call, const double *const *in, double *const *out)
{
    for (int64_t i = 0; i < call->inputs[0]->size; i++)
        out[0][place_in_deep(call->options, call->inputs[0]->shape.dims, i)] = in[0][i];
}

static const hki_sample to_space_samples[] = {
    {.inputs = {HKI_SHAPE(2, 8, 3, 2)}, HKI_GIVEN(depth_to_space, 2, false)},
    {.inputs = {HKI_SHAPE(2, 8, 3, 2)}, HKI_GIVEN(depth_to_space, 2, true)},
    {.inputs = {HKI_SHAPE(1, 3, 2, 2)}, HKI_GIVEN(depth_to_space, 1, true)},
    {.inputs = {HKI_SHAPE(0, 9, 2, 2)}, HKI_GIVEN(depth_to_space, 3, true)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 18, 2, 3)},
     HKI_GIVEN(depth_to_space, 3, true)},
};
static const hki_sample to_depth_samples[] = {
    {.inputs = {HKI_SHAPE(2, 2, 6, 4)}, HKI_GIVEN(depth_to_space, 2, false)},
    {.inputs = {HKI_SHAPE(2, 2, 6, 4)}, HKI_GIVEN(depth_to_space, 2, true)},
    {.inputs = {HKI_SHAPE(0, 2, 3, 6)}, HKI_GIVEN(depth_to_space, 3, true)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 2, 6, 3)},
     HKI_GIVEN(depth_to_space, 3, false)},
};

#define SPACE(op, of, text)                                                                        \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_SAMPLES(of##_samples),                                                              \
        .params = depth_to_space_params,                                                           \
        .options_bytes = sizeof(space_options),                                                    \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .dtypes = HKI_ANY_DTYPE,                                                                   \
        .infer = of##_infer,                                                                       \
        .compose = of##_compose,                                                                   \
        .reference = of##_reference,                                                               \
    }

SPACE(depth_to_space, to_space,
      "Channels become squares of an image: x (n,c*block*block,h,w) gives (n,c,h*block,w*block). "
      "The channels that make a square go along its rows.");
SPACE(space_to_depth, to_depth,
      "Squares of an image become channels: x (n,c,h,w) gives (n,c*block*block,h/block,w/block), "
      "what hk_depth_to_space turns back.");
