/* Transposed convolution: what a convolution does to a gradient, done forward. */
#include "op/conv/conv2d.h"
#include "op/shape/reshape.h"

#include <string.h>

#define CONV2D_TRANSPOSE_OPTIONS(F, op)                                                            \
    CONV2D_OPTIONS(F, op)                                                                          \
    F(op, INT2, output_padding, "{0, 0}",                                                          \
      "rows added below, columns to the right; less than stride")
HKI_OPTIONS(conv2d_transpose, CONV2D_TRANSPOSE_OPTIONS)

enum { X, WEIGHT, BIAS };

/* Along one of the two axes. */
static int64_t out_size(const hki_call *call, int axis)
{
    const hki_conv2d_transpose_options *o = call->options;
    const int64_t stride = o->stride[axis] ? o->stride[axis] : 1;
    const int64_t dilation = o->dilation[axis] ? o->dilation[axis] : 1;
    return (call->inputs[X]->shape.dims[2 + axis] - 1) * stride - 2 * o->padding[axis] +
           hki_conv2d_span(call->inputs[WEIGHT]->shape.dims[2 + axis], dilation) +
           o->output_padding[axis];
}

static bool check_output_padding(hki_call *call)
{
    const hki_conv2d_transpose_options *o = call->options;
    for (int i = 0; i < 2; i++) {
        const int64_t stride = o->stride[i] ? o->stride[i] : 1;
        if (o->output_padding[i] < 0 || o->output_padding[i] >= stride)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "output_padding[%d] is %lld; it may be 0 … %lld, less than the "
                                   "stride",
                                   i, (long long)o->output_padding[i], (long long)stride - 1);
        /* Of a view that is broadcast to very many rows, more than can be counted. */
        if ((double)call->inputs[X]->shape.dims[2 + i] * (double)stride > 0x1p60)
            return hki_call_refuse(
                call, HK_INVALID_ARGUMENT, "stride[%d] is %lld, which makes too many of %lld", i,
                (long long)stride, (long long)call->inputs[X]->shape.dims[2 + i]);
        if (out_size(call, i) < 1)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "padding[%d] is %lld, which leaves nothing of the result", i,
                                   (long long)o->padding[i]);
    }
    return true;
}

static bool check_channels(hki_call *call)
{
    const hki_shape_view *x = call->inputs[X], *weight = call->inputs[WEIGHT];
    const hki_shape_view *bias = call->input_count > BIAS ? call->inputs[BIAS] : NULL;
    const int64_t groups = hki_conv2d_groups(call->options);
    char text[256], weight_text[256];
    hki_dims_describe(&weight->shape, weight_text, sizeof weight_text);
    if (groups < 0 || weight->shape.dims[0] % groups)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "groups is %lld; it must divide the %lld channels of weight %s, or "
                               "be 0 for the default, 1",
                               (long long)groups, (long long)weight->shape.dims[0], weight_text);
    const int64_t outputs = weight->shape.dims[1] * groups;
    hki_dims_describe(&x->shape, text, sizeof text);
    if (weight->shape.dims[0] != x->shape.dims[1])
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "weight %s is for %lld channels, x %s has %lld", weight_text,
                               (long long)weight->shape.dims[0], text, (long long)x->shape.dims[1]);
    if (bias && (bias->shape.ndim != 1 || bias->shape.dims[0] != outputs)) {
        hki_dims_describe(&bias->shape, text, sizeof text);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "bias is %s, but must be (%lld,): one for each output of weight %s",
                               text, (long long)outputs, weight_text);
    }
    return true;
}

static bool transpose_infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[X], *weight = call->inputs[WEIGHT];
    const hki_shape_view *bias = call->input_count > BIAS ? call->inputs[BIAS] : NULL;
    if (!hki_conv2d_check_axes(call, "x", x, "samples, channels, height, width", true) ||
        !hki_conv2d_check_axes(call, "weight", weight, "channels, outputs, height, width", false) ||
        !hki_conv2d_check_dtype(call, "weight", weight) ||
        (bias && !hki_conv2d_check_dtype(call, "bias", bias)) ||
        !hki_conv2d_check_options(call, call->options) || !check_channels(call) ||
        !check_output_padding(call))
        return false;
    call->out_shape[0] = (hk_dims){
        .ndim = 4,
        .dims = {x->shape.dims[0], weight->shape.dims[1] * hki_conv2d_groups(call->options),
                 out_size(call, 0), out_size(call, 1)}};
    call->out_dtype[0] = x->dtype;
    return true;
}

