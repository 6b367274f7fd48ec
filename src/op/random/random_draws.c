/* Random arrays that other random arrays and operators give between them: so they are drawn wherever those are. */
#include "op/elementwise/elementwise.h"
#include "op/random/random.h"
#include "op/reduce/argmax.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/join.h"
#include "op/shape/reshape.h"
#include "op/sort/selection.h"

#include "base/source.h"

#include <hocket/random.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- parts ------------------------------------------------------------------------------------------------ */

/* Fails a call without inputs, or of one, which may be NULL. */
static HK_PRINTF(4, 5) hk_array *refused(const char *operation, hk_array *input, hk_code code,
                                         const char *format, ...)
{
    char message[256];
    hki_call call = {.code = HK_OK};
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    hki_call_refuse(&call, code, "%s", message);
    return hki_refuse_many(operation, &input, input != NULL, &call);
}

static hk_array *uniform(hk_generator *generator, const hk_dims *shape, hk_dtype dtype,
                         hk_device device)
{
    return (hk_random_uniform_from)(generator, 0, 1, *shape, dtype, device);
}

static hk_array *as(hk_array *x, hk_dtype dtype)
{
    return hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){dtype});
}

static hk_array *negative_log(hk_array *x)
{
    return hki_op_call1(&hki_op_negative, hki_op_call1(&hki_op_log, x, NULL), NULL);
}

/* With mean 1: -ln(1 - u), where 1 - u is not 0. */
static hk_array *exponential(hk_generator *generator, const hk_dims *shape, hk_dtype dtype,
                             hk_device device)
{
    hk_array *u = hki_op_call1(&hki_op_negative, uniform(generator, shape, dtype, device), NULL);
    return hki_op_call1(&hki_op_negative, hki_op_call1(&hki_op_log1p, u, NULL), NULL);
}

/* What one of these functions makes on the way goes before it returns. */
#define RETURN_ALONE(expression)                                                                   \
    hk_array *result_;                                                                             \
    {                                                                                              \
        HK_SCOPE;                                                                                  \
        result_ = hk_take(expression);                                                             \
    }                                                                                              \
    return hki_scope_add(result_)

/* ---- numbers ------------------------------------------------------------------------------------------------ */

static hk_array *bernoulli(hk_generator *generator, double probability, const hk_dims *shape,
                           hk_dtype dtype, hk_device device)
{
    const hki_full_options limit = {.value = probability, .dtype = HK_F64};
    if (!(probability >= 0 && probability <= 1))
        return refused("random_bernoulli", NULL, HK_OUT_OF_RANGE,
                       "probability is %g, but must be from 0 to 1", probability);
    hk_array *u = uniform(generator, shape, HK_F64, device);
    if (u->failed)
        return u;
    hk_array *below =
        hki_op_call(&hki_op_full, NULL, 0, &limit, (hk_device){u->storage->device}, NULL);
    return as(hki_op_call2(&hki_op_less, u, below, NULL), dtype);
}

hk_array *(hk_random_bernoulli_from)(hk_generator *generator, double probability, hk_dims shape,
                                     hk_dtype dtype, hk_device device)
{
    RETURN_ALONE(bernoulli(generator, probability, &shape, dtype, device));
}

hk_array *(hk_random_bernoulli)(double probability, hk_dims shape, hk_dtype dtype, hk_device device)
{
    return (hk_random_bernoulli_from)(NULL, probability, shape, dtype, device);
}

hk_array *(hk_random_exponential_from)(hk_generator *generator, double scale, hk_dims shape,
                                       hk_dtype dtype, hk_device device)
{
    if (!isfinite(scale) || scale < 0)
        return refused("random_exponential", NULL, HK_OUT_OF_RANGE,
                       "scale is %g, but must be finite and at least 0", scale);
    RETURN_ALONE(hki_op_call_number(&hki_op_multiply_scalar,
                                    exponential(generator, &shape, dtype, device), scale));
}

hk_array *(hk_random_exponential)(hk_dims shape, hk_dtype dtype, hk_device device)
{
    return (hk_random_exponential_from)(NULL, 1, shape, dtype, device);
}

/* ---- orders -------------------------------------------------------------------------------------------------- */

typedef struct sort_options {
    int64_t axis;
    bool descending;
} sort_options;

