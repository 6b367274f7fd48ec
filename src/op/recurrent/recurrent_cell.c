/* One step of an LSTM and of a GRU behind the sums of inputs and of the state, in one pass, with gradients in one pass: what the
 * layers of src/nn/recurrent.c call where the kernel serves. What is kept of a step is an output like the others, so that the
 * gradients are differentiable, too. The loops are in cell_loops.inc.c. */
#include "op/op.h"

#include "op/recurrent/cell_loops.h"
#include "op/recurrent/recurrent_cell.h"
#include "op/shape/join.h"

#include <math.h>
#include <string.h>

enum { X, H, STATE };                         /* inputs; STATE: c of an LSTM, h of a GRU */
enum { BACK_KEPT, BACK_STATE, BACK_OUTPUTS }; /* of the gradients, then those of each output */

/* What kind of cell an operator is of. */
typedef struct cell {
    int sums, kept; /* parts of the sums, and of what is kept */
    bool is_lstm;
} cell;

static const cell lstm_cell = {HKI_LSTM_SUMS, HKI_LSTM_KEPT, true};
static const cell gru_cell = {HKI_GRU_SUMS, HKI_GRU_KEPT, false};

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

/* Internal operators: what the layers give needs no text for people. */
static bool infer(hki_call *call)
{
    const cell *its = call->op->data;
    const hki_shape_view *x = call->inputs[X], *h = call->inputs[H], *state = call->inputs[STATE];
    if (x->shape.ndim != 2 || state->shape.ndim != 2 || !hki_dims_equal(&x->shape, &h->shape) ||
        x->shape.dims[0] != state->shape.dims[0] ||
        x->shape.dims[1] != its->sums * state->shape.dims[1] || x->dtype != h->dtype ||
        x->dtype != state->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "x, h and the state do not fit together");
    const int last = its->is_lstm ? 2 : 1;
    for (int i = 0; i <= last; i++) {
        call->out_shape[i] = state->shape;
        call->out_dtype[i] = x->dtype;
    }
    call->out_shape[last].dims[1] *= its->kept;
    return true;
}

static bool back_infer(hki_call *call)
{
    const cell *its = call->op->data;
    const hki_shape_view *kept = call->inputs[BACK_KEPT], *state = call->inputs[BACK_STATE];
    if (kept->shape.ndim != 2 || state->shape.ndim != 2 || kept->dtype != state->dtype ||
        kept->shape.dims[1] != its->kept * state->shape.dims[1])
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the state does not fit what was kept");
    const int last = its->is_lstm ? 1 : 2;
    for (int i = 0; i <= last; i++) {
        call->out_shape[i] = state->shape;
        call->out_dtype[i] = state->dtype;
        if (i < last)
            call->out_shape[i].dims[1] *= its->sums;
    }
    return true;
}

/* Operations as calls of the elementwise operators would count them. */
static void plan(const hki_call *call, hki_plan *plan)
{
    const cell *its = call->op->data;
    const bool is_back =
        call->op == &hki_op_lstm_cell_backward || call->op == &hki_op_gru_cell_backward;
    const hk_dims *state = &call->inputs[is_back ? BACK_STATE : STATE]->shape;
    const double units = (double)state->dims[0] * (double)state->dims[1];
    plan->work_ns = 100 + units * (call->out_dtype[0] == HK_F32 ? 6 : 60);
    plan->flops = units * (is_back ? 20 : its->is_lstm ? 14 : 10);
}

