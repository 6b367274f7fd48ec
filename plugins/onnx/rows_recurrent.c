/* Recurrent layers: the products with x of all steps at once, then one step after the other. */
#include "cell.h"
#include "compute.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- activations ----------------------------------------------------------------------------- */

typedef enum activation_kind {
    RELU,
    TANH,
    SIGMOID,
    AFFINE,
    LEAKY_RELU,
    THRESHOLDED_RELU,
    SCALED_TANH,
    HARD_SIGMOID,
    ELU,
    SOFTSIGN,
    SOFTPLUS,
    ACTIVATIONS
} activation_kind;

typedef struct activation {
    activation_kind kind;
    double alpha, beta;
} activation;

/* Their names, how many of alpha and beta they take, and what these are where they are left out;
 * NaN: they must be there. */
static const struct {
    const char *name;
    int parameters;
    double alpha, beta;
} activations[ACTIVATIONS] = {
    [RELU] = {"Relu", 0, 0, 0},
    [TANH] = {"Tanh", 0, 0, 0},
    [SIGMOID] = {"Sigmoid", 0, 0, 0},
    [AFFINE] = {"Affine", 2, 1, 0},
    [LEAKY_RELU] = {"LeakyRelu", 1, .01, 0},
    [THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 1, 0},
    [SCALED_TANH] = {"ScaledTanh", 2, NAN, NAN},
    [HARD_SIGMOID] = {"HardSigmoid", 2, .2, .5},
    [ELU] = {"Elu", 1, 1, 0},
    [SOFTSIGN] = {"Softsign", 0, 0, 0},
    [SOFTPLUS] = {"Softplus", 0, 0, 0},
};

static hk_array *scaled(hk_array *x, double by)
{
    return hk_multiply(x, onnx_number_like(by, x));
}

static hk_array *shifted(hk_array *x, double by)
{
    return hk_add(x, onnx_number_like(by, x));
}

static hk_array *activate(const activation *self, hk_array *x)
{
    switch (self->kind) {
    case RELU:
        return hk_relu(x);
    case SIGMOID:
        return hk_sigmoid(x);
    case AFFINE:
        return shifted(scaled(x, self->alpha), self->beta);
    case LEAKY_RELU:
        return hk_leaky_relu(x, self->alpha);
    case THRESHOLDED_RELU:
        return hk_where(hk_greater(x, onnx_number_like(self->alpha, x)), x, onnx_number_like(0, x));
    case SCALED_TANH:
        return scaled(hk_tanh(scaled(x, self->beta)), self->alpha);
    case HARD_SIGMOID:
        return hk_clip(shifted(scaled(x, self->alpha), self->beta), 0, 1);
    case ELU:
        return hk_elu(x, self->alpha);
    case SOFTSIGN:
        return hk_divide(x, shifted(hk_abs(x), 1));
    case SOFTPLUS:
        return hk_softplus(x);
    default:
        return hk_tanh(x);
    }
}

enum { MOST_ACTIVATIONS = 6 };

/* Number `next` of a list of floats, where it has one. */
static double parameter(const Onnx__AttributeProto *list, size_t *next, double otherwise)
{
    return list && *next < list->n_floats ? (double)list->floats[(*next)++] : otherwise;
}