/* The order of random keys: two of them are the same less often than once in 2^63 pairs. */
static hk_array *permutation(hk_generator *generator, int64_t n, hk_device device)
{
    const hk_dims shape = {.ndim = 1, .dims = {n}};
    if (n < 0)
        return refused("random_permutation", NULL, HK_OUT_OF_RANGE,
                       "n is %" PRId64 ", but must be 0 or more", n);
    hk_array *keys = (hk_random_int_from)(generator, INT64_MIN, INT64_MAX, shape, HK_I64, device);
    return hki_op_call1(&hki_op_argsort, keys, &(const sort_options){0, false});
}

hk_array *(hk_random_permutation_from)(hk_generator *generator, int64_t n, hk_device device)
{
    RETURN_ALONE(permutation(generator, n, device));
}

hk_array *(hk_random_permutation)(int64_t n, hk_device device)
{
    return (hk_random_permutation_from)(NULL, n, device);
}

static hk_array *shuffled(hk_generator *generator, hk_array *x)
{
    if (!x || x->failed || x->shape.ndim == 0)
        return refused("shuffle", x, HK_INVALID_ARGUMENT, "%s",
                       !x          ? "x is NULL"
                       : x->failed ? "x has failed"
                                   : "x has no axes, but needs one at least");
    hk_array *order = permutation(generator, x->shape.dims[0], (hk_device){x->storage->device});
    return hki_op_call2(&hki_op_index_select, x, order, &(const int64_t){0});
}

hk_array *(hk_random_shuffle_from)(hk_generator *generator, hk_array *x)
{
    RETURN_ALONE(shuffled(generator, x));
}

hk_array *(hk_random_shuffle)(hk_array *x)
{
    return (hk_random_shuffle_from)(NULL, x);
}

/* ---- weights ------------------------------------------------------------------------------------------------- */

#define CHECKED_WEIGHTS_ARGUMENTS(F, op) F(op, INT, least, "", "how many must be more than 0")
HKI_ARGUMENTS(checked_weights, CHECKED_WEIGHTS_ARGUMENTS)

static void weights_plan(const hki_call *call, hki_plan *plan)
{
    plan->work_ns = 50 + (double)call->inputs[0]->size;
}

static void weights_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const double *weights = call->in[0].data;
    double *out = call->out[0].data, sum = 0;
    const int64_t least = ((const hki_checked_weights_options *)call->options)->least;
    int64_t positive = 0;
    (void)begin, (void)end;
    for (int64_t i = 0; i < call->in[0].size; i++) {
        if (!(weights[i] >= 0) || isinf(sum += weights[i])) {
            hki_task_fail(call->task, piece, HK_BAD_DATA, HKI_BAD_WEIGHT, i, weights[i]);
            return;
        }
        out[i] = weights[i];
        positive += weights[i] > 0;
    }
    if (positive < least)
        hki_task_fail(call->task, piece, HK_BAD_DATA, HKI_FEW_WEIGHTS, positive, least);
}

const hk_op hki_op_checked_weights = {
    HKI_OP_NAMED(checked_weights),
    .refuses = true,
    HKI_OP_PARAMS(checked_weights),
    .signature = "weights",
    .doc = "Weights that may be chosen by.",
    .dtypes = 1u << HK_F64,
    .contiguous = true,
    .internal = true,
    .infer = hki_infer_same,
    .split = HKI_SPLIT_NONE,
    .plan = weights_plan,
    .kernel = {[HKI_CPU] = weights_kernel},
    .no_grad_why = "what is chosen does not vary smoothly",
    .untested = "random_draws_test.c tests it",
};

/* ---- choices ---------------------------------------------------------------------------------------------------- */

/* What is asked for. */
typedef struct choice {
    hk_generator *generator;
    int64_t n, count;
    hk_dims shape;
    hk_array *weights; /* float64 that is checked, or NULL */
    hk_device device;
} choice;

/* The first place up to which the weights sum to more than a random number below their sum. */
static hk_array *with_replacement(const choice *self)
{
    if (!self->weights)
        return (hk_random_int_from)(self->generator, 0, self->n, self->shape, HK_I64, self->device);
    const hki_zeros_options zero = {.shape = {.ndim = 0}, .dtype = HK_F64};
    hk_array *sums = hki_op_call1(&hki_op_cumulative_sum, self->weights, &(const int64_t){0});
    hk_array *total = hki_entries(sums, self->n - 1, self->n);
    total = hki_op_call1(&hki_op_squeeze, total, &(const int64_t){0});
    hk_array *u = uniform(self->generator, &self->shape, HK_F64, self->device);
    hk_array *none = hki_op_call(&hki_op_zeros, NULL, 0, &zero, self->device, NULL);
    hk_array *limit = hki_op_call2(&hki_op_nextafter, total, none, NULL);
    u = hki_op_call2(&hki_op_minimum, hki_op_call2(&hki_op_multiply, u, total, NULL), limit, NULL);
    return hki_op_call2(&hki_op_searchsorted, sums, u, &(const bool){true});
}

