/* Optimisers: methods of update.def with their state, on the devices of their parameters. */
#include "optim/optimizer.h"
#include "autograd/tape.h"
#include "base/option.h"
#include "base/source.h"
#include "base/text.h"
#include "op/shape/copy.h"
#include "op/update/update.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct update_method {
    const char *name;
    const hk_op *op;
    double lr, first, second, epsilon; /* defaults */
    int has;
} update_method;

static const update_method methods[] = {
#define METHOD(update, name, class, options, lr, first, second, epsilon, decay, text)              \
    {#name, &hki_op_##update, lr, first, second, epsilon, options},
#include "op/update/update.def"
};
enum { METHOD_COUNT = sizeof methods / sizeof *methods };

typedef struct parameter {
    hk_array *x, *state; /* counted */
    hk_array *grad;      /* in place of x's own, counted; NULL: that */
    double weight_decay; /* its group's */
    int coefficients;    /* index of those of its device and group */
    bool had_grad;       /* when the optimiser was made */
} parameter;

struct hk_optimizer {
    atomic_uint refs;
    const update_method *method; /* NULL: it could not be made */
    const hk_status *status;
    hki_update_options options;
    double lr;
    hki_optimizer_frame frame;
    int coefficient_count, count;
    hk_array *coefficients[HKI_MAX_DEVICES], *steps[HKI_MAX_DEVICES]; /* steps: views of them */
    double factors[HKI_MAX_DEVICES];                                  /* of lr, by groups */
    parameter params[];
};

/* ---- what is asked for --------------------------------------------------------------------------------- */

static bool is_rate(double value)
{
    return value >= 0 && value < 1;
}

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

/* NULL, or what is wrong with the options, counted. */
static const hk_status *check_options(const update_method *method,
                                      const hk_optimizer_options *options)
{
    const struct {
        const char *name;
        double value;
        bool is_good;
        const char *wants;
        int of; /* methods that have it; 0: all */
    } checks[] = {
        {"lr", options->lr, is_amount(options->lr), "finite and not below 0", 0},
        {"batch", options->batch, is_amount(options->batch), "finite and not below 0", 0},
        {"weight_decay", options->weight_decay, is_amount(options->weight_decay),
         "finite and not below 0", 0},
        {"momentum", options->momentum, is_rate(options->momentum), "in [0, 1)", HKI_HAS_MOMENTUM},
        {"beta1", options->beta1, is_rate(options->beta1), "in [0, 1)", HKI_HAS_BETAS},
        {"beta2", options->beta2, is_rate(options->beta2), "in [0, 1)", HKI_HAS_BETAS},
        {"rho", options->rho, is_rate(options->rho), "in [0, 1)", HKI_HAS_RHO},
        {"epsilon", options->epsilon, is_amount(options->epsilon), "finite and not below 0",
         HKI_HAS_EPSILON},
        {"nesterov", options->nesterov, true, "", HKI_HAS_MOMENTUM},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].is_good)
            return hki_status_create(HK_INVALID_ARGUMENT, NULL, "option %s is %g, but must be %s",
                                     checks[i].name, checks[i].value, checks[i].wants);
        else if (checks[i].value != 0 && checks[i].of && !(checks[i].of & method->has))
            return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                     "option %s is %g, but %s has none; 0 would be right",
                                     checks[i].name, checks[i].value, method->name);
    return NULL;
}

static void take_options(hk_optimizer *self, const hk_optimizer_options *given)
{
    const update_method *method = self->method;
    const double first = method->has & HKI_HAS_MOMENTUM ? given->momentum
                         : method->has & HKI_HAS_RHO    ? given->rho
                                                        : given->beta1;
    self->lr = hki_option_or(given->lr, method->lr) + 0.0;
    self->options = (hki_update_options){
        .batch = given->batch,
        .weight_decay = given->weight_decay,
        .beta1 = hki_option_or(first, method->first),
        .beta2 = hki_option_or(given->beta2, method->second),
        .epsilon = hki_option_or(given->epsilon, method->epsilon),
        .nesterov = given->nesterov,
    };
}

