/* Recurrent layers: one step, and sequences of steps. Weights are named and laid out as PyTorch's are, so that its files fit. */
#include "nn/cache.h"
#include "nn/module.h"

#include "base/text.h"
#include "op/recurrent/recurrence.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

typedef struct recurrent {
    hk_recurrent_kind kind;
    int64_t features;
    bool whole_state;
    bool is_reversed; /* steps go from the last to the first */
} recurrent;

/* Of each kind, how many sums of inputs and of states a unit has, and how many numbers its state. */
static int64_t gates_of(hk_recurrent_kind kind)
{
    static const int64_t gates[] = {
        [HK_RECURRENT_TANH] = 1, [HK_RECURRENT_GRU] = 3, [HK_RECURRENT_LSTM] = 4};
    return gates[kind];
}

static int64_t state_size(const recurrent *layer)
{
    return layer->kind == HK_RECURRENT_LSTM ? 2 * layer->features : layer->features;
}

/* ---- one step ------------------------------------------------------------------------------------------- */

/* Parts first to last of the last axis, last excluded. */
static hk_array *parts(const recurrent *layer, hk_array *x, int64_t first, int64_t last)
{
    return (hk_slice)(x, -1, first * layer->features, last * layer->features);
}

static hk_array *part(const recurrent *layer, hk_array *x, int64_t i)
{
    return parts(layer, x, i, i + 1);
}

/* h, and of an LSTM c, each by itself: what a step reads lies side by side in memory. */
typedef struct carried {
    hk_array *h, *c;
} carried;

/* Kernels do a whole step at once. */
static bool has_kernel(const hk_array *x)
{
    return (x->dtype == HK_F32 || x->dtype == HK_F64) && !x->failed;
}

static carried by_kernel(const hk_op *op, hk_array *x, hk_array *from_h, hk_array *before)
{
    hk_array *const inputs[] = {x, from_h, before};
    hk_array *results[2] = {NULL};
    const bool has_c = op == &hki_op_lstm_cell;
    hki_op_call_all(op, inputs, 3, NULL, (hk_device){NULL}, results, has_c ? 2 : 1);
    return (carried){results[0], results[1]};
}

/* Cho et al. 2014, with the reset gate behind the product, as cuDNN has it. Both gates at once. */
static carried gru(const recurrent *layer, hk_array *x, hk_array *from_h, hk_array *h)
{
    if (has_kernel(x))
        return by_kernel(&hki_op_gru_cell, x, from_h, h);
    hk_array *gates = (hk_sigmoid)((hk_add)(parts(layer, x, 0, 2), parts(layer, from_h, 0, 2)));
    hk_array *memory = (hk_multiply)(part(layer, gates, 0), part(layer, from_h, 2));
    hk_array *candidate = (hk_tanh)((hk_add)(part(layer, x, 2), memory));
    hk_array *change = (hk_multiply)(part(layer, gates, 1), (hk_subtract)(h, candidate));
    return (carried){.h = (hk_add)(candidate, change)};
}

/* Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000). Gates in, forget; candidate; gate out. */
static carried lstm(const recurrent *layer, hk_array *x, hk_array *from_h, hk_array *c)
{
    if (has_kernel(x))
        return by_kernel(&hki_op_lstm_cell, x, from_h, c);
    hk_array *sums = (hk_add)(x, from_h);
    hk_array *gates = (hk_sigmoid)(parts(layer, sums, 0, 2));
    hk_array *candidate = (hk_tanh)(part(layer, sums, 2)),
             *out = (hk_sigmoid)(part(layer, sums, 3));
    c = (hk_add)((hk_multiply)(part(layer, gates, 1), c),
                 (hk_multiply)(part(layer, gates, 0), candidate));
    return (carried){.h = (hk_multiply)(out, (hk_tanh)(c)), .c = c};
}

typedef struct weights {
    hk_array *of_x, *bias_of_x, *of_h, *bias_of_h;
} weights;

static weights weights_of(hk_module *self, hk_array *x)
{
    const recurrent *layer = self->options;
    const int64_t rows = gates_of(layer->kind) * layer->features;
    const hk_init init = {.kind = HK_INIT_UNIFORM, .value = 1 / sqrt((double)layer->features)};
    weights w;
    w.of_x = hk_module_parameter(self, "weight_ih", hk_shape(rows, hk_dim(x, -1)), &init, x);
    w.of_h = hk_module_parameter(self, "weight_hh", hk_shape(rows, layer->features), &init, x);
    w.bias_of_x = hk_module_parameter(self, "bias_ih", hk_shape(rows), &init, x);
    w.bias_of_h = hk_module_parameter(self, "bias_hh", hk_shape(rows), &init, x);
    return w;
}

/* The next state; x has been multiplied by its weights. */
static carried step(const recurrent *layer, const weights *w, hk_array *x, carried before)
{
    hk_array *from_h = (hk_linear)(before.h, w->of_h, w->bias_of_h);
    switch (layer->kind) {
    case HK_RECURRENT_GRU:
        return gru(layer, x, from_h, before.h);
    case HK_RECURRENT_LSTM:
        return lstm(layer, x, from_h, before.c);
    case HK_RECURRENT_TANH:
    default:
        return (carried){.h = (hk_tanh)((hk_add)(x, from_h))};
    }
}

