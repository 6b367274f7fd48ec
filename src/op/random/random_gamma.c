/* Gamma numbers. */
#include "op/random/random_gamma.h"

#include "op/op.h"
#include "op/random/random_stream.h"

HKI_ARGUMENTS_TABLE(random_gamma, GAMMA_ARGUMENTS)

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_random_gamma_options *o = call->options;
    const hki_tensor *out = &call->out[0];
    const int64_t per_block = out->dtype == HK_F32 ? 4 : 2;
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const hki_gamma_element self = {o->seed, o->stream, o->position + (uint64_t)(i / per_block),
                                        (uint64_t)(i % per_block)};
        const double value = hki_random_gamma(&self, o->concentration, o->scale);
        if (out->dtype == HK_F32)
            ((float *)out->data)[i] = (float)value;
        else
            ((double *)out->data)[i] = value;
    }
}

static bool infer(hki_call *call)
{
    const hki_random_gamma_options *o = call->options;
    if (!isfinite(o->concentration) || o->concentration <= 0 || !isfinite(o->scale) || o->scale < 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "concentration is %g and scale is %g; both must be finite, "
                               "concentration more than 0, and scale at least 0",
                               o->concentration, o->scale);
    if (o->dtype != HK_F32 && o->dtype != HK_F64)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "dtype is %s, but may be float32 or float64",
                               hk_dtype_name(o->dtype));
    call->out_shape[0] = o->shape;
    call->out_dtype[0] = o->dtype;
    return true;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    (void)call;
    plan->grain = 64;
    plan->work_ns = 100 * (double)plan->extent;
}

const hk_op hki_op_random_gamma = {
    HKI_OP_NAMED(random_gamma),
    HKI_OP_PARAMS(random_gamma),
    .signature = "",
    .doc = "Gamma numbers.",
    .internal = true,
    .draws = true,
    .infer = infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = kernel},
    .no_grad_why = "it has no inputs",
    .untested = "random_draws_test.c tests it",
};

/* ---- public functions ------------------------------------------------------------------------------------ */

hk_array *(hk_random_gamma_from)(hk_generator *generator, double concentration, double scale,
                                 hk_dims shape, hk_dtype dtype, hk_device device)
{
    const hki_stream_options stream = hki_stream_begin(generator, &shape, dtype);
    const hki_random_gamma_options options = {.shape = shape,
                                              .dtype = dtype,
                                              .seed = stream.seed,
                                              .stream = stream.stream,
                                              .position = stream.position,
                                              .generator = stream.generator,
                                              .concentration = concentration,
                                              .scale = scale};
    if (!hki_generator_is_there(generator))
        return hki_array_create_failed(device.handle, "random_gamma", NULL, 0, HK_OUT_OF_MEMORY,
                                       "there was no host memory for the generator");
    return hki_op_call(&hki_op_random_gamma, NULL, 0, &options, device, NULL);
}

hk_array *(hk_random_gamma)(double concentration, hk_dims shape, hk_dtype dtype, hk_device device)
{
    return (hk_random_gamma_from)(NULL, concentration, 1, shape, dtype, device);
}