/* Of all directions; those that take numbers take them in their order. */
static bool read_activations(onnx_call *call, activation *found, const activation_kind *otherwise,
                             int each, int directions)
{
    const Onnx__AttributeProto *names = onnx_attribute(call, "activations");
    const Onnx__AttributeProto *alphas = onnx_attribute(call, "activation_alpha");
    const Onnx__AttributeProto *betas = onnx_attribute(call, "activation_beta");
    const int count = each * directions;
    size_t next_alpha = 0, next_beta = 0;
    const bool is_said = names && names->n_strings;
    if (is_said && names->n_strings != (size_t)count)
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "activations has %zu names, but must have %d",
                           names->n_strings, count);
    for (int i = 0; i < count; i++) {
        int kind = (int)otherwise[i % each];
        if (is_said)
            for (kind = 0; kind < ACTIVATIONS; kind++)
                if (strlen(activations[kind].name) == names->strings[i].len &&
                    !strncasecmp(activations[kind].name, (const char *)names->strings[i].data,
                                 names->strings[i].len))
                    break;
        if (kind == ACTIVATIONS)
            return onnx_refuse(call, HK_UNSUPPORTED, "the activation %.*s",
                               (int)(names->strings[i].len < 60 ? names->strings[i].len : 60),
                               (const char *)names->strings[i].data);
        found[i].kind = (activation_kind)kind;
        found[i].alpha = activations[kind].alpha;
        found[i].beta = activations[kind].beta;
        if (activations[kind].parameters > 0)
            found[i].alpha = parameter(alphas, &next_alpha, found[i].alpha);
        if (activations[kind].parameters > 1)
            found[i].beta = parameter(betas, &next_beta, found[i].beta);
        if (isnan(found[i].alpha) || isnan(found[i].beta))
            return onnx_refuse(call, HK_INVALID_ARGUMENT,
                               "%s needs activation_alpha and activation_beta",
                               activations[kind].name);
    }
    return true;
}

/* ---- a layer --------------------------------------------------------------------------------- */

typedef struct layer layer;

/* One direction of it. */
typedef struct cell {
    const layer *of;
    const activation *activations;
    hk_array *recurrent;  /* (gates hidden, hidden) */
    hk_array *added;      /* (gates hidden), to its products, of a GRU alone; NULL */
    hk_array *peepholes;  /* (3 hidden); NULL */
    hk_array *from_x;     /* (steps, n, gates hidden) */
    hk_array *hidden, *c; /* (n, hidden), counted; c of an LSTM alone */
    bool is_reversed;
} cell;

struct layer {
    int gates;
    int64_t steps, samples, inputs, hidden;
    int directions;
    bool is_lstm, reset_late, couples, by_sample;
    double clip;      /* infinite: none */
    hk_array *inside; /* (steps, n, 1) bool: the step is one of the sequence; NULL: all are */
    void (*step)(cell *self, hk_array *x, hk_array **hidden, hk_array **c);
    activation activations[MOST_ACTIVATIONS];
};

static hk_array *gate(const cell *self, hk_array *gates, int index)
{
    const int64_t size = self->of->hidden;
    return hk_slice(gates, hk_ndim(gates) - 1, index * size, (index + 1) * size);
}

static hk_array *apply(const cell *self, int index, hk_array *x)
{
    const double clip = self->of->clip;
    return activate(&self->activations[index], clip < INFINITY ? hk_clip(x, -clip, clip) : x);
}

/* h' = f(W x + R h + b) */
static void step_rnn(cell *self, hk_array *x, hk_array **hidden, hk_array **c)
{
    (void)c;
    *hidden = apply(self, 0, hk_add(x, hk_linear(self->hidden, self->recurrent, NULL)));
}

/* z, r, h; h' = (1 - z) g(…) + z h */
static void step_gru(cell *self, hk_array *x, hk_array **hidden, hk_array **c)
{
    (void)c;
    const int64_t size = self->of->hidden;
    hk_array *h = self->hidden, *inner;
    if (self->of->reset_late) {
        hk_array *from_h = hk_linear(h, self->recurrent, self->added);
        hk_array *gates = hk_add(hk_slice(x, 1, 0, 2 * size), hk_slice(from_h, 1, 0, 2 * size));
        gates = apply(self, 0, gates);
        inner = hk_add(gate(self, x, 2), hk_multiply(gate(self, gates, 1), gate(self, from_h, 2)));
        inner = apply(self, 1, inner);
        hk_array *z = gate(self, gates, 0);
        *hidden = hk_add(inner, hk_multiply(z, hk_subtract(h, inner)));
        return;
    }
    hk_array *gates = hk_add(hk_slice(x, 1, 0, 2 * size),
                             hk_linear(h, hk_slice(self->recurrent, 0, 0, 2 * size), NULL));
    gates = apply(self, 0, gates);
    hk_array *reset = hk_multiply(gate(self, gates, 1), h);
    inner = hk_add(gate(self, x, 2),
                   hk_linear(reset, hk_slice(self->recurrent, 0, 2 * size, 3 * size), NULL));
    inner = apply(self, 1, inner);
    hk_array *z = gate(self, gates, 0);
    *hidden = hk_add(inner, hk_multiply(z, hk_subtract(h, inner)));
}

