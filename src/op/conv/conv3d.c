/* Convolution of volumes, and its transpose, by those of images: what a window has along the depth are channels of one image. */
#include "op/call/composed.h"
#include "op/conv/conv2d.h"

#include <stdlib.h>
#include <string.h>

#define CONV3D_OPTIONS(F, op)                                                                      \
    F(op, INT3, stride, "{1, 1, 1}", "from one window to the next, along depth, rows and columns") \
    F(op, INT3, padding, "{0, 0, 0}", "zeros at either end of the three axes")                     \
    F(op, INT3, dilation, "{1, 1, 1}", "from one element of a window to the next")                 \
    F(op, INT, groups, "1", "parts of the channels, each seen by as large a part of the outputs")
#define CONV3D_TRANSPOSE_OPTIONS(F, op)                                                            \
    CONV3D_OPTIONS(F, op)                                                                          \
    F(op, INT3, output_padding, "{0, 0, 0}",                                                       \
      "added at the far end of the three axes; less than stride")
HKI_OPTIONS(conv3d, CONV3D_OPTIONS)
HKI_OPTIONS(conv3d_transpose, CONV3D_TRANSPOSE_OPTIONS)

enum { X, WEIGHT, BIAS };

static hki_conv_axes axes_of(const hki_call *call)
{
    const hki_conv3d_options *o = call->options; /* those of a transposed one begin alike */
    const bool is_transposed = call->op == &hki_op_conv3d_transpose;
    return (hki_conv_axes){
        .count = 3,
        .stride = o->stride,
        .padding = o->padding,
        .dilation = o->dilation,
        .output_padding =
            is_transposed ? ((const hki_conv3d_transpose_options *)(const void *)o)->output_padding
                          : NULL,
        .groups = o->groups};
}

static bool conv3d_infer(hki_call *call)
{
    const hki_conv_axes axes = axes_of(call);
    return axes.output_padding ? hki_conv_transpose_infer(call, &axes)
                               : hki_conv_infer(call, &axes);
}

/* ---- composed ------------------------------------------------------------------------------------------- */

enum { DEPTH = 2 };

/* Zeros before and behind; negative: entries that go. */
static hk_array *resized(hk_array *x, int axis, int64_t before, int64_t behind)
{
    const int64_t size = x->shape.dims[axis];
    const int64_t width[] = {before > 0 ? before : 0, behind > 0 ? behind : 0};
    if (before < 0 || behind < 0)
        x = (hk_slice)(x, axis, before < 0 ? -before : 0, size + (behind < 0 ? behind : 0));
    return width[0] + width[1] == 0 ? x : hki_padded(x, axis, width[0], width[1], 0);
}

/* (outputs, channels, depth, rows, columns) as those of images that have all of a window's depth as channels. */
static hk_array *flat_weight(hk_array *weight)
{
    const int64_t *w = weight->shape.dims;
    return hki_shaped(weight, (hk_dims){.ndim = 4, .dims = {w[0], w[1] * w[2], w[3], w[4]}});
}

static hki_conv2d_options of_images(const hki_conv_axes *o)
{
    return (hki_conv2d_options){.stride = {o->stride[1], o->stride[2]},
                                .padding = {o->padding[1], o->padding[2]},
                                .dilation = {o->dilation[1], o->dilation[2]},
                                .groups = o->groups};
}