static hki_batch_kind batch(hki_batch *batch)
{
    for (int i = 0; i < batch->input_count; i++)
        if (batch->in[i])
            batch->first |= 1u << i;
    return HKI_BATCH_EACH;
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

enum { MOST_PARTS = HKI_LSTM_KEPT };

/* A run of units of one row. */
typedef struct run {
    int64_t row, first, count, units;
} run;

/* Part k of the row of an input, from the first unit on; by way of `room` where elements lie apart. One that is left out: none. */
static const void *read_part(const hki_kernel_call *call, int index, const run *at, int k,
                             void *room)
{
    const hki_tensor *x = &call->in[index];
    if (index >= call->input_count || !x->data)
        return call->out[0].dtype == HK_F32 ? (const void *)hki_cell_none_f32 : hki_cell_none_f64;
    const size_t bytes = hk_dtype_bytes(x->dtype);
    const int64_t from = at->row * x->strides[0] + (k * at->units + at->first) * x->strides[1];
    const char *data = (const char *)x->data + from * (int64_t)bytes;
    if (x->strides[1] == 1)
        return data;
    for (int64_t j = 0; j < at->count; j++)
        memcpy((char *)room + (size_t)j * bytes, data + j * x->strides[1] * (int64_t)bytes, bytes);
    return room;
}

static void *write_part(const hki_tensor *y, const run *at, int k, int parts)
{
    const int64_t to = (at->row * parts + k) * at->units + at->first;
    return (char *)y->data + to * (int64_t)hk_dtype_bytes(y->dtype);
}

/* The parts of up to three inputs and two outputs of a run. */
typedef struct parts {
    const void *in[3][MOST_PARTS];
    void *out[2][MOST_PARTS];
    double room[3][MOST_PARTS][HKI_CELL_CHUNK];
} parts;

/* Goes to in[to]. */
static void read_parts(parts *self, int to, const hki_kernel_call *call, int index, const run *at,
                       int count)
{
    for (int k = 0; k < count; k++)
        self->in[to][k] = read_part(call, index, at, k, self->room[to][k]);
}

static void write_parts(parts *self, int index, const hki_tensor *y, const run *at, int count)
{
    for (int k = 0; k < count; k++)
        self->out[index][k] = write_part(y, at, k, count);
}

/* As the loops take lists of parts. */
#define F32(list)    ((const float *const *)(list))
#define F64(list)    ((const double *const *)(list))
#define TO_F32(list) ((float *const *)(list))
#define TO_F64(list) ((double *const *)(list))

static void forward_run(const hki_kernel_call *call, const run *at, parts *p)
{
    const cell *its = call->op->data;
    const hki_cell_loops *loops = hki_cell_loops_get();
    read_parts(p, X, call, X, at, its->sums);
    read_parts(p, H, call, H, at, its->sums);
    read_parts(p, STATE, call, STATE, at, 1);
    write_parts(p, 0, &call->out[its->is_lstm ? 2 : 1], at, its->kept);
    const void *state = p->in[STATE][0];
    void *y = write_part(&call->out[0], at, 0, 1);
    const bool is_single = call->out[0].dtype == HK_F32;
    if (its->is_lstm && is_single)
        loops->lstm_f32(F32(p->in[X]), F32(p->in[H]), state, y, write_part(&call->out[1], at, 0, 1),
                        TO_F32(p->out[0]), at->count);
    else if (its->is_lstm)
        loops->lstm_f64(F64(p->in[X]), F64(p->in[H]), state, y, write_part(&call->out[1], at, 0, 1),
                        TO_F64(p->out[0]), at->count);
    else if (is_single)
        loops->gru_f32(F32(p->in[X]), F32(p->in[H]), state, y, TO_F32(p->out[0]), at->count);
    else
        loops->gru_f64(F64(p->in[X]), F64(p->in[H]), state, y, TO_F64(p->out[0]), at->count);
}

static void back_run(const hki_kernel_call *call, const run *at, parts *p)
{
    const cell *its = call->op->data;
    const hki_cell_loops *loops = hki_cell_loops_get();
    const int dkept = BACK_OUTPUTS + (its->is_lstm ? 2 : 1);
    double state_room[HKI_CELL_CHUNK], dy_room[HKI_CELL_CHUNK], dnext_room[HKI_CELL_CHUNK];
    read_parts(p, 0, call, BACK_KEPT, at, its->kept);
    read_parts(p, 1, call, dkept, at, its->kept);
    const void *state = read_part(call, BACK_STATE, at, 0, state_room);
    const void *dy = read_part(call, BACK_OUTPUTS, at, 0, dy_room);
    write_parts(p, 0, &call->out[0], at, its->sums);
    const bool is_single = call->out[0].dtype == HK_F32;
    if (its->is_lstm) {
        const void *dnext = read_part(call, BACK_OUTPUTS + 1, at, 0, dnext_room);
        void *dc = write_part(&call->out[1], at, 0, 1);
        if (is_single)
            loops->lstm_back_f32(F32(p->in[0]), state, dy, dnext, F32(p->in[1]), TO_F32(p->out[0]),
                                 dc, at->count);
        else
            loops->lstm_back_f64(F64(p->in[0]), state, dy, dnext, F64(p->in[1]), TO_F64(p->out[0]),
                                 dc, at->count);
        return;
    }
    write_parts(p, 1, &call->out[1], at, its->sums);
    void *dstate = write_part(&call->out[2], at, 0, 1);
    if (is_single)
        loops->gru_back_f32(F32(p->in[0]), state, dy, F32(p->in[1]), TO_F32(p->out[0]),
                            TO_F32(p->out[1]), dstate, at->count);
    else
        loops->gru_back_f64(F64(p->in[0]), state, dy, F64(p->in[1]), TO_F64(p->out[0]),
                            TO_F64(p->out[1]), dstate, at->count);
}

static void each_run(const hki_kernel_call *call, int64_t units, int64_t begin, int64_t end,
                     void (*body)(const hki_kernel_call *call, const run *at, parts *p))
{
    parts p;
    for (int64_t row = begin; row < end; row++)
        for (int64_t first = 0; first < units; first += HKI_CELL_CHUNK) {
            const int64_t left = units - first;
            const run at = {row, first, left < HKI_CELL_CHUNK ? left : HKI_CELL_CHUNK, units};
            body(call, &at, &p);
        }
}

static void forward_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    each_run(call, call->in[STATE].dims[1], begin, end, forward_run);
}