static hk_array *peep(const cell *self, hk_array *x, hk_array *c, int index)
{
    return self->peepholes ? hk_add(x, hk_multiply(c, gate(self, self->peepholes, index))) : x;
}

/* i, o, f, c by one call behind the product, where activations are the usual ones. */
static void step_plain_lstm(cell *self, hk_array *x, hk_array **hidden, hk_array **c)
{
    hk_array *both = onnx_lstm_cell(x, hk_linear(self->hidden, self->recurrent, NULL), self->c);
    *hidden = hk_index(both, 0, 0);
    *c = hk_index(both, 0, 1);
}

/* The same by many, with peepholes of i, o and f. */
static void step_lstm(cell *self, hk_array *x, hk_array **hidden, hk_array **c)
{
    hk_array *gates = hk_add(x, hk_linear(self->hidden, self->recurrent, NULL));
    hk_array *i = apply(self, 0, peep(self, gate(self, gates, 0), self->c, 0));
    hk_array *f = self->of->couples ? hk_subtract(onnx_number_like(1, i), i)
                                    : apply(self, 0, peep(self, gate(self, gates, 2), self->c, 2));
    hk_array *g = apply(self, 1, gate(self, gates, 3));
    *c = hk_add(hk_multiply(f, self->c), hk_multiply(i, g));
    hk_array *o = apply(self, 0, peep(self, gate(self, gates, 1), *c, 1));
    *hidden = hk_multiply(o, activate(&self->activations[2], *c));
}

/* The state becomes x where the step is one of the sequence. */
static void move_state(hk_array **state, hk_array *x, hk_array *inside)
{
    hk_array *next = hk_take(inside ? hk_where(inside, x, *state) : x);
    hk_array_release(*state);
    *state = next;
}