/* x (n, channels, depth, height, width), padded, as (n, depth', channels, slices, height, width): what each window has. */
static hk_array *windows_of(const hki_call *call, const hki_conv_axes *o, hk_array *x)
{
    const int64_t count = call->out_shape[0].dims[DEPTH], axis = 3;
    const int64_t taps = call->inputs[WEIGHT]->shape.dims[DEPTH];
    hk_array **slices = malloc((size_t)taps * sizeof(hk_array *));
    if (!slices)
        return hki_array_create_failed(call->device, call->operation, &x, 1, HK_OUT_OF_MEMORY,
                                       "there was no host memory for the list of slices");
    x = hki_axis_moved(x, DEPTH, 1);
    for (int64_t k = 0; k < taps; k++) {
        const int64_t step = hki_conv_stride(o, 0), begin = k * hki_conv_dilation(o, 0);
        slices[k] = hki_op_call1(&hki_op_slice_step, x,
                                 (const int64_t[]){1, begin, begin + (count - 1) * step + 1, step});
    }
    hk_array *windows =
        taps == 1 ? hki_expanded(slices[0], axis)
                  : hki_op_call(&hki_op_stack, slices, (int)taps, &axis, (hk_device){NULL}, NULL);
    free(slices);
    return windows;
}

static hk_array *conv3d_compose(const hki_call *call)
{
    const hki_conv_axes o = axes_of(call);
    const hki_conv2d_options options = of_images(&o);
    const int64_t *y = call->out_shape[0].dims, *w = call->inputs[WEIGHT]->shape.dims;
    hk_array *x = resized(call->arrays[X], DEPTH, o.padding[0], o.padding[0]);
    const int64_t *dims = x->shape.dims;
    const hk_dims images = {.ndim = 4,
                            .dims = {y[0] * y[DEPTH], dims[1] * w[DEPTH], dims[3], dims[4]}};
    hk_array *result = hki_op_call3(&hki_op_conv2d, hki_shaped(windows_of(call, &o, x), images),
                                    flat_weight(call->arrays[WEIGHT]),
                                    call->input_count > BIAS ? call->arrays[BIAS] : NULL, &options);
    result = hki_shaped(result, (hk_dims){.ndim = 5, .dims = {y[0], y[DEPTH], y[1], y[3], y[4]}});
    return hki_axis_moved(result, 1, DEPTH);
}

/* An axis with stride - 1 zeros between its entries. */
static hk_array *spread(hk_array *x, int axis, int64_t stride)
{
    const int64_t size = x->shape.dims[axis];
    hk_dims shape = x->shape;
    if (stride == 1)
        return x;
    shape.dims[axis] *= stride;
    x = hki_padded(hki_expanded(x, axis + 1), axis + 1, 0, stride - 1, 0);
    return (hk_slice)(hki_shaped(x, shape), axis, 0, (size - 1) * stride + 1);
}

/* Each image of x becomes one for each element of a window's depth. They are added up where they lie. */
static hk_array *transpose_compose(const hki_call *call)
{
    const hki_conv_axes o = axes_of(call);
    const hki_conv3d_transpose_options *all = call->options;
    hki_conv2d_transpose_options options = {.groups = o.groups};
    const int64_t *y = call->out_shape[0].dims, *dims = call->inputs[X]->shape.dims;
    const int64_t taps = call->inputs[WEIGHT]->shape.dims[DEPTH], depth = dims[DEPTH];
    const int64_t reach = (depth - 1) * hki_conv_stride(&o, 0) + 1;
    const hki_conv2d_options images = of_images(&o);
    memcpy(&options, &images, sizeof images);
    memcpy(options.output_padding, all->output_padding + 1, sizeof options.output_padding);
    hk_array *x =
        hki_shaped(hki_axis_moved(call->arrays[X], DEPTH, 1),
                   (hk_dims){.ndim = 4, .dims = {dims[0] * depth, dims[1], dims[3], dims[4]}});
    hk_array *parts = hki_op_call3(&hki_op_conv2d_transpose, x, flat_weight(call->arrays[WEIGHT]),
                                   NULL, &options);
    const hk_dims taps_first = {.ndim = 6, .dims = {3, 0, 2, 1, 4, 5}};
    parts =
        hki_shaped(parts, (hk_dims){.ndim = 6, .dims = {dims[0], depth, y[1], taps, y[3], y[4]}});
    parts = hki_op_call1(&hki_op_permute_dims, parts, &taps_first);
    hk_array *sum = NULL;
    for (int64_t k = 0; k < taps; k++) {
        const int64_t before = k * hki_conv_dilation(&o, 0) - o.padding[0];
        const int64_t behind = y[DEPTH] - before - reach;
        hk_array *part = hki_squeezed((hk_slice)(parts, 0, k, k + 1), 0);
        part = spread(part, DEPTH, hki_conv_stride(&o, 0));
        if (before >= y[DEPTH] || behind >= y[DEPTH]) /* it is all in what padding takes away */
            part = resized((hk_slice)(part, DEPTH, 0, 0), DEPTH, 0, y[DEPTH]);
        else
            part = resized(part, DEPTH, before, behind);
        sum = sum ? hki_op_call2(&hki_op_add, sum, part, NULL) : part;
    }
    if (call->input_count <= BIAS || !call->arrays[BIAS])
        return sum;
    hk_array *bias = hki_shaped(call->arrays[BIAS], (hk_dims){.ndim = 4, .dims = {y[1], 1, 1, 1}});
    return hki_op_call2(&hki_op_add, sum, bias, NULL);
}