/* NULL, or why it cannot be a parameter, counted. */
static const hk_status *check_param(hk_array *x, int index)
{
    const hk_status *gone = hki_array_gone(x);
    if (gone)
        return gone;
    char text[224];
    hki_array_describe(x, text, sizeof text);
    if (x->failed)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL, "parameter %d has failed", index);
    if (x->dtype != HK_F32 && x->dtype != HK_F64)
        return hki_status_create(
            HK_INVALID_ARGUMENT, NULL,
            "parameter %d is %s, but must be float32 or float64; hk_cast converts", index, text);
    if (!x->is_contiguous || x->shape.ndim >= HK_MAX_NDIM)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "parameter %d, %s, must be contiguous and have at most %d axes",
                                 index, text, HK_MAX_NDIM - 1);
    return NULL;
}

static const hk_status *refuse_method(const char *name)
{
    char known[512];
    size_t used = 0;
    for (int i = 0; i < METHOD_COUNT; i++)
        used += (size_t)hki_format(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                   methods[i].name);
    return hki_status_create(HK_INVALID_ARGUMENT, NULL, "method is \"%s\", but must be one of %s",
                             name, known);
}

static const hk_status *check(const char *name, hk_array *const *params, int count,
                              const hk_optimizer_options *options, const update_method **method)
{
    if (!name || count < 0 || (count > 0 && !params))
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "method is %s, count %d and params %s; none may be missing",
                                 name ? name : "NULL", count, hki_given(params));
    for (int i = 0; i < METHOD_COUNT; i++)
        if (strcmp(methods[i].name, name) == 0)
            *method = &methods[i];
    if (!*method)
        return refuse_method(name);
    const hk_status *error = check_options(*method, options);
    for (int i = 0; i < count && !error; i++)
        error = check_param(params[i], i);
    return error;
}

/* ---- making ---------------------------------------------------------------------------------------------- */

/* The index of the coefficients of x's device and of a factor, which are made if there are none; -1: there are too many. */
static int coefficients_of(hk_optimizer *self, const hk_array *x, double factor)
{
    HK_SCOPE;
    hki_device *device = x->storage->device;
    for (int i = 0; i < self->coefficient_count; i++)
        if (self->coefficients[i]->failed ||
            (self->coefficients[i]->storage->device == device && self->factors[i] == factor))
            return i;
    if (self->coefficient_count == HKI_MAX_DEVICES)
        return -1;
    const double values[HKI_UPDATE_COEFFICIENTS] = {[HKI_UPDATE_LR] = self->lr * factor};
    const int index = self->coefficient_count++;
    hk_array *coefficients =
        (hk_from_host)(values, hk_shape(HKI_UPDATE_COEFFICIENTS), HK_F64, (hk_device){device});
    self->factors[index] = factor;
    self->coefficients[index] = hk_take(coefficients);
    self->steps[index] = hk_take((hk_slice)(coefficients, 0, HKI_UPDATE_STEP, HKI_UPDATE_STEP + 1));
    return index;
}

hk_dims hki_optimizer_state_shape(const hk_optimizer *self, const hk_array *x)
{
    hk_dims shape = {.ndim = x->shape.ndim + 1, .dims = {hki_update_slots(self->method->op)}};
    memcpy(shape.dims + 1, x->shape.dims, (size_t)x->shape.ndim * sizeof *shape.dims);
    return shape;
}

static hk_array *state_create(const hk_optimizer *self, const hk_array *x)
{
    HK_SCOPE;
    return hk_take(hki_zeros(x->storage->device, hki_optimizer_state_shape(self, x), x->dtype));
}

/* For when there is no memory for one. */
static hk_optimizer no_memory = {.refs = 1};

/* status is taken; NULL: no memory. */
static hk_optimizer *allocate(hk_array *const *params, int count, const hk_status *status)
{
    const int kept = count > 0 && params ? count : 0;
    hk_optimizer *self = calloc(1, sizeof *self + (size_t)kept * sizeof *self->params);
    if (!self) {
        hk_status_release(status);
        return NULL;
    }
    atomic_init(&self->refs, 1);
    self->status = status;
    self->count = kept;
    for (int i = 0; i < kept; i++) {
        self->params[i].x = hk_array_retain(params[i]);
        self->params[i].had_grad = params[i] && hk_has_grad(params[i]);
    }
    return self;
}

