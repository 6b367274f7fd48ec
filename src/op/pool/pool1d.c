/* Pooling of sequences. */
#include "op/conv/one_row.h"
#include "op/pool/pool2d.h"

#define MAX_POOL1D_OPTIONS(F, op)                                                                  \
    F(op, INT, kernel, "2", "elements of a window")                                                \
    F(op, INT, stride, "kernel", "elements from one window to the next")                           \
    F(op, INT, padding, "0", "at either end, that no element comes from; less than kernel")        \
    F(op, BOOL, ceil_mode, "false",                                                                \
      "the length is rounded up: a last window that begins within x or the padding before it "     \
      "counts")
#define AVG_POOL1D_OPTIONS(F, op)                                                                  \
    MAX_POOL1D_OPTIONS(F, op)                                                                      \
    F(op, BOOL, count_include_pad, "false", "padding counts as zeros, not as absent")
HKI_OPTIONS(max_pool1d, MAX_POOL1D_OPTIONS)
HKI_OPTIONS(avg_pool1d, AVG_POOL1D_OPTIONS)

/* The options of both begin alike; max_pool2d takes no more. */
static hki_avg_pool2d_options options_of(const hki_call *call)
{
    const hki_max_pool1d_options *o = call->options;
    const int64_t kernel = o->kernel ? o->kernel : 2, stride = o->stride ? o->stride : kernel;
    hki_avg_pool2d_options images = {.kernel = {1, kernel},
                                     .stride = {1, stride},
                                     .padding = {0, o->padding},
                                     .ceil_mode = o->ceil_mode};
    if (call->op == &hki_op_avg_pool1d)
        images.count_include_pad =
            ((const hki_avg_pool1d_options *)call->options)->count_include_pad;
    return images;
}

static hki_one_row as_images(const hki_call *call, const hki_avg_pool2d_options *options)
{
    return (hki_one_row){.op = call->op->data, .options = options, .sequences = 1};
}

static bool pool1d_infer(hki_call *call)
{
    const hki_avg_pool2d_options options = options_of(call);
    const hki_one_row as = as_images(call, &options);
    return hki_one_row_infer(call, &as);
}

static hk_array *pool1d_compose(const hki_call *call)
{
    const hki_avg_pool2d_options options = options_of(call);
    const hki_one_row as = as_images(call, &options);
    return hki_one_row_compose(call, &as);
}

static void pool1d_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_avg_pool2d_options options = options_of(call);
    const hki_one_row as = as_images(call, &options);
    hki_one_row_reference(call, &as, in, out);
}

#define SAMPLES(op)                                                                                \
    {.inputs = {HKI_SHAPE(2, 3, 6)}},                                                              \
        {.inputs = {HKI_SHAPE(2, 2, 9)},                                                           \
         .options = &(const hki_##op##_options){.kernel = 4, .stride = 3, .padding = 2}},          \
        {.inputs = {HKI_SHAPE(2, 2, 8)},                                                           \
         .options = &(const hki_##op##_options){.kernel = 3, .ceil_mode = true}},                  \
        {.inputs = {HKI_SHAPE(0, 2, 4)}},                                                          \
    {                                                                                              \
        .kind = HKI_SAMPLE_STRIDED, .inputs = { HKI_SHAPE(2, 3, 7) }                               \
    }

static const hki_sample max_samples[] = {SAMPLES(max_pool1d)};
static const hki_sample avg_samples[] = {
    SAMPLES(avg_pool1d),
    {.inputs = {HKI_SHAPE(2, 2, 6)},
     .options =
         &(const hki_avg_pool1d_options){.kernel = 3, .padding = 1, .count_include_pad = true}},
};

const hk_op hki_op_max_pool1d = {
    HKI_OP_NAMED(max_pool1d),
    HKI_OP_PARAMS(max_pool1d),
    HKI_OP_SAMPLES(max_samples),
    .signature = "x",
    .doc = "Largest element of each window of x (n,channels,length): (n,channels,length'), where "
           "length' = (length + 2 padding - kernel) / stride + 1, rounded down unless ceil_mode. "
           "As hk_max_pool2d "
           "of images of one row.",
    .formula = "y[n,c,i] = max over v of x[n,c,i*stride-padding+v]",
    .dtypes = HKI_FLOATS,
    .infer = pool1d_infer,
    .compose = pool1d_compose,
    .reference = pool1d_reference,
    .data = &hki_op_max_pool2d,
};

const hk_op hki_op_avg_pool1d = {
    HKI_OP_NAMED(avg_pool1d),
    HKI_OP_PARAMS(avg_pool1d),
    HKI_OP_SAMPLES(avg_samples),
    .signature = "x",
    .doc = "Mean of each window of x (n,channels,length): (n,channels,length'), where length' = "
           "(length + 2 padding - kernel) / stride + 1, rounded down unless ceil_mode. As "
           "hk_avg_pool2d of images "
           "of one row.",
    .formula = "y[n,c,i] = mean over v of x[n,c,i*stride-padding+v]",
    .dtypes = HKI_FLOATS,
    .infer = pool1d_infer,
    .compose = pool1d_compose,
    .reference = pool1d_reference,
    .tolerance_f32 = 1e-6,
    .data = &hki_op_avg_pool2d,
};
