/* recurrence and its gradient: a launch for each step. The sums of inputs are one product for all steps, in the stream's workspace. */
#include "op/recurrent/cuda_recurrence.h"

#include "op/cuda/cuda_calls.h"
#include "op/matmul/cuda_matmul.h"
#include "op/recurrent/cell_loops.h"
#include "op/recurrent/recurrence_reference.h"

/* What all steps have in common. */
typedef struct layer {
    hki_recurrence_kind kind;
    hki_recurrence_parts parts;
    bool f64, is_reversed;
    int64_t rows, steps, units, item;
} layer;

static layer layer_of(const hki_kernel_call *call, const hki_tensor *weight)
{
    /* As hki_recurrence_parts_of, which is the library's. */
    static const hki_recurrence_parts parts[HKI_RECURRENCE_KINDS] = {
        [HKI_RECURRENCE_TANH] = {1, 1},
        [HKI_RECURRENCE_GRU] = {HKI_GRU_SUMS, HKI_GRU_KEPT},
        [HKI_RECURRENCE_LSTM] = {HKI_LSTM_SUMS, HKI_LSTM_KEPT},
    };
    const hki_tensor *of_steps = &call->out[0];
    const hki_recurrence_kind kind = hki_recurrence_kind_of(call->options);
    return (layer){.kind = kind,
                   .parts = parts[kind],
                   .f64 = of_steps->dtype == HK_F64,
                   .is_reversed = ((const hki_recurrence_options *)call->options)->is_reversed,
                   .rows = of_steps->dims[0],
                   .steps = of_steps->dims[1],
                   .units = weight->dims[1],
                   .item = hki_cuda_item_bytes(of_steps->dtype)};
}

/* NULL: left out, or empty. */
static void *elements_of(const hki_tensor *x)
{
    return x->ndim < 0 || x->size == 0 ? NULL : x->data;
}

/* Of (rows, steps, parts units), the rows of step i. */
static hki_cuda_step_rows rows_at(const layer *of, void *data, int64_t parts, int64_t i)
{
    const int64_t at = of->is_reversed ? of->steps - 1 - i : i, each = parts * of->units;
    return (hki_cuda_step_rows){data ? (char *)data + at * each * of->item : NULL,
                                of->steps * each};
}

/* The states that step i goes on from; not there: zeros. */
static hki_cuda_step_rows rows_before(const layer *of, void *all, void *first, int64_t i)
{
    return i > 0 ? rows_at(of, all, 1, i - 1) : (hki_cuda_step_rows){first, first ? of->units : 0};
}

void hki_cuda_call_recurrence(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const layer of = layer_of(call, &call->in[WEIGHT]);
    if (of.rows == 0)
        return;
    void *x =
        hki_cuda_linear_in_workspace(stream, &call->in[X], &call->in[X_WEIGHT], &call->in[X_BIAS]);
    if (!x)
        return;
    const bool has_c = of.kind == HKI_RECURRENCE_LSTM;
    void *h = call->out[H].data, *c = elements_of(&call->out[C]), *h0 = elements_of(&call->in[H0]);
    for (int64_t i = 0; i < of.steps; i++) {
        const hki_cuda_step_rows before = rows_before(&of, h, h0, i);
        const hki_cuda_recurrence_step step = {
            .from_h = {.rows = of.rows,
                       .units = of.units,
                       .depth = before.data ? of.units : 0,
                       .left = before,
                       .weight = call->in[WEIGHT].data},
            .bias = call->in[BIAS].data,
            .x = rows_at(&of, x, of.parts.sums, i),
            .state = has_c ? rows_before(&of, c, elements_of(&call->in[C0]), i) : before,
            .h = rows_at(&of, h, 1, i),
            .c = rows_at(&of, c, 1, i),
            .kept = rows_at(&of, elements_of(&call->out[KEPT]), of.parts.kept, i),
        };
        hki_cuda_launch_recurrence(stream, of.kind, of.f64, &step);
    }
}