/* The first of a random order; by weights: of exponential numbers over weights, in logarithms, so that they do not overflow. */
static hk_array *without_replacement(const choice *self)
{
    const hk_dims all = {.ndim = 1, .dims = {self->n}};
    const hki_reshape_options shape = {.shape = self->shape};
    hk_array *order;
    if (self->weights) {
        hk_array *times = exponential(self->generator, &all, HK_F64, self->device);
        times = hki_op_call2(&hki_op_subtract, hki_op_call1(&hki_op_log, times, NULL),
                             hki_op_call1(&hki_op_log, self->weights, NULL), NULL);
        order = hki_op_call1(&hki_op_argsort, times, &(const sort_options){0, false});
    } else {
        order = permutation(self->generator, self->n, self->device);
    }
    return hki_op_call1(&hki_op_reshape, hki_entries(order, 0, self->count), &shape);
}

static hk_array *choose(choice *self, bool replace)
{
    hk_array *weights = self->weights;
    if (!hki_dims_size(&self->shape, &self->count) || self->n < 0 ||
        (self->n == 0 && self->count > 0) || (!replace && self->count > self->n))
        return refused("random_choice", weights, HK_OUT_OF_RANGE,
                       "n is %" PRId64 ": of so few, or without replacement, so many as shape says "
                       "cannot be chosen",
                       self->n);
    if (!weights)
        return (replace && self->n > 0 ? with_replacement : without_replacement)(self);
    if (weights->failed)
        return refused("random_choice", weights, HK_INVALID_ARGUMENT, "weights has failed");
    if (weights->shape.ndim != 1 || weights->size != self->n || !hki_dtype_is_real(weights->dtype))
        return refused(
            "random_choice", weights, HK_INVALID_ARGUMENT,
            "weights must be of floats, and have the shape (%" PRId64 ",), for n is that", self->n);
    const int64_t least = !replace ? self->count : self->count > 0;
    self->device.handle = weights->storage->device;
    self->weights = hki_op_call1(&hki_op_checked_weights, as(weights, HK_F64), &least);
    return (replace && self->n > 0 ? with_replacement : without_replacement)(self);
}

hk_array *(hk_random_choice_from)(hk_generator *generator, int64_t n, hk_dims shape, bool replace,
                                  hk_array *weights, hk_device device)
{
    choice self = {
        .generator = generator, .n = n, .shape = shape, .weights = weights, .device = device};
    RETURN_ALONE(choose(&self, replace));
}

hk_array *(hk_random_choice)(int64_t n, hk_dims shape, bool replace, hk_array *weights,
                             hk_device device)
{
    return (hk_random_choice_from)(NULL, n, shape, replace, weights, device);
}

/* Of a uniform number 0 the noise is -infinity: the entry is not chosen. */
static hk_array *categorical(hk_generator *generator, hk_array *logits)
{
    const char *why = !logits          ? "logits is NULL"
                      : logits->failed ? "logits has failed"
                      : !hki_dtype_is_real(logits->dtype)
                          ? "logits must be of floats; hk_cast converts"
                      : logits->shape.ndim == 0 ? "logits has no axes, but needs one at least"
                                                : NULL;
    if (why)
        return refused("random_categorical", logits, HK_INVALID_ARGUMENT, "%s", why);
    hk_array *u = uniform(generator, &logits->shape, HK_F64, (hk_device){logits->storage->device});
    hk_array *noise = negative_log(negative_log(u));
    return hki_op_call1(&hki_op_argmax, hki_op_call2(&hki_op_add, as(logits, HK_F64), noise, NULL),
                        &(const hki_argmax_options){.axis = -1});
}

hk_array *(hk_random_categorical_from)(hk_generator *generator, hk_array *logits)
{
    RETURN_ALONE(categorical(generator, logits));
}

hk_array *(hk_random_categorical)(hk_array *logits)
{
    return (hk_random_categorical_from)(NULL, logits);
}
