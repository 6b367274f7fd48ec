/* Transposed convolution: what a convolution does to a gradient, done forward. */
#include "op/conv/conv2d.h"
#include "op/shape/reshape.h"

#include <string.h>

HKI_OPTIONS_TABLE(conv2d_transpose, CONV2D_TRANSPOSE_OPTIONS)

enum { X, WEIGHT, BIAS };

static bool transpose_infer(hki_call *call)
{
    const hki_conv2d_transpose_options *o = call->options;
    hki_conv_axes axes = hki_conv2d_axes((const hki_conv2d_options *)o);
    axes.output_padding = o->output_padding;
    return hki_conv_transpose_infer(call, &axes);
}

static hki_conv2d_backward_data_options data_options(const hki_call *call)
{
    const int64_t *dims = call->out_shape[0].dims;
    hki_conv2d_backward_data_options data = {.size = {dims[2], dims[3]}};
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