/* ---- sequences ------------------------------------------------------------------------------------------ */

/* What the steps go on, and from. */
typedef struct sequence {
    hk_array *x, *state; /* state NULL: zeros */
    hk_array *is_within; /* (n, t): the step is one of the sample's; NULL: all are */
} sequence;

/* Where the sample has ended: y stays `before`, or is 0. */
static hk_array *within(const sequence *all, int step, hk_array *y, hk_array *before)
{
    if (!all->is_within)
        return y;
    hk_array *is_within = (hk_slice)(all->is_within, 1, step, step + 1);
    if (!before)
        before = (hk_zeros)(hk_shape(), y->dtype, hk_array_device(y));
    return (hk_where)(is_within, y, before);
}

/* Where the sample has ended: the state stays. */
static carried carried_within(const sequence *all, int step, carried next, carried before)
{
    next.h = within(all, step, next.h, before.h);
    next.c = next.c ? within(all, step, next.c, before.c) : NULL;
    return next;
}

static hk_array *whole(carried of)
{
    return of.c ? (hk_concat)((hk_array *const[]){of.h, of.c}, 2, -1) : of.h;
}

/* What does not fit is refused by the calls of the first step. */
static bool fits(const sequence *all, const weights *w)
{
    const hk_array *x = all->x;
    const hk_array *const others[] = {all->state, w->of_x, w->bias_of_x, w->of_h, w->bias_of_h};
    bool same = has_kernel(x) && x->shape.dims[2] > 0;
    for (size_t i = all->state ? 0 : 1; same && i < sizeof others / sizeof *others; i++)
        same = !others[i]->failed && others[i]->dtype == x->dtype;
    return same && w->of_x->shape.dims[1] == x->shape.dims[2];
}

/* One call does all steps, with the weights packed once. Where rows are few, large weights are read by all cores if each step is a
 * product by itself. A GPU's kernel is for steps that do not fill it; their sums of inputs lie in memory that is kept. */
static bool suits(const hk_array *x, const weights *w)
{
    enum { FEW_ROWS = 16, MANY_WEIGHTS = 1 << 19, MANY_STATES = 1 << 18, MANY_SUMS = 1 << 28 };
    const int64_t n = x->shape.dims[0], steps = x->shape.dims[1];
    if (hk_array_device(x).handle->class->kernels == HKI_CPU)
        return n >= FEW_ROWS || w->of_h->size <= MANY_WEIGHTS;
    return n * w->of_h->shape.dims[1] <= MANY_STATES &&
           (double)(n * steps) * (double)w->of_h->shape.dims[0] <= MANY_SUMS;
}

/* To pack the weights would be a large part of few steps. */
static bool goes_at_once(const sequence *all, const weights *w)
{
    enum { FEW_STEPS = 4 };
    return !all->is_within && fits(all, w) && all->x->shape.dims[1] >= FEW_STEPS &&
           suits(all->x, w);
}

static hk_array *run_at_once(const recurrent *layer, const weights *w, hk_array *x, carried before)
{
    static const hki_recurrence_kind kinds[] = {[HK_RECURRENT_TANH] = HKI_RECURRENCE_TANH,
                                                [HK_RECURRENT_GRU] = HKI_RECURRENCE_GRU,
                                                [HK_RECURRENT_LSTM] = HKI_RECURRENCE_LSTM};
    const hki_recurrence_options options = {
        .kind = kinds[layer->kind], .is_reversed = layer->is_reversed, .keeps = hk_is_recording()};
    hk_array *const inputs[] = {x,        w->of_x, w->bias_of_x, w->of_h, w->bias_of_h,
                                before.h, before.c};
    hk_array *results[2];
    hki_op_call_all(&hki_op_recurrence, inputs, 7, &options, (hk_device){NULL}, results, 2);
    const bool has_c = layer->kind == HK_RECURRENT_LSTM;
    return layer->whole_state && has_c ? (hk_concat)(results, 2, -1) : results[0];
}

static carried parts_of_state(const recurrent *layer, hk_array *state)
{
    if (!state || layer->kind != HK_RECURRENT_LSTM)
        return (carried){.h = state};
    return (carried){.h = part(layer, state, 0), .c = part(layer, state, 1)};
}

/* All steps one after another; NULL without host memory. */
static hk_array *run(hk_module *self, const sequence *all)
{
    const recurrent *layer = self->options;
    const int count = (int)hk_dim(all->x, 1);
    const weights w = weights_of(self, all->x);
    if (goes_at_once(all, &w))
        return run_at_once(layer, &w, all->x, parts_of_state(layer, all->state));
    carried now = parts_of_state(
        layer, all->state ? all->state
                          : (hk_zeros)(hk_shape(hk_dim(all->x, 0), state_size(layer)),
                                       all->x->dtype, hk_array_device(all->x)));
    hk_array *from_x = (hk_linear)(all->x, w.of_x, w.bias_of_x);
    hk_array **results = malloc((size_t)count * sizeof *results);
    if (!results)
        return NULL;
    for (int i = 0; i < count; i++) {
        const int at = layer->is_reversed ? count - 1 - i : i;
        const carried next = step(layer, &w, (hk_index)(from_x, 1, at), now);
        now = carried_within(all, at, next, now);
        results[at] = layer->whole_state ? whole(now) : within(all, at, next.h, NULL);
    }
    hk_array *y = (hk_stack)(results, count, 1);
    free(results);
    return y;
}