/* All steps; what goes out is (steps, n, hidden). The final states stay in the cell. */
static hk_array *run_steps(onnx_call *call, cell *self)
{
    const layer *of = self->of;
    hk_array **out = malloc((size_t)of->steps * sizeof *out + 1);
    if (!out) {
        onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    for (int64_t i = 0; i < of->steps; i++) {
        HK_SCOPE;
        const int64_t at = self->is_reversed ? of->steps - 1 - i : i;
        hk_array *inside = of->inside ? hk_index(of->inside, 0, at) : NULL;
        hk_array *hidden, *c = NULL;
        of->step(self, hk_index(self->from_x, 0, at), &hidden, &c);
        hk_array *y = inside ? hk_where(inside, hidden, onnx_number_like(0, hidden)) : hidden;
        out[at] = hk_array_retain(y);
        if (c)
            move_state(&self->c, c, inside);
        move_state(&self->hidden, hidden, inside);
    }
    hk_array *y = of->steps > 0 ? hk_stack(out, (int)of->steps, 0)
                                : hk_zeros(hk_shape(0, of->samples, of->hidden),
                                           hk_array_dtype(self->from_x), call->device);
    for (int64_t i = 0; i < of->steps; i++)
        hk_array_release(out[i]);
    free(out);
    return y;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool has_shape(onnx_call *call, hk_array *x, const char *name, hk_dims shape)
{
    if (!x)
        return true;
    if (onnx_has_failed(call, x))
        return false;
    if (onnx_same_dims(hk_dims_get(x), shape))
        return true;
    char wanted[120] = "", *to = wanted;
    for (int i = 0; i < shape.ndim; i++)
        to += snprintf(to, (size_t)(wanted + sizeof wanted - to), "%s%" PRId64, i ? ", " : "",
                       shape.dims[i]);
    return onnx_refuse(call, HK_INVALID_ARGUMENT, "%s must be of shape (%s)", name, wanted);
}

static bool read_layer(onnx_call *call, layer *self)
{
    hk_array *x = onnx_in(call, 0), *r = onnx_in(call, 2);
    if (!onnx_needs_floats(call, x, "X", 3) || !onnx_needs_floats(call, onnx_in(call, 1), "W", 3) ||
        !onnx_needs_floats(call, r, "R", 3))
        return false;
    self->by_sample = onnx_int(call, "layout", 0) != 0;
    self->steps = hk_dim(x, self->by_sample ? 1 : 0);
    self->samples = hk_dim(x, self->by_sample ? 0 : 1);
    self->inputs = hk_dim(x, 2);
    self->hidden = hk_dim(r, 2);
    const bool is_forward = onnx_text_is(call, "direction", "forward", "forward");
    const bool is_both = onnx_text_is(call, "direction", "bidirectional", NULL);
    if (!is_forward && !is_both && !onnx_text_is(call, "direction", "reverse", NULL))
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "direction must be forward, reverse or bidirectional");
    self->directions = is_both ? 2 : 1;
    const int64_t said = onnx_int(call, "hidden_size", self->hidden), d = self->directions;
    if (said != self->hidden || self->hidden < 1 || self->hidden > INT32_MAX ||
        self->steps > INT32_MAX || hk_ndim(x) != 3)
        return onnx_refuse(call, HK_INVALID_ARGUMENT,
                           "hidden_size is %" PRId64 ", R has %" PRId64
                           ", and X %d axes, of which it must have 3",
                           said, self->hidden, hk_ndim(x));
    self->clip = onnx_float(call, "clip", INFINITY);
    if (!(self->clip >= 0))
        return onnx_refuse(call, HK_OUT_OF_RANGE, "clip is %g, but must be at least 0", self->clip);
    const int64_t rows = self->gates * self->hidden;
    const hk_dims state = self->by_sample ? hk_shape(self->samples, d, self->hidden)
                                          : hk_shape(d, self->samples, self->hidden);
    return has_shape(call, onnx_in(call, 1), "W", hk_shape(d, rows, self->inputs)) &&
           has_shape(call, r, "R", hk_shape(d, rows, self->hidden)) &&
           has_shape(call, onnx_in(call, 3), "B", hk_shape(d, 2 * rows)) &&
           has_shape(call, onnx_in(call, 4), "sequence_lens", hk_shape(self->samples)) &&
           has_shape(call, onnx_in(call, 5), "initial_h", state) &&
           (!self->is_lstm ||
            (has_shape(call, onnx_in(call, 6), "initial_c", state) &&
             has_shape(call, onnx_in(call, 7), "P", hk_shape(d, 3 * self->hidden))));
}

/* Input i of direction d, as the layer computes; NULL: left out. */
static hk_array *input_of(onnx_call *call, int index, int axis, int d)
{
    hk_array *x = onnx_in(call, index);
    return x ? onnx_wide(hk_index(x, axis, d)) : NULL;
}

static hk_array *state_of(onnx_call *call, const layer *self, int index, int d, hk_dtype dtype)
{
    hk_array *x = input_of(call, index, self->by_sample ? 1 : 0, d);
    return x ? hk_array_retain(x)
             : hk_take(hk_zeros(hk_shape(self->samples, self->hidden), dtype, call->device));
}

/* Biases of x's products and, where they may be added at once, of h's. */
static hk_array *bias_of(onnx_call *call, const layer *self, cell *it, int d)
{
    hk_array *bias = input_of(call, 3, 0, d);
    const int64_t rows = self->gates * self->hidden;
    if (!bias)
        return NULL;
    hk_array *of_x = hk_slice(bias, 0, 0, rows), *of_h = hk_slice(bias, 0, rows, 2 * rows);
    if (!self->reset_late)
        return hk_add(of_x, of_h);
    it->added = of_h;
    return of_x;
}

static void mark_inside(onnx_call *call, layer *self)
{
    hk_array *lengths = onnx_in(call, 4);
    if (!lengths)
        return;
    hk_array *steps = hk_sequence(0, 1, self->steps, HK_I64, call->device);
    hk_array *inside = hk_less(hk_reshape(steps, hk_shape(self->steps, 1, 1)),
                               hk_reshape(hk_cast(lengths, HK_I64), hk_shape(self->samples, 1)));
    self->inside = inside;
}

/* One direction. y: what goes out; the states are counted. */
static bool run_direction(onnx_call *call, const layer *self, int d, int each, cell *it,
                          hk_array **y)
{
    hk_array *x = onnx_wide(onnx_in(call, 0));
    const hk_dtype dtype = hk_array_dtype(x);
    *it = (cell){.of = self,
                 .activations = self->activations + d * each,
                 .recurrent = input_of(call, 2, 0, d),
                 .is_reversed = d == 1 || onnx_text_is(call, "direction", "reverse", NULL)};
    hk_array *bias = bias_of(call, self, it, d);
    if (self->by_sample)
        x = hk_swapaxes(x, 0, 1);
    it->from_x = hk_linear(x, input_of(call, 1, 0, d), bias);
    it->peepholes = self->is_lstm ? input_of(call, 7, 0, d) : NULL;
    it->hidden = state_of(call, self, 5, d, dtype);
    it->c = self->is_lstm ? state_of(call, self, 6, d, dtype) : NULL;
    *y = run_steps(call, it);
    return *y;
}

/* Of both directions, along a new axis. */
static bool give(onnx_call *call, int index, hk_array *const *parts, const layer *self, int axis)
{
    hk_array *y = hk_stack(parts, self->directions, axis);
    return onnx_out(call, index, onnx_to(y, hk_array_dtype(onnx_in(call, 0))));
}

/* Whether the layer is what most are. */
static bool is_plain_lstm(onnx_call *call, const layer *self)
{
    bool is_usual = self->is_lstm && self->clip == INFINITY && !self->couples && !onnx_in(call, 7);
    for (int i = 0; is_usual && i < 3 * self->directions; i++)
        is_usual = self->activations[i].kind == (i % 3 ? TANH : SIGMOID);
    return is_usual && onnx_has_cell(call, hk_array_dtype(onnx_wide(onnx_in(call, 0))));
}

static bool run_layer(onnx_call *call, layer *self, const activation_kind *otherwise, int each)
{
    hk_array *out[2] = {NULL, NULL}, *hidden[2], *c[2];
    cell cells[2] = {{0}};
    if (!read_layer(call, self) ||
        !read_activations(call, self->activations, otherwise, each, self->directions))
        return false;
    if (is_plain_lstm(call, self))
        self->step = step_plain_lstm;
    mark_inside(call, self);
    bool is_good = true;
    for (int d = 0; d < self->directions && is_good; d++) {
        is_good = run_direction(call, self, d, each, &cells[d], &out[d]);
        hidden[d] = cells[d].hidden;
        c[d] = cells[d].c;
        if (is_good && self->by_sample)
            out[d] = hk_swapaxes(out[d], 0, 1);
    }
    is_good = is_good && give(call, 0, out, self, self->by_sample ? 2 : 1) &&
              give(call, 1, hidden, self, self->by_sample ? 1 : 0) &&
              (!self->is_lstm || give(call, 2, c, self, self->by_sample ? 1 : 0));
    for (int d = 0; d < 2; d++) {
        hk_array_release(cells[d].hidden);
        hk_array_release(cells[d].c);
    }
    return is_good;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static bool run_rnn(onnx_call *call)
{
    layer self = {.gates = 1, .step = step_rnn};
    return run_layer(call, &self, (const activation_kind[]){TANH}, 1);
}

static bool run_gru(onnx_call *call)
{
    layer self = {
        .gates = 3, .step = step_gru, .reset_late = onnx_int(call, "linear_before_reset", 0) != 0};
    return run_layer(call, &self, (const activation_kind[]){SIGMOID, TANH}, 2);
}

static bool run_lstm(onnx_call *call)
{
    layer self = {.gates = 4,
                  .step = step_lstm,
                  .is_lstm = true,
                  .couples = onnx_int(call, "input_forget", 0) != 0};
    return run_layer(call, &self, (const activation_kind[]){SIGMOID, TANH, TANH}, 3);
}

const onnx_row onnx_rows_recurrent[] = {
    {"GRU", run_gru, 0},
    {"LSTM", run_lstm, 0},
    {"RNN", run_rnn, 0},
    {NULL, NULL, 0},
};