static void back_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    each_run(call, call->in[BACK_STATE].dims[1], begin, end, back_run);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------- */

static hk_array *add(hk_array *x, hk_array *y)
{
    return !x ? y : !y ? x : hki_op_call2(&hki_op_add, x, y, NULL);
}

static hk_array *times(hk_array *x, hk_array *y)
{
    return x && y ? hki_op_call2(&hki_op_multiply, x, y, NULL) : NULL;
}

/* Part k of the last axis; NULL of NULL. */
static hk_array *part(hk_array *x, int k, int64_t units)
{
    return x ? (hk_slice)(x, 1, k * units, (k + 1) * units) : NULL;
}

/* 1 - x */
static hk_array *rest(hk_array *x)
{
    return hki_op_call_number(&hki_op_add_scalar, hki_op_call1(&hki_op_negative, x, NULL), 1);
}

/* dy sigmoid', dy tanh' by what these gave. */
static hk_array *gate_back(hk_array *y, hk_array *dy)
{
    return times(dy, times(y, rest(y)));
}

static hk_array *tanh_back(hk_array *y, hk_array *dy)
{
    return times(dy, rest(times(y, y)));
}

static hk_array *joined(hk_array *const *given, int count, hk_array *like)
{
    hk_array *all[MOST_PARTS];
    for (int k = 0; k < count; k++)
        all[k] = given[k] ? given[k] : hki_op_call1(&hki_op_zeros_like, like, NULL);
    return hki_concat(all, count, 1);
}

void hki_lstm_back_recorded(const hki_cell_back *of, hk_array **results)
{
    hk_array *dy = of->dy, *sums[HKI_LSTM_SUMS];
    const int64_t units = of->state->shape.dims[1];
    hk_array *kept[HKI_LSTM_KEPT], *dkept[HKI_LSTM_KEPT];
    for (int k = 0; k < HKI_LSTM_KEPT; k++) {
        kept[k] = part(of->kept, k, units);
        dkept[k] = part(of->dkept, k, units);
    }
    hk_array *squashed = add(times(dy, kept[3]), dkept[4]);
    hk_array *dcell = add(squashed ? tanh_back(kept[4], squashed) : NULL, of->dnext);
    hk_array *gates[HKI_LSTM_SUMS] = {times(dcell, kept[2]), times(dcell, of->state),
                                      times(dcell, kept[0]), times(dy, kept[4])};
    for (int k = 0; k < HKI_LSTM_SUMS; k++) {
        hk_array *d = add(gates[k], dkept[k]);
        sums[k] = !d ? NULL : k == 2 ? tanh_back(kept[k], d) : gate_back(kept[k], d);
    }
    results[0] = joined(sums, HKI_LSTM_SUMS, of->state);
    results[1] = dcell ? times(dcell, kept[1]) : hki_op_call1(&hki_op_zeros_like, of->state, NULL);
}

static void lstm_grad(hki_grad_call *call)
{
    hk_array *results[2];
    if (call->is_recorded) {
        hki_lstm_back_recorded(&(hki_cell_back){call->outputs[2], call->inputs[STATE], call->dys[0],
                                                call->dys[1], call->dys[2]},
                               results);
    } else {
        hk_array *const inputs[] = {call->outputs[2], call->inputs[STATE], call->dys[0],
                                    call->dys[1], call->dys[2]};
        hki_op_call_all(&hki_op_lstm_cell_backward, inputs, 5, NULL, (hk_device){NULL}, results, 2);
    }
    call->dx[X] = call->wanted[X] ? results[0] : NULL;
    call->dx[H] = call->wanted[H] ? results[0] : NULL;
    call->dx[STATE] = call->wanted[STATE] ? results[1] : NULL;
}