static hki_conv2d_backward_data_options data_options(const hki_call *call)
{
    hki_conv2d_backward_data_options data = {.size = {out_size(call, 0), out_size(call, 1)}};
    memcpy(&data, call->options, sizeof(hki_conv2d_options));
    return data;
}

static hk_array *transpose_compose(const hki_call *call)
{
    const hki_conv2d_backward_data_options data = data_options(call);
    hk_array *bias = call->input_count > BIAS ? call->arrays[BIAS] : NULL;
    hk_array *y =
        hki_op_call2(&hki_op_conv2d_backward_data, call->arrays[X], call->arrays[WEIGHT], &data);
    if (!bias)
        return y;
    const hki_reshape_options column = {.shape = HKI_SHAPE(bias->size, 1, 1)};
    return hki_op_call2(&hki_op_add, y, hki_op_call1(&hki_op_reshape, bias, &column), NULL);
}

static void transpose_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_conv2d_backward_data_options data = data_options(call);
    hki_call as = *call;
    as.options = &data;
    hki_conv2d_data_reference(&as, in, out);
    const int64_t *dims = call->out_shape[0].dims, plane = dims[2] * dims[3];
    for (int64_t i = 0; call->inputs[BIAS] && i < dims[0] * dims[1] * plane; i++)
        out[0][i] += in[BIAS][i / plane % dims[1]];
}

#define OPTIONS(...)                                                                               \
    &(const hki_conv2d_transpose_options)                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const hki_sample transpose_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 4, 5), HKI_SHAPE(3, 2, 3, 2), HKI_SHAPE(2)}},
    {.inputs = {HKI_SHAPE(2, 3, 4, 3), HKI_SHAPE(3, 2, 3, 4), HKI_SHAPE_NONE},
     .options = OPTIONS(.stride = {2, 3}, .padding = {1, 2}, .output_padding = {1, 2})},
    {.inputs = {HKI_SHAPE(2, 4, 3, 3), HKI_SHAPE(4, 3, 2, 3), HKI_SHAPE(6)},
     .options = OPTIONS(.stride = {1, 2}, .dilation = {2, 1}, .groups = 2)},
    {.inputs = {HKI_SHAPE(0, 3, 4, 5), HKI_SHAPE(3, 2, 3, 2), HKI_SHAPE(2)}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(2, 3, 4, 5), HKI_SHAPE(3, 2, 3, 2), HKI_SHAPE(2)}},
};

const hk_op hki_op_conv2d_transpose = {
    HKI_OP_NAMED(conv2d_transpose),
    HKI_OP_PARAMS(conv2d_transpose),
    HKI_OP_SAMPLES(transpose_samples),
    .signature = "x, weight, bias?",
    .doc = "Transposed convolution (fractionally strided; Zeiler et al. 2010): the gradient of "
           "hk_conv2d with respect to its x, done to x (n,channels,height,width). weight is "
           "(channels,outputs/groups,rows,columns), bias (outputs), the result "
           "(n,outputs,height',width'), where height' = (height - 1) stride - 2 padding + dilation "
           "(rows - 1) + 1 + output_padding, and width' likewise: the size of an x from which a "
           "convolution with these options makes (height,width).",
    .formula = "y[n,o,i*stride-padding+u*dilation,j*stride-padding+v*dilation] += "
               "weight[c,o,u,v] * x[n,c,i,j]",
    .dtypes = HKI_FLOATS,
    .infer = transpose_infer,
    .compose = transpose_compose,
    .reference = transpose_reference,
    .tolerance_f32 = 1e-5,
};
