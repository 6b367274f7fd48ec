/* Recurrent layers and their gradients, written plainly. */
#include "op/recurrent/recurrence_reference.h"

#include <math.h>
#include <stdlib.h>

static double gate(double x)
{
    return 1 / (1 + exp(-x));
}

/* A gradient that is left out is of zeros. */
static double or_zero(const double *dy, int64_t i)
{
    return dy ? dy[i] : 0;
}

/* Of a call: kind, steps, units and parts, and which step is where. */
typedef struct geometry {
    hki_recurrence_kind kind;
    bool is_reversed;
    int64_t rows, steps, f, inputs, sums, kept;
} geometry;

static geometry geometry_of(const hki_call *call, const hk_dims *weight)
{
    const hki_recurrence_options *options = call->options;
    const hk_dims *out = &call->out_shape[0];
    const hki_recurrence_parts parts = hki_recurrence_parts_of[options->kind];
    return (geometry){.kind = hki_recurrence_kind_of(options),
                      .is_reversed = options->is_reversed,
                      .rows = out->dims[0],
                      .steps = out->dims[1],
                      .f = weight->dims[1],
                      .inputs = call->inputs[0]->shape.dims[2],
                      .sums = parts.sums,
                      .kept = parts.kept};
}

/* Unit j of the state before a step: of all, or of the first. */
static double state_before(const geometry *g, const double *all, const double *first, int64_t row,
                           int64_t step, int64_t j)
{
    const int64_t at = g->is_reversed ? g->steps - step : step - 1;
    return step ? all[(row * g->steps + at) * g->f + j] : or_zero(first, row * g->f + j);
}

/* Sum k of unit j of what the state gives. */
static double from_state(const geometry *g, const double *const *in, const double *h, int64_t row,
                         int64_t step, int64_t k, int64_t j)
{
    double sum = in[BIAS][k * g->f + j];
    for (int64_t i = 0; i < g->f; i++)
        sum += in[WEIGHT][(k * g->f + j) * g->f + i] * state_before(g, h, in[H0], row, step, i);
    return sum;
}

/* The same of what the inputs give, at the place of a row and step. */
static double from_inputs(const geometry *g, const double *const *in, int64_t at, int64_t k,
                          int64_t j)
{
    double sum = in[X_BIAS][k * g->f + j];
    for (int64_t i = 0; i < g->inputs; i++)
        sum += in[X_WEIGHT][(k * g->f + j) * g->inputs + i] * in[X][at * g->inputs + i];
    return sum;
}

static void reference_unit(const geometry *g, const double *const *in, double *const *out,
                           bool keeps, int64_t row, int64_t step, int64_t j)
{
    const int64_t f = g->f, at = row * g->steps + (g->is_reversed ? g->steps - 1 - step : step);
    double x[4], h[4], s[5], *y = &out[H][at * f + j];
    for (int64_t k = 0; k < g->sums; k++) {
        x[k] = from_inputs(g, in, at, k, j);
        h[k] = from_state(g, in, out[H], row, step, k, j);
        s[k] = k == 2 ? tanh(x[k] + h[k]) : gate(x[k] + h[k]);
    }
    if (g->kind == HKI_RECURRENCE_LSTM) {
        const double c = s[1] * state_before(g, out[C], in[C0], row, step, j) + s[0] * s[2];
        out[C][at * f + j] = c;
        s[4] = tanh(c);
        *y = s[3] * s[4];
    } else if (g->kind == HKI_RECURRENCE_GRU) {
        s[2] = tanh(x[2] + s[0] * h[2]);
        s[3] = h[2];
        *y = s[2] + s[1] * (state_before(g, out[H], in[H0], row, step, j) - s[2]);
    } else {
        *y = tanh(x[0] + h[0]);
    }
    for (int64_t k = 0; keeps && k < g->kept; k++)
        out[KEPT][(at * g->kept + k) * f + j] = s[k];
}

void hki_recurrence_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const geometry g = geometry_of(call, &call->inputs[WEIGHT]->shape);
    for (int64_t row = 0; row < g.rows; row++)
        for (int64_t step = 0; step < g.steps; step++)
            for (int64_t j = 0; j < g.f; j++)
                reference_unit(&g, in, out, call->out_shape[KEPT].dims[2] > 0, row, step, j);
}

/* Of one unit in one step; dh and dc: of what the step gives. Writes ds, of the sums of h, and *rest, which goes to the state before
 * without the weights. */