void hki_gru_back_recorded(const hki_cell_back *of, hk_array **results)
{
    hk_array *state = of->state, *dy = of->dy;
    hk_array *of_x[HKI_GRU_SUMS], *of_h[HKI_GRU_SUMS];
    const int64_t units = state->shape.dims[1];
    hk_array *kept[HKI_GRU_KEPT], *dkept[HKI_GRU_KEPT];
    for (int k = 0; k < HKI_GRU_KEPT; k++) {
        kept[k] = part(of->kept, k, units);
        dkept[k] = part(of->dkept, k, units);
    }
    hk_array *d = add(times(dy, rest(kept[1])), dkept[2]);
    hk_array *dcandidate = d ? tanh_back(kept[2], d) : NULL;
    hk_array *change = hki_op_call2(&hki_op_subtract, state, kept[2], NULL);
    hk_array *dreset = add(times(dcandidate, kept[3]), dkept[0]);
    hk_array *dupdate = add(times(dy, change), dkept[1]);
    of_x[0] = of_h[0] = dreset ? gate_back(kept[0], dreset) : NULL;
    of_x[1] = of_h[1] = dupdate ? gate_back(kept[1], dupdate) : NULL;
    of_x[2] = dcandidate;
    of_h[2] = add(times(dcandidate, kept[0]), dkept[3]);
    results[0] = joined(of_x, HKI_GRU_SUMS, state);
    results[1] = joined(of_h, HKI_GRU_SUMS, state);
    results[2] = dy ? times(dy, kept[1]) : hki_op_call1(&hki_op_zeros_like, state, NULL);
}

static void gru_grad(hki_grad_call *call)
{
    hk_array *results[3];
    if (call->is_recorded) {
        hki_gru_back_recorded(&(hki_cell_back){.kept = call->outputs[1],
                                               .state = call->inputs[STATE],
                                               .dy = call->dys[0],
                                               .dkept = call->dys[1]},
                              results);
    } else {
        hk_array *const inputs[] = {call->outputs[1], call->inputs[STATE], call->dys[0],
                                    call->dys[1]};
        hki_op_call_all(&hki_op_gru_cell_backward, inputs, 4, NULL, (hk_device){NULL}, results, 3);
    }
    for (int i = X; i <= STATE; i++)
        call->dx[i] = call->wanted[i] ? results[i] : NULL;
}

/* ---- conformance ----------------------------------------------------------------------------------------------------- */

static double gate(double x)
{
    return 1 / (1 + exp(-x));
}

static void lstm_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *state = &call->inputs[STATE]->shape;
    const int64_t f = state->dims[1];
    for (int64_t i = 0; i < state->dims[0] * f; i++) {
        const int64_t row = i / f, j = i % f, at = row * HKI_LSTM_SUMS * f + j;
        double s[HKI_LSTM_SUMS], *kept = out[2] + row * HKI_LSTM_KEPT * f + j;
        for (int k = 0; k < HKI_LSTM_SUMS; k++) {
            s[k] = in[X][at + k * f] + in[H][at + k * f];
            kept[k * f] = s[k] = k == 2 ? tanh(s[k]) : gate(s[k]);
        }
        out[1][i] = s[1] * in[STATE][i] + s[0] * s[2];
        kept[4 * f] = tanh(out[1][i]);
        out[0][i] = s[3] * kept[4 * f];
    }
}

static void gru_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *state = &call->inputs[STATE]->shape;
    const int64_t f = state->dims[1];
    for (int64_t i = 0; i < state->dims[0] * f; i++) {
        const int64_t row = i / f, j = i % f;
        const double *x = in[X] + row * HKI_GRU_SUMS * f + j;
        const double *h = in[H] + row * HKI_GRU_SUMS * f + j;
        double *kept = out[1] + row * HKI_GRU_KEPT * f + j;
        kept[0] = gate(x[0] + h[0]);
        kept[f] = gate(x[f] + h[f]);
        kept[2 * f] = tanh(x[2 * f] + kept[0] * h[2 * f]);
        kept[3 * f] = h[2 * f];
        out[0][i] = kept[2 * f] + kept[f] * (in[STATE][i] - kept[2 * f]);
    }
}