/* ---- plainly --------------------------------------------------------------------------------------------- */

/* Walks over all products of the larger volume, the weights and the smaller one; a convolution sums those of an element of the
 * smaller one, a transposed one those of the larger. */
static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_conv_axes o = axes_of(call);
    const bool is_transposed = o.output_padding;
    const hk_dims *large = is_transposed ? &call->out_shape[0] : &call->inputs[X]->shape;
    const hk_dims *small = is_transposed ? &call->inputs[X]->shape : &call->out_shape[0];
    const int64_t *w = call->inputs[WEIGHT]->shape.dims, *y = call->out_shape[0].dims;
    const int64_t groups = o.groups ? o.groups : 1, outputs = small->dims[1] / groups;
    const int64_t plane = y[2] * y[3] * y[4];
    for (int64_t i = 0; i < y[0] * y[1] * plane; i++)
        out[0][i] = call->input_count > BIAS && call->inputs[BIAS] ? in[BIAS][i / plane % y[1]] : 0;
    int64_t size = 0;
    hki_dims_size(small, &size);
    for (int64_t i = 0; i < size; i++) {
        const int64_t *s = small->dims, *l = large->dims;
        const int64_t at[] = {i / s[4] / s[3] % s[2], i / s[4] % s[3], i % s[4]};
        const int64_t output = i / s[4] / s[3] / s[2] % s[1],
                      sample = i / s[4] / s[3] / s[2] / s[1];
        for (int64_t j = 0; j < w[1] * w[2] * w[3] * w[4]; j++) {
            const int64_t tap[] = {j / w[4] / w[3] % w[2], j / w[4] % w[3], j % w[4]};
            const int64_t channel = output / outputs * w[1] + j / w[4] / w[3] / w[2];
            int64_t place = sample * l[1] + channel;
            bool is_inside = true;
            for (int axis = 0; axis < 3; axis++) {
                const int64_t where = at[axis] * hki_conv_stride(&o, axis) - o.padding[axis] +
                                      tap[axis] * hki_conv_dilation(&o, axis);
                is_inside = is_inside && where >= 0 && where < l[2 + axis];
                place = place * l[2 + axis] + where;
            }
            const double weight = in[WEIGHT][output * w[1] * w[2] * w[3] * w[4] + j];
            if (is_inside)
                out[0][is_transposed ? place : i] += weight * in[X][is_transposed ? i : place];
        }
    }
}

static const hki_sample conv3d_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 4, 5, 4), HKI_SHAPE(4, 3, 2, 3, 2), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(1, 2, 6, 5, 7), HKI_SHAPE(3, 2, 3, 2, 3), HKI_SHAPE_NONE},
     HKI_GIVEN(conv3d, .stride = {2, 1, 2}, .padding = {1, 2, 0}, .dilation = {2, 1, 2})},
    {.inputs = {HKI_SHAPE(2, 4, 3, 4, 4), HKI_SHAPE(6, 2, 1, 3, 3), HKI_SHAPE(6)},
     HKI_GIVEN(conv3d, .padding = {0, 1, 1}, .groups = 2)},
    {.inputs = {HKI_SHAPE(0, 3, 4, 5, 4), HKI_SHAPE(4, 3, 2, 3, 2), HKI_SHAPE_NONE}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4, 5, 4), HKI_SHAPE(4, 3, 2, 3, 2), HKI_SHAPE(4)}},
};

