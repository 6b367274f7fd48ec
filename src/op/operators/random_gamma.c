/* Gamma numbers. Each element tries again until it accepts, with counters of its own, so that it depends on the stream, its position and its
 * index alone. */
#include "op/kernels/random/random_numbers.h"
#include "op/operators/random_stream.h"

#include <math.h>

#define GAMMA_ARGUMENTS(F, op)                                                                     \
    STREAM_ARGUMENTS(F, op)                                                                        \
    F(op, F64, concentration, "", "of the distribution") F(op, F64, scale, "", "factor")
HKI_ARGUMENTS(random_gamma, GAMMA_ARGUMENTS)

/* counter[3]: which element of its block in bits 16 and on, and which draw in those below; see base/philox.h. */
#define PHILOX_GAMMA 0x67000000u
enum { TRIES = 100 };

typedef struct element {
    const hki_random_gamma_options *options;
    uint64_t block;
    uint32_t lane;
} element;

/* Two uniform numbers in (0, 1). */
static void draw(const element *self, uint32_t which, double units[2])
{
    const hki_random_gamma_options *o = self->options;
    const uint64_t at = o->position + self->block;
    const uint32_t key[2] = {(uint32_t)o->seed, (uint32_t)(o->seed >> 32)};
    uint32_t words[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)o->stream,
                         PHILOX_GAMMA | self->lane << 16 | which};
    hki_philox4x32(words, key, words);
    for (int i = 0; i < 2; i++)
        units[i] = ((double)(hki_random_join(words + 2 * i) >> 11) + 0.5) * 0x1p-53;
}

/* Of concentration 1 or more. Less than one try in twenty is rejected. */
static double gamma_of(const element *self, double concentration)
{
    const double d = concentration - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (uint32_t i = 0; i < TRIES; i++) {
        double units[2], normals[2], accept[2];
        draw(self, 2 * i + 1, units);
        draw(self, 2 * i + 2, accept);
        hki_box_muller(units[0], units[1], normals);
        const double x = normals[0], root = 1 + c * x, v = root * root * root;
        if (v > 0 && log(accept[0]) < x * x / 2 + d - d * v + d * log(v))
            return d * v;
    }
    return d;
}

static double one(const element *self)
{
    const double concentration = self->options->concentration;
    double units[2];
    if (concentration >= 1)
        return self->options->scale * gamma_of(self, concentration);
    draw(self, 0, units);
    return self->options->scale * gamma_of(self, concentration + 1) *
           pow(units[0], 1 / concentration);
}

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *out = &call->out[0];
    const int64_t per_block = out->dtype == HK_F32 ? 4 : 2;
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const element self = {call->options, (uint64_t)(i / per_block), (uint32_t)(i % per_block)};
        if (out->dtype == HK_F32)
            ((float *)out->data)[i] = (float)one(&self);
        else
            ((double *)out->data)[i] = one(&self);
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
    .host_only = true,
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

HKI_AT(hk_array *, hk_random_gamma,
       (hk_source at, double concentration, hk_dims shape, hk_dtype dtype, hk_device device),
       (concentration, shape, dtype, device))
HKI_AT(hk_array *, hk_random_gamma_from,
       (hk_source at, hk_generator *generator, double concentration, double scale, hk_dims shape,
        hk_dtype dtype, hk_device device),
       (generator, concentration, scale, shape, dtype, device))