/* A gradient that is left out is of zeros. */
static double or_zero(const double *dy, int64_t i)
{
    return dy ? dy[i] : 0;
}

static void lstm_back_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *state = &call->inputs[BACK_STATE]->shape;
    const int64_t f = state->dims[1];
    for (int64_t i = 0; i < state->dims[0] * f; i++) {
        const int64_t row = i / f, j = i % f, at = row * HKI_LSTM_KEPT * f + j;
        const double *kept = in[BACK_KEPT] + at, *dkept = in[BACK_OUTPUTS + 2];
        const double y[] = {kept[0], kept[f], kept[2 * f], kept[3 * f], kept[4 * f]};
        const double dy = or_zero(in[BACK_OUTPUTS], i);
        const double squashed = dy * y[3] + or_zero(dkept, at + 4 * f);
        const double dcell = squashed * (1 - y[4] * y[4]) + or_zero(in[BACK_OUTPUTS + 1], i);
        const double of[] = {dcell * y[2], dcell * in[BACK_STATE][i], dcell * y[0], dy * y[4]};
        for (int k = 0; k < HKI_LSTM_SUMS; k++)
            out[0][row * HKI_LSTM_SUMS * f + k * f + j] =
                (of[k] + or_zero(dkept, at + k * f)) *
                (k == 2 ? 1 - y[k] * y[k] : y[k] * (1 - y[k]));
        out[1][i] = dcell * y[1];
    }
}

static void gru_back_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *state = &call->inputs[BACK_STATE]->shape;
    const int64_t f = state->dims[1];
    for (int64_t i = 0; i < state->dims[0] * f; i++) {
        const int64_t row = i / f, j = i % f, at = row * HKI_GRU_KEPT * f + j;
        const double *kept = in[BACK_KEPT] + at, *dkept = in[BACK_OUTPUTS + 1];
        const double r = kept[0], z = kept[f], n = kept[2 * f], q = kept[3 * f];
        const double dy = or_zero(in[BACK_OUTPUTS], i);
        const double dn = (dy * (1 - z) + or_zero(dkept, at + 2 * f)) * (1 - n * n);
        double *dx = out[0] + row * HKI_GRU_SUMS * f + j, *dh = out[1] + row * HKI_GRU_SUMS * f + j;
        dx[0] = dh[0] = (dn * q + or_zero(dkept, at)) * r * (1 - r);
        dx[f] = dh[f] = (dy * (in[BACK_STATE][i] - n) + or_zero(dkept, at + f)) * z * (1 - z);
        dx[2 * f] = dn;
        dh[2 * f] = dn * r + or_zero(dkept, at + 3 * f);
        out[2][i] = dy * z;
    }
}

#define CELL_SAMPLES(parts)                                                                        \
    {.inputs = {HKI_SHAPE(3, (parts)*5), HKI_SHAPE(3, (parts)*5), HKI_SHAPE(3, 5)}},               \
        {.inputs = {HKI_SHAPE(1, parts), HKI_SHAPE(1, parts), HKI_SHAPE(1, 1)}},                   \
        {.inputs = {HKI_SHAPE(0, (parts)*2), HKI_SHAPE(0, (parts)*2), HKI_SHAPE(0, 2)}},           \
        {.inputs = {HKI_SHAPE(2, (parts)*300), HKI_SHAPE(2, (parts)*300), HKI_SHAPE(2, 300)}},     \
    {                                                                                              \
        .kind = HKI_SAMPLE_STRIDED,                                                                \
        .inputs = {HKI_SHAPE(4, (parts)*7), HKI_SHAPE(4, (parts)*7), HKI_SHAPE(4, 7)},             \
    }