/* Otherwise what it takes part in fails by its record. */
static bool is_known(const hk_array *x)
{
    const hk_status *gone = hki_array_gone(x);
    hk_status_release(gone);
    return !gone && !x->failed;
}

static hk_array *refuse(const hk_module *self, hk_array *const *inputs, int count, const char *name,
                        const hk_array *given, const char *wanted)
{
    char text[224];
    hki_array_describe(given, text, sizeof text);
    return hki_array_create_failed(NULL, self->kind, inputs, count, HK_INVALID_ARGUMENT,
                                   "%s is %s, but must be %s", name, text, wanted);
}

/* NULL, or why the state or the lengths do not fit x. */
static hk_array *check_inputs(const hk_module *self, hk_array *const *inputs, int count)
{
    const hk_array *x = inputs[0], *state = count > 1 ? inputs[1] : NULL;
    const hk_array *lengths = count > 2 ? inputs[2] : NULL;
    char wanted[224];
    if (!is_known(x) || x->shape.ndim != 3 || x->shape.dims[1] < 1 ||
        x->shape.dims[1] > INT32_MAX || count > 3)
        return hki_array_create_failed(
            NULL, self->kind, inputs, count, HK_INVALID_ARGUMENT,
            "x has %d axes and there are %d inputs, but must be 3, samples, one step or more, "
            "features; and 1 to 3: x, state, lengths",
            hk_ndim(x), count);
    const hk_dims shape = hk_shape(x->shape.dims[0], state_size(self->options));
    const hk_dims samples = hk_shape(x->shape.dims[0]);
    if (state && is_known(state) && !hki_dims_equal(&state->shape, &shape)) {
        hki_dims_describe(&shape, wanted, sizeof wanted);
        return refuse(self, inputs, count, "state", state, wanted);
    }
    if (lengths && is_known(lengths) &&
        !(hki_dims_equal(&lengths->shape, &samples) && hki_dtype_is_integer(lengths->dtype))) {
        hki_format(wanted, sizeof wanted, "integers of shape (%lld,)", (long long)samples.dims[0]);
        return refuse(self, inputs, count, "lengths", lengths, wanted);
    }
    return NULL;
}

/* Weights' gradients multiply what is behind a sample's end by 0, which makes nothing of NaN only
 * where that is not there. */
static hk_array *without_padding(hk_array *x, hk_array *is_within)
{
    hk_array *zero = (hk_zeros)(hk_shape(), x->dtype, hk_array_device(x));
    return (hk_where)((hk_expand_dims)(is_within, 2), x, zero);
}

static hk_array *recurrent_forward(hk_module *self, hk_array *const *inputs, int count)
{
    if (hki_cache_is_entered())
        return hki_cache_refusal(self, inputs, count);
    hk_array *refused = check_inputs(self, inputs, count), *x = inputs[0];
    if (refused)
        return refused;
    sequence all = {.x = x, .state = count > 1 ? inputs[1] : NULL};
    if (count > 2 && inputs[2]) {
        all.is_within = (hk_length_mask)(inputs[2], x->shape.dims[1]);
        all.x = without_padding(x, all.is_within);
    }
    hk_array *y = run(self, &all);
    return y ? y
             : hki_array_create_failed(NULL, self->kind, inputs, count, HK_OUT_OF_MEMORY,
                                       "there was no host memory for the list of states");
}

/* Made and checked. */
static hk_module *layer_of(recurrent layer)
{
    static const char *const names[] = {
        [HK_RECURRENT_TANH] = "rnn", [HK_RECURRENT_GRU] = "gru", [HK_RECURRENT_LSTM] = "lstm"};
    const bool is_kind = layer.kind >= HK_RECURRENT_TANH && layer.kind <= HK_RECURRENT_LSTM;
    hk_module *self = hki_layer_create(is_kind ? names[layer.kind] : "recurrent", recurrent_forward,
                                       &layer, sizeof layer);
    if (!is_kind || layer.features < 1 || layer.features > INT32_MAX)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "kind is %d and features %lld, but must be an hk_recurrent_kind and from 1 "
                        "to 2^31 - 1",
                        (int)layer.kind, (long long)layer.features);
    return self;
}

hk_module *hk_recurrent_layer(hk_recurrent_kind kind, int64_t features, bool whole_state)
{
    return layer_of((recurrent){.kind = kind, .features = features, .whole_state = whole_state});
}

hk_module *hki_recurrent_reversed(hk_recurrent_kind kind, int64_t features, bool whole_state)
{
    return layer_of((recurrent){
        .kind = kind, .features = features, .whole_state = whole_state, .is_reversed = true});
}