static void back_reference_unit(const geometry *g, const double *const *in, double *const *out,
                                int64_t row, int64_t step, int64_t j, double dh, double dc,
                                double *rest)
{
    const int64_t f = g->f, at = row * g->steps + (g->is_reversed ? g->steps - 1 - step : step);
    double y[5], dkept[5], *dx = &out[DSUMS][at * g->sums * f + j];
    for (int64_t k = 0; k < g->kept; k++) {
        y[k] = in[BACK_KEPT][(at * g->kept + k) * f + j];
        dkept[k] = or_zero(in[BACK_H + KEPT], (at * g->kept + k) * f + j);
    }
    const double past =
        in[BACK_PAST] ? state_before(g, in[BACK_PAST], in[BACK_FIRST], row, step, j) : 0;
    if (g->kind == HKI_RECURRENCE_LSTM) {
        const double dcell = (dh * y[3] + dkept[4]) * (1 - y[4] * y[4]) + dc;
        const double of[] = {dcell * y[2], dcell * past, dcell * y[0], dh * y[4]};
        for (int64_t k = 0; k < 4; k++)
            dx[k * f] = (of[k] + dkept[k]) * (k == 2 ? 1 - y[k] * y[k] : y[k] * (1 - y[k]));
        *rest = dcell * y[1];
    } else if (g->kind == HKI_RECURRENCE_GRU) {
        double *ds = &out[DOTHER][at * g->sums * f + j];
        const double dn = (dh * (1 - y[1]) + dkept[2]) * (1 - y[2] * y[2]);
        dx[0] = ds[0] = (dn * y[3] + dkept[0]) * y[0] * (1 - y[0]);
        dx[f] = ds[f] = (dh * (past - y[2]) + dkept[1]) * y[1] * (1 - y[1]);
        dx[2 * f] = dn;
        ds[2 * f] = dn * y[0] + dkept[3];
        *rest = dh * y[1];
    } else {
        dx[0] = dh * (1 - y[0] * y[0]);
        *rest = 0;
    }
}

/* The last step first: dh and dc are the gradients of a row's state that is come to. */
void hki_recurrence_back_reference(const hki_call *call, const double *const *in,
                                   double *const *out)
{
    const geometry g = geometry_of(call, &call->inputs[BACK_WEIGHT]->shape);
    const bool has_c = g.kind == HKI_RECURRENCE_LSTM, has_sums = g.kind == HKI_RECURRENCE_GRU;
    double *dh = malloc((size_t)(2 * g.f + 1) * sizeof *dh), *dc = dh + g.f;
    for (int64_t row = 0; row < g.rows; row++) {
        for (int64_t i = 0; i < 2 * g.f; i++)
            dh[i] = 0;
        for (int64_t step = g.steps - 1; step >= 0; step--) {
            const int64_t at = row * g.steps + (g.is_reversed ? g.steps - 1 - step : step);
            const double *ds = out[has_sums ? DOTHER : DSUMS] + at * g.sums * g.f;
            double rest;
            for (int64_t j = 0; j < g.f; j++) {
                back_reference_unit(
                    &g, in, out, row, step, j, dh[j] + or_zero(in[BACK_H], at * g.f + j),
                    has_c ? dc[j] + or_zero(in[BACK_H + C], at * g.f + j) : 0, &rest);
                dh[j] = has_sums ? rest : 0;
                dc[j] = rest;
            }
            for (int64_t i = 0; i < g.sums * g.f; i++)
                for (int64_t j = 0; j < g.f; j++)
                    dh[j] += ds[i] * in[BACK_WEIGHT][i * g.f + j];
        }
        for (int64_t j = 0; in[BACK_FIRST] && j < g.f; j++) {
            out[DH0][row * g.f + j] = dh[j];
            if (has_c)
                out[DOTHER][row * g.f + j] = dc[j];
        }
    }
    free(dh);
    const int64_t inputs = call->out_shape[DX].dims[2];
    for (int64_t at = 0; at < g.rows * g.steps; at++)
        for (int64_t j = 0; j < inputs; j++) {
            double *dx = &out[DX][at * inputs + j];
            *dx = 0;
            for (int64_t i = 0; i < g.sums * g.f; i++)
                *dx += out[DSUMS][at * g.sums * g.f + i] * in[BACK_X_WEIGHT][i * inputs + j];
        }
}