/* In the workspace: the weights as the gradients read them, (units, sums units), and two states behind them. NULL: no memory. */
static void *transposed(hki_cuda_stream *stream, const layer *of, const hki_tensor *weight)
{
    hki_tensor from = *weight, to = from;
    to.data = hki_cuda_workspace(stream, (size_t)(weight->size + 2 * of->rows * of->units) *
                                             (size_t)of->item);
    if (!to.data)
        return NULL;
    from.is_contiguous = false;
    for (int axis = 0; axis < 2; axis++) {
        from.dims[axis] = to.dims[axis] = weight->dims[1 - axis];
        from.strides[axis] = weight->strides[1 - axis];
    }
    to.strides[0] = to.dims[1];
    to.strides[1] = 1;
    hki_cuda_copy_tensor(stream, &from, &to);
    return to.data;
}

/* Where the gradients of the state are carried: what the call gives, or behind the weights. */
static void *carried(const hki_kernel_call *call, const layer *of, void *weight, int output)
{
    void *given = elements_of(&call->out[output]);
    const int64_t before = call->in[BACK_WEIGHT].size + (output == DH0 ? 0 : of->rows * of->units);
    return given ? given : (char *)weight + before * of->item;
}

/* Step i of a backward pass; -1: what comes to the state before the first one. */
static hki_cuda_recurrence_back_step step_back(const hki_kernel_call *call, const layer *of,
                                               void *weight, int64_t i)
{
    const bool has_sums = of->kind == HKI_RECURRENCE_GRU;
    void *dx = call->out[DSUMS].data, *other = elements_of(&call->out[DOTHER]);
    void *dsums = has_sums ? other : NULL;
    hki_cuda_recurrence_back_step step = {
        .from_sums = {.rows = of->rows,
                      .units = of->units,
                      .depth = of->parts.sums * of->units,
                      .weight = weight},
        .dh0 = carried(call, of, weight, DH0),
        .dc0 = has_sums ? NULL : carried(call, of, weight, DOTHER),
    };
    if (i + 1 < of->steps)
        step.from_sums.left = rows_at(of, has_sums ? dsums : dx, of->parts.sums, i + 1);
    if (i < 0)
        return step;
    void *past = elements_of(&call->in[BACK_PAST]), *first = elements_of(&call->in[BACK_FIRST]);
    step.kept = rows_at(of, call->in[BACK_KEPT].data, of->parts.kept, i);
    if (of->kind != HKI_RECURRENCE_TANH)
        step.state = rows_before(of, past, first, i);
    step.dh = rows_at(of, elements_of(&call->in[BACK_H]), 1, i);
    step.dc = rows_at(of, elements_of(&call->in[BACK_H + C]), 1, i);
    step.dkept = rows_at(of, elements_of(&call->in[BACK_H + KEPT]), of->parts.kept, i);
    step.dx = rows_at(of, dx, of->parts.sums, i);
    step.dsums = rows_at(of, dsums, of->parts.sums, i);
    return step;
}

/* The gradient of x, of those of its sums in all steps. */
static void multiply_sums(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *sums = &call->out[DSUMS], *weight = &call->in[BACK_X_WEIGHT];
    hki_cuda_multiplication product = {.dtype = sums->dtype,
                                       .batch = {.count = 1},
                                       .a = {.data = sums->data,
                                             .rows = sums->dims[0] * sums->dims[1],
                                             .columns = sums->dims[2],
                                             .row_stride = sums->dims[2],
                                             .column_stride = 1},
                                       .b = {.data = weight->data,
                                             .rows = weight->dims[0],
                                             .columns = weight->dims[1],
                                             .row_stride = weight->strides[0],
                                             .column_stride = weight->strides[1]},
                                       .c = call->out[DX].data};
    hki_cuda_multiply_matrices(stream, &product);
}

void hki_cuda_call_recurrence_backward(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const layer of = layer_of(call, &call->in[BACK_WEIGHT]);
    if (of.rows * of.units == 0)
        return;
    void *weight = transposed(stream, &of, &call->in[BACK_WEIGHT]);
    const int64_t last = elements_of(&call->in[BACK_FIRST]) ? -1 : 0;
    for (int64_t i = of.steps - 1; weight && i >= last; i--) {
        const hki_cuda_recurrence_back_step step = step_back(call, &of, weight, i);
        hki_cuda_launch_recurrence_backward(stream, of.kind, of.f64, &step);
    }
    if (weight && call->out[DX].size > 0)
        multiply_sums(call, stream);
}
