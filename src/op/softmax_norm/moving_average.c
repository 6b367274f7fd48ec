/* Exponential moving averages, usually in place: what batch normalisation keeps for inference. */
#include "op/softmax_norm/moving_average.h"

#include "op/elementwise/elementwise.h"
#include "op/elementwise/share.h"

HKI_ARGUMENTS_TABLE(moving_average, MOVING_AVERAGE_ARGUMENTS)

static bool infer(hki_call *call)
{
    const hki_shape_view *average = call->inputs[0], *sample = call->inputs[1];
    if (average->dtype != sample->dtype || !hki_dims_equal(&average->shape, &sample->shape)) {
        char has[224], wants[224];
        hki_shape_view_describe(average, has, sizeof has);
        hki_shape_view_describe(sample, wants, sizeof wants);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the average is %s, but must be %s like what it is an average of",
                               has, wants);
    }
    call->out_shape[0] = average->shape;
    call->out_dtype[0] = average->dtype;
    return true;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.4);
}

#define LOOP(name, T)                                                                              \
    static int64_t name(const hki_run *run)                                                        \
    {                                                                                              \
        const hki_moving_average_options *options = run->given;                                    \
        const T keep = (T)(1 - options->weight), add = (T)(options->weight * options->factor);     \
        const char *average = run->in[0], *sample = run->in[1];                                    \
        char *out = run->out;                                                                      \
        for (int64_t i = 0; i < run->n; i++) {                                                     \
            *(T *)(void *)out = HKI_SHARE(keep, *(const T *)(const void *)average) +               \
                                HKI_SHARE(add, *(const T *)(const void *)sample);                  \
            average += run->in_step[0];                                                            \
            sample += run->in_step[1];                                                             \
            out += run->out_step;                                                                  \
        }                                                                                          \
        return -1;                                                                                 \
    }

LOOP(loop_f32, float)
LOOP(loop_f64, double)

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_walk(call, begin, end, call->options, call->out[0].dtype == HK_F32 ? loop_f32 : loop_f64);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_moving_average_options *options = call->options;
    int64_t size = call->inputs[0]->size;
    for (int64_t i = 0; i < size; i++)
        out[0][i] = in[0][i] + options->weight * (options->factor * in[1][i] - in[0][i]);
}

static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(5), HKI_SHAPE(5)},
     .options = &(const hki_moving_average_options){.weight = 0.25, .factor = 1.5}},
    {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D},
     .options = &(const hki_moving_average_options){.weight = 1, .factor = 1}},
    {.inputs = {HKI_SHAPE(0, 3), HKI_SHAPE(0, 3)}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(4, 5), HKI_SHAPE(4, 5)},
     .options = &(const hki_moving_average_options){.weight = 0.1, .factor = 2}},
};

const hk_op hki_op_moving_average = {
    HKI_OP_NAMED(moving_average),
    HKI_OP_PARAMS(moving_average),
    HKI_OP_SAMPLES(samples),
    .signature = "average, sample",
    .doc = "One step of an exponential moving average.",
    .formula = "(1 - weight) * average + weight * factor * sample",
    .dtypes = HKI_FLOATS,
    .elementwise = true,
    .internal = true,
    .infer = infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = kernel},
    .no_grad_why = "what it keeps is no part of a model's loss",
    .reference = reference,
    .tolerance_f32 = 1e-6,
};