hk_optimizer *hki_optimizer_create_failed(hk_array *const *params, int count,
                                          const hk_status *error)
{
    hk_optimizer *self = allocate(params, count, error);
    return self ? self : &no_memory;
}

hk_optimizer *(hk_optimizer_create)(const char *name, hk_array *const *params, int count,
                                    const hk_optimizer_options *options)
{
    HKI_TAKE_OPTIONS(hk_optimizer_options, options);
    static const hk_optimizer_options defaults = {0};
    const update_method *method = NULL;
    if (!options)
        options = &defaults;
    HK_PAUSE;
    const hk_status *error = check(name, params, count, options, &method);
    if (error)
        return hki_optimizer_create_failed(params, count, error);
    hk_optimizer *self = allocate(params, count, hki_status_ok());
    if (!self)
        return &no_memory;
    self->method = method;
    take_options(self, options);
    for (int i = 0; i < count; i++) {
        self->params[i].weight_decay = self->options.weight_decay;
        self->params[i].coefficients = coefficients_of(self, params[i], 1);
        self->params[i].state = state_create(self, params[i]);
    }
    return self;
}

void hki_optimizer_set_frame(hk_optimizer *self, const hki_optimizer_frame *frame)
{
    if (self != &no_memory)
        self->frame = *frame;
    else if (frame->release)
        frame->release(frame->context);
}

void hki_optimizer_set_grad(hk_optimizer *self, int index, hk_array *grad)
{
    hk_array_release(self->params[index].grad);
    self->params[index].grad = hk_array_retain(grad);
}

const hk_status *hk_optimizer_status(const hk_optimizer *self)
{
    if (!self)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, NULL, "argument optimizer is NULL"));
    return self->status ? self->status : hki_status_no_memory();
}

