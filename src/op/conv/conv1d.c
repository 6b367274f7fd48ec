/* Convolution of sequences. */
#include "op/conv/conv2d.h"
#include "op/conv/one_row.h"

#define CONV1D_OPTIONS(F, op)                                                                      \
    F(op, INT, stride, "1", "elements from one window to the next")                                \
    F(op, INT, padding, "0", "zeros at either end")                                                \
    F(op, INT, dilation, "1", "elements between those of a window")                                \
    F(op, INT, groups, "1", "parts of the channels, each seen by as large a part of the outputs")
HKI_OPTIONS(conv1d, CONV1D_OPTIONS)

static hki_conv2d_options options_of(const hki_call *call)
{
    const hki_conv1d_options *o = call->options;
    return (hki_conv2d_options){.stride = {1, o->stride},
                                .padding = {0, o->padding},
                                .dilation = {1, o->dilation},
                                .groups = o->groups};
}

static hki_one_row as_images(const hki_conv2d_options *options)
{
    return (hki_one_row){.op = &hki_op_conv2d, .options = options, .sequences = 1 | 2};
}

static bool conv1d_infer(hki_call *call)
{
    const hki_conv2d_options options = options_of(call);
    const hki_one_row as = as_images(&options);
    return hki_one_row_infer(call, &as);
}

static hk_array *conv1d_compose(const hki_call *call)
{
    const hki_conv2d_options options = options_of(call);
    const hki_one_row as = as_images(&options);
    return hki_one_row_compose(call, &as);
}

static void conv1d_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_conv2d_options options = options_of(call);
    const hki_one_row as = as_images(&options);
    hki_one_row_reference(call, &as, in, out);
}

static const hki_sample conv1d_samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 7), HKI_SHAPE(4, 3, 2), HKI_SHAPE(4)}},
    {.inputs = {HKI_SHAPE(2, 4, 9), HKI_SHAPE(6, 2, 3), HKI_SHAPE_NONE},
     .options = &(const hki_conv1d_options){.stride = 2, .padding = 2, .dilation = 2, .groups = 2}},
    {.inputs = {HKI_SHAPE(0, 3, 7), HKI_SHAPE(4, 3, 2), HKI_SHAPE_NONE}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 7), HKI_SHAPE(4, 3, 2), HKI_SHAPE(4)}},
};

const hk_op hki_op_conv1d = {
    HKI_OP_NAMED(conv1d),
    HKI_OP_PARAMS(conv1d),
    HKI_OP_SAMPLES(conv1d_samples),
    .signature = "x, weight, bias?",
    .doc = "One-dimensional convolution (cross-correlation) of x (n,channels,length) with weight "
           "(outputs,channels/groups,size), plus bias (outputs): (n,outputs,length'), where "
           "length' = (length + 2 padding - dilation (size - 1) - 1) / stride + 1, rounded down. "
           "As hk_conv2d of images of one row.",
    .formula = "y[n,o,i] = bias[o] + sum over c, v of weight[o,c,v] * "
               "x[n,c,i*stride-padding+v*dilation]",
    .dtypes = HKI_FLOATS,
    .infer = conv1d_infer,
    .compose = conv1d_compose,
    .reference = conv1d_reference,
    .tolerance_f32 = 1e-5,
};
