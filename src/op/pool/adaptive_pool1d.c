/* Pooling of sequences to a length that is given. */
#include "op/conv/one_row.h"
#include "op/pool/pool2d.h"

#define ADAPTIVE_POOL1D_OPTIONS(F, op) F(op, INT, size, "1", "the length of the result")
HKI_OPTIONS(adaptive_avg_pool1d, ADAPTIVE_POOL1D_OPTIONS)
typedef hki_adaptive_avg_pool1d_options hki_adaptive_max_pool1d_options;
#define adaptive_max_pool1d_params adaptive_avg_pool1d_params

static hki_adaptive_avg_pool2d_options options_of(const hki_call *call)
{
    const hki_adaptive_avg_pool1d_options *o = call->options;
    return (hki_adaptive_avg_pool2d_options){.size = {1, o->size}};
}

static hki_one_row as_images(const hki_call *call, const hki_adaptive_avg_pool2d_options *options)
{
    return (hki_one_row){.op = call->op->data, .options = options, .sequences = 1};
}

static bool infer(hki_call *call)
{
    const hki_adaptive_avg_pool2d_options options = options_of(call);
    const hki_one_row as = as_images(call, &options);
    return hki_one_row_infer(call, &as);
}

static hk_array *compose(const hki_call *call)
{
    const hki_adaptive_avg_pool2d_options options = options_of(call);
    const hki_one_row as = as_images(call, &options);
    return hki_one_row_compose(call, &as);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_adaptive_avg_pool2d_options options = options_of(call);
    const hki_one_row as = as_images(call, &options);
    hki_one_row_reference(call, &as, in, out);
}

#define SIZE(n)                                                                                    \
    &(const hki_adaptive_avg_pool1d_options)                                                       \
    {                                                                                              \
        .size = (n)                                                                                \
    }
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(2, 3, 6)}},
    {.inputs = {HKI_SHAPE(2, 3, 6)}, .options = SIZE(3)},
    {.inputs = {HKI_SHAPE(2, 2, 7)}, .options = SIZE(4)},
    {.inputs = {HKI_SHAPE(0, 2, 7)}, .options = SIZE(3)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 7)}, .options = SIZE(2)},
};

#define ADAPTIVE(op, of_images, text, its_formula)                                                 \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_PARAMS(op),                                                                         \
        HKI_OP_SAMPLES(samples),                                                                   \
        .signature = "x",                                                                          \
        .doc = text " of each window of x (n,channels,length), where windows are such that there " \
                    "are `size`: (n,channels,size). As of images of one row.",                     \
        .formula = its_formula,                                                                    \
        .dtypes = HKI_FLOATS,                                                                      \
        .infer = infer,                                                                            \
        .compose = compose,                                                                        \
        .reference = reference,                                                                    \
        .tolerance_f32 = 1e-6,                                                                     \
        .data = &(of_images),                                                                      \
    }

ADAPTIVE(adaptive_avg_pool1d, hki_op_adaptive_avg_pool2d, "Mean",
         "y[n,c,i] = mean of x[n,c,i's elements]");
ADAPTIVE(adaptive_max_pool1d, hki_op_adaptive_max_pool2d, "Largest element",
         "y[n,c,i] = max of x[n,c,i's elements]");
