/* The way out of recurrent layers: ONNX's own for all steps, which have gates in another order; and
 * steps by themselves. */
#include "export.h"

#include <string.h>

enum { X, X_WEIGHT, X_BIAS, WEIGHT, BIAS, H0, C0 };
enum { TANH, GRU, LSTM };

static const struct {
    const char *op;
    int gates;
    int64_t order[4]; /* ONNX's, of what are r z n and i f g o here */
} kinds[] = {
    [TANH] = {"RNN", 1, {0}}, [GRU] = {"GRU", 3, {1, 0, 2}}, [LSTM] = {"LSTM", 4, {0, 3, 1, 2}}};

/* (gates units, rest), or without rest, as (1, gates units, rest) in ONNX's order. */
static const char *reordered(onnx_writing *out, int input, int kind, int64_t units)
{
    const hk_dims given = onnx_out_in(out, input)->shape;
    const int gates = kinds[kind].gates;
    hk_dims apart = {.ndim = 1 + given.ndim, .dims = {gates, units}},
            whole = {.ndim = 1 + given.ndim, .dims = {1, gates * units}};
    for (int i = 1; i < given.ndim; i++)
        apart.dims[1 + i] = whole.dims[1 + i] = given.dims[i];
    const char *x = onnx_out_in_name(out, input);
    if (gates > 1) {
        x = ONNX_OUT(out, "Gather", NULL, onnx_out_reshape(out, x, apart, NULL),
                     onnx_out_ints(out, kinds[kind].order, gates));
        onnx_out_set_int(out, "axis", 0);
    }
    return onnx_out_reshape(out, x, whole, NULL);
}

static const char *state_of(onnx_writing *out, int input)
{
    static const int64_t first = 0;
    return onnx_out_in(out, input) ? ONNX_OUT(out, "Unsqueeze", NULL, onnx_out_in_name(out, input),
                                              onnx_out_ints(out, &first, 1))
                                   : NULL;
}

static bool add_all_states(onnx_writing *out, int64_t units);