hk_optimizer *hk_optimizer_retain(hk_optimizer *self)
{
    if (self && self != &no_memory)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_optimizer_release(hk_optimizer *self)
{
    if (!self || self == &no_memory ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < self->count; i++) {
        hk_array_release(self->params[i].x);
        hk_array_release(self->params[i].state);
        hk_array_release(self->params[i].grad);
    }
    if (self->frame.release)
        self->frame.release(self->frame.context);
    for (int i = 0; i < self->coefficient_count; i++) {
        hk_array_release(self->steps[i]);
        hk_array_release(self->coefficients[i]);
    }
    hk_status_release(self->status);
    free(self);
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

static void fail(hk_optimizer *self, parameter *param, int index, const char *why)
{
    hk_array *x = param->x;
    hki_array_fail_in_place(x, self->method ? self->method->name : "optimizer", x ? &x : NULL,
                            x ? 1 : 0, HK_INVALID_ARGUMENT, "parameter %d %s", index, why);
}

static void update(hk_optimizer *self, int index)
{
    parameter *param = &self->params[index];
    hk_array *grad = param->grad ? param->grad : hki_grad_get(param->x);
    hki_update_options options = self->options;
    options.weight_decay = param->weight_decay;
    if (!self->method)
        fail(self, param, index, hk_status_message(hk_optimizer_status(self)));
    else if (!grad && param->had_grad)
        return; /* frozen since */
    else if (!grad)
        fail(self, param, index, "has no gradient: hk_attach_grad gives it one");
    else
        hki_op_call_update(self->method->op,
                           (hk_array *const[]){param->x, grad, param->state,
                                               self->coefficients[param->coefficients]},
                           4, &options, (hk_array *const[]){param->x, param->state}, 2);
}

static bool is_there(const hk_optimizer *self, const char *operation)
{
    if (!self)
        hki_array_fail_in_place(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                "argument optimizer is NULL");
    if (self == &no_memory)
        hki_array_fail_in_place(NULL, operation, NULL, 0, HK_OUT_OF_MEMORY,
                                "there was no host memory for the optimiser");
    return self;
}

void(hk_optimizer_step)(hk_optimizer *self)
{
    if (!is_there(self, "optimizer_step"))
        return;
    HK_PAUSE;
    if (self->frame.begin)
        self->frame.begin(self->frame.context, self);
    for (int i = 0; i < self->coefficient_count; i++)
        hki_op_call_number_into(&hki_op_add_scalar, self->steps[i], 1, self->steps[i]);
    for (int i = 0; i < self->count; i++)
        update(self, i);
    if (self->frame.end)
        self->frame.end(self->frame.context, self);
}

void(hk_optimizer_set_lr)(hk_optimizer *self, double lr)
{
    if (!is_there(self, "optimizer_set_lr"))
        return;
    HK_SCOPE;
    HK_PAUSE;
    for (int i = 0; i < self->coefficient_count; i++) {
        hk_array *coefficients = self->coefficients[i];
        const double its = lr * self->factors[i];
        if (is_amount(lr))
            (hk_write)((hk_slice)(coefficients, 0, HKI_UPDATE_LR, HKI_UPDATE_LR + 1), &its,
                       sizeof its);
        else
            hki_array_fail_in_place(coefficients, "optimizer_set_lr", NULL, 0, HK_INVALID_ARGUMENT,
                                    "lr is %g, but must be finite and not below 0", lr);
    }
    if (is_amount(lr))
        self->lr = lr;
}

/* NULL, or what is wrong with a group, counted. */
static const hk_status *check_group(const hk_optimizer *self, int first, int count, double factor,
                                    double weight_decay)
{
    if (!hk_optimizer_get_method(self)[0])
        return hk_status_retain(hk_optimizer_status(self));
    if (self->frame.gather)
        return hki_status_create(HK_UNSUPPORTED, NULL,
                                 "an optimiser whose state is in parts has no groups");
    if (first < 0 || count < 0 || count > self->count - first)
        return hki_status_create(HK_OUT_OF_RANGE, NULL,
                                 "first is %d and count %d, but there are %d parameters", first,
                                 count, self->count);
    if (!is_amount(factor) || !is_amount(weight_decay))
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "factor is %g and weight_decay %g, but both must be finite and "
                                 "not below 0",
                                 factor, weight_decay);
    return NULL;
}

const hk_status *(hk_optimizer_set_group)(hk_optimizer *self, int first, int count, double factor,
                                          double weight_decay)
{
    HK_PAUSE;
    const hk_status *error = check_group(self, first, count, factor, weight_decay);
    for (int i = first; !error && i < first + count; i++) {
        parameter *param = &self->params[i];
        const int made = self->coefficient_count;
        const int index = coefficients_of(self, param->x, factor);
        if (index < 0) {
            error = hki_status_create(HK_OUT_OF_RANGE, NULL,
                                      "there are %d pairs of devices and factors of groups already",
                                      HKI_MAX_DEVICES);
            continue;
        }
        if (index == made) /* it goes on from as many steps */
            (hk_assign)(self->steps[index], self->steps[param->coefficients]);
        param->coefficients = index;
        param->weight_decay = weight_decay;
    }
    return error ? hki_status_lend(error) : hki_status_ok();
}

double hk_optimizer_get_lr(const hk_optimizer *self)
{
    return self ? self->lr : NAN;
}

const char *hk_optimizer_method_at(int index)
{
    return index >= 0 && index < METHOD_COUNT ? methods[index].name : NULL;
}

const char *hk_optimizer_get_method(const hk_optimizer *self)
{
    return self && self->method ? self->method->name : "";
}

hk_array *hk_optimizer_get_parameter(const hk_optimizer *self, int index)
{
    return self && self->method && index >= 0 && index < self->count ? self->params[index].x : NULL;
}

int hk_optimizer_array_count(const hk_optimizer *self)
{
    return self && self->method ? self->coefficient_count + self->count : 0;
}

hk_array *hk_optimizer_array(const hk_optimizer *self, int index, char *name, size_t bytes)
{
    if (index < 0 || index >= hk_optimizer_array_count(self))
        return NULL;
    const bool is_state = index >= self->coefficient_count;
    const int own = is_state ? index - self->coefficient_count : index;
    if (name)
        hki_format(name, bytes, "%s.%d", is_state ? "state" : "coefficients", own);
    return is_state ? self->params[own].state : self->coefficients[own];
}

/* ---- whole states ------------------------------------------------------------------------------------------- */

hk_array *hki_optimizer_get_state(const hk_optimizer *self, int index)
{
    return self->params[index].state;
}

int64_t hki_optimizer_get_slots(const hk_optimizer *self)
{
    return hki_update_slots(self->method->op);
}

bool hki_optimizer_is_sharded(const hk_optimizer *self)
{
    return self && self->frame.gather;
}

int hki_optimizer_whole_count(const hk_optimizer *self)
{
    return self->frame.gather ? self->frame.count : self->count;
}

hk_array *hki_optimizer_whole(const hk_optimizer *self, int index)
{
    return self->frame.gather ? self->frame.whole[index * self->frame.stride]
                              : self->params[index].x;
}

const hk_status *hki_optimizer_agree(const hk_optimizer *self, const hk_status *own)
{
    return self->frame.agree(self->frame.context, own);
}

bool hki_optimizer_writes(const hk_optimizer *self)
{
    return self->frame.writes;
}

/* NULL, or why it is no state of this parameter, counted. */
static const hk_status *check_state(const hk_optimizer *self, const hk_array *param, int index,
                                    const hk_array *state)
{
    const hk_dims wanted = hki_optimizer_state_shape(self, param);
    char its[224], shape[160];
    const hk_status *gone = hki_array_gone(state);
    if (gone)
        return gone;
    if (state->failed || (state->dtype == param->dtype && hki_dims_equal(&state->shape, &wanted)))
        return NULL;
    hki_array_describe(state, its, sizeof its);
    hki_dims_describe(&wanted, shape, sizeof shape);
    return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                             "the state of parameter %d is %s, but must be %s%s", index, its,
                             hk_dtype_name(param->dtype), shape);
}