static const hki_sample lstm_samples[] = {CELL_SAMPLES(HKI_LSTM_SUMS)};
static const hki_sample gru_samples[] = {CELL_SAMPLES(HKI_GRU_SUMS)};
static const hki_sample lstm_back_samples[] = {
    {.inputs = {HKI_SHAPE(3, 25), HKI_SHAPE(3, 5), HKI_SHAPE(3, 5), HKI_SHAPE(3, 5),
                HKI_SHAPE(3, 25)}},
    {.inputs = {HKI_SHAPE(2, 1500), HKI_SHAPE(2, 300), HKI_SHAPE(2, 300), HKI_SHAPE_NONE,
                HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(2, 10), HKI_SHAPE(2, 2), HKI_SHAPE_NONE, HKI_SHAPE(2, 2),
                HKI_SHAPE_NONE}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(4, 35), HKI_SHAPE(4, 7), HKI_SHAPE(4, 7), HKI_SHAPE(4, 7),
                HKI_SHAPE(4, 35)}},
};
static const hki_sample gru_back_samples[] = {
    {.inputs = {HKI_SHAPE(3, 20), HKI_SHAPE(3, 5), HKI_SHAPE(3, 5), HKI_SHAPE(3, 20)}},
    {.inputs = {HKI_SHAPE(2, 1200), HKI_SHAPE(2, 300), HKI_SHAPE(2, 300), HKI_SHAPE_NONE}},
    {.inputs = {HKI_SHAPE(2, 8), HKI_SHAPE(2, 2), HKI_SHAPE_NONE, HKI_SHAPE(2, 8)}},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {HKI_SHAPE(4, 28), HKI_SHAPE(4, 7), HKI_SHAPE(4, 7), HKI_SHAPE(4, 28)}},
};

/* ---- operators ------------------------------------------------------------------------------------------------------- */

#define CELL                                                                                       \
    .dtypes = HKI_FLOATS, .internal = true, .split = HKI_SPLIT_ROWS, .plan = plan, .batch = batch, \
    .tolerance_f32 = 1e-5

const hk_op hki_op_lstm_cell = {
    HKI_OP_NAMED(lstm_cell),
    HKI_OP_SAMPLES(lstm_samples),
    .signature = "x, h, c",
    .doc = "A step of an LSTM (Hochreiter, Schmidhuber 1997, with forget gates: Gers et al. 2000), "
           "from the sums of its input and of its state.",
    .output_count = 3,
    .outputs = "y, next, kept",
    .infer = infer,
    .kernel = {[HKI_CPU] = forward_kernel},
    .grad = lstm_grad,
    .grad_reads = {[X] = 1 << STATE | HKI_READS_OUTPUT_2,
                   [H] = 1 << STATE | HKI_READS_OUTPUT_2,
                   [STATE] = 1 << STATE | HKI_READS_OUTPUT_2},
    .reference = lstm_reference,
    .data = &lstm_cell,
    CELL,
};

const hk_op hki_op_lstm_cell_backward = {
    HKI_OP_NAMED(lstm_cell_backward),
    HKI_OP_SAMPLES(lstm_back_samples),
    .signature = "kept, c, dy?, dnext?, dkept?",
    .doc = "Gradients of lstm_cell: of x and h, and of c.",
    .output_count = 2,
    .outputs = "ds, dc",
    .infer = back_infer,
    .kernel = {[HKI_CPU] = back_kernel},
    .no_grad_why = "what is recorded is composed of other operators",
    .reference = lstm_back_reference,
    .data = &lstm_cell,
    CELL,
};

const hk_op hki_op_gru_cell = {
    HKI_OP_NAMED(gru_cell),
    HKI_OP_SAMPLES(gru_samples),
    .signature = "x, h, state",
    .doc = "A step of a GRU (Cho et al. 2014), from the sums of its input and of its state, with "
           "the reset gate behind the product.",
    .output_count = 2,
    .outputs = "y, kept",
    .infer = infer,
    .kernel = {[HKI_CPU] = forward_kernel},
    .grad = gru_grad,
    .grad_reads = {[X] = 1 << STATE | HKI_READS_OUTPUT_1,
                   [H] = 1 << STATE | HKI_READS_OUTPUT_1,
                   [STATE] = 1 << STATE | HKI_READS_OUTPUT_1},
    .reference = gru_reference,
    .data = &gru_cell,
    CELL,
};

const hk_op hki_op_gru_cell_backward = {
    HKI_OP_NAMED(gru_cell_backward),
    HKI_OP_SAMPLES(gru_back_samples),
    .signature = "kept, state, dy?, dkept?",
    .doc = "Gradients of gru_cell: of x, of h, and of the state.",
    .output_count = 3,
    .outputs = "dx, dh, dstate",
    .infer = back_infer,
    .kernel = {[HKI_CPU] = back_kernel},
    .no_grad_why = "what is recorded is composed of other operators",
    .reference = gru_back_reference,
    .data = &gru_cell,
    CELL,
};