const hk_op hki_op_conv3d = {
    HKI_OP_NAMED(conv3d),
    HKI_OP_PARAMS(conv3d),
    HKI_OP_SAMPLES(conv3d_samples),
    .signature = "x, weight, bias?",
    .doc = "Three-dimensional convolution (cross-correlation) of x (n,channels,depth,height,width) "
           "with weight (outputs,channels/groups,slices,rows,columns), plus bias (outputs): "
           "(n,outputs,depth',height',width'), of the dtype of all three, where depth' = (depth + "
           "2 padding - dilation (slices - 1) - 1) / stride + 1, rounded down, and height' and "
           "width' likewise. Made of one hk_conv2d, whose images have the slices of a window as "
           "channels: memory for x grows by their number, for the time of the call.",
    .formula = "y[n,o,h,i,j] = bias[o] + sum over c, t, u, v of weight[o,c,t,u,v] * x[n,c,h*stride-"
               "padding+t*dilation,i*stride-padding+u*dilation,j*stride-padding+v*dilation]",
    .dtypes = HKI_FLOATS,
    .infer = conv3d_infer,
    .compose = conv3d_compose,
    .reference = reference,
    .tolerance_f32 = 1e-5,
};

static const hki_sample transpose_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 2, 3, 3), HKI_SHAPE(3, 2, 3, 2, 2), HKI_SHAPE(2)}},
    {.inputs = {HKI_SHAPE(1, 2, 3, 2, 3), HKI_SHAPE(2, 2, 2, 3, 2), HKI_SHAPE_NONE},
     HKI_GIVEN(conv3d_transpose, .stride = {3, 2, 1}, .padding = {1, 0, 1},
               .output_padding = {2, 1, 0})},
    {.inputs = {HKI_SHAPE(2, 4, 2, 3, 2), HKI_SHAPE(4, 3, 3, 2, 2), HKI_SHAPE(6)},
     HKI_GIVEN(conv3d_transpose, .padding = {2, 0, 0}, .dilation = {2, 1, 2}, .groups = 2)},
    {.inputs = {HKI_SHAPE(0, 3, 2, 3, 3), HKI_SHAPE(3, 2, 3, 2, 2), HKI_SHAPE_NONE}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 2, 3, 3), HKI_SHAPE(3, 2, 3, 2, 2), HKI_SHAPE(2)}},
};

const hk_op hki_op_conv3d_transpose = {
    HKI_OP_NAMED(conv3d_transpose),
    HKI_OP_PARAMS(conv3d_transpose),
    HKI_OP_SAMPLES(transpose_samples),
    .signature = "x, weight, bias?",
    .doc = "Transposed convolution of volumes: the gradient of hk_conv3d with respect to its x, "
           "done to x (n,channels,depth,height,width). weight is "
           "(channels,outputs/groups,slices,rows,columns), bias (outputs), the result "
           "(n,outputs,depth',height',width'), where depth' = (depth - 1) stride - 2 padding + "
           "dilation (slices - 1) + 1 + output_padding, and height' and width' likewise. Made of "
           "one hk_conv2d_transpose.",
    .formula = "y[n,o,h*stride-padding+t*dilation,i*stride-padding+u*dilation,j*stride-padding+"
               "v*dilation] += weight[c,o,t,u,v] * x[n,c,h,i,j]",
    .dtypes = HKI_FLOATS,
    .infer = conv3d_infer,
    .compose = transpose_compose,
    .reference = reference,
    .tolerance_f32 = 1e-5,
};