void hki_optimizer_write_state(hk_optimizer *self, int own, const hk_array *param, int index,
                               hk_array *state, int64_t begin)
{
    HK_SCOPE;
    hk_array *to = self->params[own].state;
    const int64_t slots = hki_optimizer_get_slots(self), size = self->params[own].x->size;
    const hk_status *error = check_state(self, param, index, state);
    if (error)
        hki_array_fail_in_place(to, "optimizer_scatter", &state, 1, hk_status_code(error), "%s",
                                hk_status_message(error));
    else if (state->failed)
        (hk_assign)(to, state);
    else
        (hk_assign)(
            (hk_reshape)(to, hk_shape(slots, size)),
            (hk_slice)((hk_reshape)(state, hk_shape(slots, param->size)), 1, begin, begin + size));
    hk_status_release(error);
}

/* NULL, or why there is no parameter `index`, counted. */
static const hk_status *check_index(const hk_optimizer *self, int index)
{
    if (!hk_optimizer_get_method(self)[0])
        return hk_status_retain(hk_optimizer_status(self));
    const int count = hki_optimizer_whole_count(self);
    if (index >= 0 && index < count)
        return NULL;
    return hki_status_create(HK_OUT_OF_RANGE, NULL,
                             "index is %d, and there are %d parameters, from 0", index, count);
}

hk_array *(hk_optimizer_gather)(const hk_optimizer *self, int index)
{
    HK_PAUSE;
    const hk_status *error = check_index(self, index);
    if (!error && self->frame.gather)
        return self->frame.gather(self->frame.context, self, index);
    if (!error)
        return (hk_copy)(self->params[index].state);
    hk_array *failed = hki_array_create_failed(
        NULL, "optimizer_gather", NULL, 0, hk_status_code(error), "%s", hk_status_message(error));
    hk_status_release(error);
    return failed;
}

void(hk_optimizer_scatter)(hk_optimizer *self, int index, hk_array *state)
{
    HK_PAUSE;
    const hk_status *error = check_index(self, index);
    if (error)
        hki_array_fail_in_place(NULL, "optimizer_scatter", NULL, 0, hk_status_code(error), "%s",
                                hk_status_message(error));
    else if (self->frame.scatter)
        self->frame.scatter(self->frame.context, self, index, state);
    else
        hki_optimizer_write_state(self, index, self->params[index].x, index, state, 0);
    hk_status_release(error);
}