static bool add_recurrence(onnx_writing *out)
{
    static const int64_t turned[] = {1, 0, 2}, direction = 1;
    const int kind = (int)onnx_out_int(out, "kind");
    if (kind < TANH || kind > LSTM)
        return onnx_out_refuse(out, "is of a kind that is not known");
    const int64_t units = onnx_out_in(out, WEIGHT)->shape.dims[1];
    const hk_dtype dtype = onnx_out_in(out, X)->dtype;
    if (kind == LSTM && onnx_out_of(out, 1))
        return add_all_states(out, units);
    const char *x = onnx_out_transpose(out, onnx_out_in_name(out, X), turned, 3, NULL);
    const char *x_bias = reordered(out, X_BIAS, kind, units);
    const char *bias = ONNX_OUT(out, "Concat", NULL, x_bias, reordered(out, BIAS, kind, units));
    onnx_out_set_int(out, "axis", 1);
    const char *inputs[] = {x,
                            reordered(out, X_WEIGHT, kind, units),
                            reordered(out, WEIGHT, kind, units),
                            bias,
                            NULL,
                            state_of(out, H0),
                            kind == LSTM ? state_of(out, C0) : NULL};
    const char *steps = onnx_out_add(out, kinds[kind].op, NULL, 7, inputs);
    onnx_out_set_int(out, "hidden_size", units);
    if (onnx_out_int(out, "is_reversed"))
        onnx_out_set_text(out, "direction", "reverse");
    if (kind == GRU)
        onnx_out_set_int(out, "linear_before_reset", 1);
    steps = ONNX_OUT(out, "Squeeze", NULL, steps, onnx_out_ints(out, &direction, 1));
    return onnx_out_finish(out, onnx_out_transpose(out, steps, turned, 3, NULL), dtype);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Gate `index` of sums side by side along the last axis. */
static const char *gate(onnx_writing *out, const char *sums, int index, int64_t units)
{
    static const int64_t last = -1;
    const int64_t begin = index * units, end = begin + units;
    return ONNX_OUT(out, "Slice", NULL, sums, onnx_out_ints(out, &begin, 1),
                    onnx_out_ints(out, &end, 1), onnx_out_ints(out, &last, 1));
}

static int64_t units_of(const onnx_writing *out)
{
    const hk_export_value *state = onnx_out_in(out, 2);
    return state->shape.dims[state->shape.ndim - 1];
}

/* A step of an LSTM from its sums: h and, in *cell, c, which is the one before, or NULL, for zeros.
 * The names of both may be given. */
static const char *step_of(onnx_writing *out, const char *sums, int64_t units, const char **cell,
                           const char *h_name, const char *c_name)
{
    const char *in = ONNX_OUT(out, "Sigmoid", NULL, gate(out, sums, 0, units));
    const char *forget = ONNX_OUT(out, "Sigmoid", NULL, gate(out, sums, 1, units));
    const char *fresh = ONNX_OUT(out, "Tanh", NULL, gate(out, sums, 2, units));
    const char *last = ONNX_OUT(out, "Sigmoid", NULL, gate(out, sums, 3, units));
    const char *added = ONNX_OUT(out, "Mul", *cell ? NULL : c_name, in, fresh);
    *cell = *cell ? ONNX_OUT(out, "Add", c_name, ONNX_OUT(out, "Mul", NULL, forget, *cell), added)
                  : added;
    return ONNX_OUT(out, "Mul", h_name, last, ONNX_OUT(out, "Tanh", NULL, *cell));
}

static bool add_lstm_cell(onnx_writing *out)
{
    const char *cell = onnx_out_in_name(out, 2);
    const char *sums =
        ONNX_OUT(out, "Add", NULL, onnx_out_in_name(out, 0), onnx_out_in_name(out, 1));
    if (onnx_out_of(out, 2))
        return onnx_out_refuse(out, "has a result 2, which ONNX does not give");
    return step_of(out, sums, units_of(out), &cell, onnx_out_of_name(out, 0),
                   onnx_out_of_name(out, 1));
}

/* x weight^T + bias. */
static const char *sums_of(onnx_writing *out, const char *x, int weight, int bias)
{
    static const int64_t turned[] = {1, 0};
    const char *product =
        ONNX_OUT(out, "MatMul", NULL, x,
                 onnx_out_transpose(out, onnx_out_in_name(out, weight), turned, 2, NULL));
    return ONNX_OUT(out, "Add", NULL, product, onnx_out_in_name(out, bias));
}

/* Steps side by side along axis 1. */
static bool join(onnx_writing *out, const char **steps, int count, const char *name)
{
    static const int64_t axis = 1;
    for (int i = 0; i < count; i++)
        steps[i] = ONNX_OUT(out, "Unsqueeze", NULL, steps[i], onnx_out_ints(out, &axis, 1));
    return !name ||
           (onnx_out_add(out, "Concat", name, count, steps) && onnx_out_set_int(out, "axis", 1));
}

/* An LSTM step by step: ONNX's own tells the last c alone. */
static bool add_all_states(onnx_writing *out, int64_t units)
{
    enum { MOST = 1024 };
    const int64_t count = onnx_out_in(out, X)->shape.dims[1];
    const char **h = onnx_export_allocate(out->file, MOST * sizeof *h);
    const char **c = onnx_export_allocate(out->file, MOST * sizeof *c);
    const char *state = onnx_out_in_name(out, H0), *cell = onnx_out_in_name(out, C0);
    if (count < 1 || count > MOST || onnx_out_of(out, 2))
        return onnx_out_refuse(out,
                               "is asked for what ONNX does not give: c after each of %lld steps",
                               (long long)count);
    const char *sums = sums_of(out, onnx_out_in_name(out, X), X_WEIGHT, X_BIAS);
    for (int64_t i = 0; i < count && h && c; i++) {
        const int64_t at = onnx_out_int(out, "is_reversed") ? count - 1 - i : i;
        const char *step =
            ONNX_OUT(out, "Gather", NULL, sums, onnx_out_scalar(out, (double)at, HK_I64));
        onnx_out_set_int(out, "axis", 1);
        const char *own = state ? sums_of(out, state, WEIGHT, BIAS) : onnx_out_in_name(out, BIAS);
        state = step_of(out, ONNX_OUT(out, "Add", NULL, step, own), units, &cell, NULL, NULL);
        h[at] = state;
        c[at] = cell;
    }
    return h && c && join(out, h, (int)count, onnx_out_of_name(out, 0)) &&
           join(out, c, (int)count, onnx_out_of_name(out, 1));
}

static bool add_gru_cell(onnx_writing *out)
{
    const int64_t units = units_of(out);
    const hk_dtype dtype = onnx_out_in(out, 0)->dtype;
    const char *x = onnx_out_in_name(out, 0), *h = onnx_out_in_name(out, 1), *gates[2];
    for (int i = 0; i < 2; i++)
        gates[i] =
            ONNX_OUT(out, "Sigmoid", NULL,
                     ONNX_OUT(out, "Add", NULL, gate(out, x, i, units), gate(out, h, i, units)));
    const char *reset = ONNX_OUT(out, "Mul", NULL, gates[0], gate(out, h, 2, units));
    const char *fresh =
        ONNX_OUT(out, "Tanh", NULL, ONNX_OUT(out, "Add", NULL, gate(out, x, 2, units), reset));
    const char *rest = ONNX_OUT(out, "Sub", NULL, onnx_out_scalar(out, 1, dtype), gates[1]);
    const char *new_part = ONNX_OUT(out, "Mul", NULL, rest, fresh);
    return onnx_out_finish(out,
                           ONNX_OUT(out, "Add", NULL, new_part,
                                    ONNX_OUT(out, "Mul", NULL, gates[1], onnx_out_in_name(out, 2))),
                           dtype);
}

const onnx_export_row onnx_export_recurrent[] = {
    {"recurrence", add_recurrence},
    {"lstm_cell", add_lstm_cell},
    {"gru_cell", add_gru_cell},
    {NULL, NULL},
};
