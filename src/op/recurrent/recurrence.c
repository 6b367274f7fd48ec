/* All steps of a recurrent layer as one task with pieces of rows: what src/nn/recurrent.c calls where the kernel serves. Gradients of
 * weights are products over all steps. What is kept is an output like the others, so that the gradients are differentiable, too.
 * The loops are in recurrence_kernel.c, those of GPUs in cuda_recurrence.cu. */
#include "op/recurrent/recurrence_reference.h"

#include "op/call/plan.h"
#include "op/call/scratch.h"
#include "op/matmul/matrix.h"
#include "op/recurrent/recurrence_kernel.h"
#include "op/recurrent/recurrent_cell.h"
#include "op/reduce/reduce.h"
#include "op/shape/join.h"
#include "op/shape/reshape.h"

#include <stdlib.h>

HKI_OPTIONS_TABLE(recurrence, RECURRENCE_OPTIONS)

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

static bool is(const hki_shape_view *x, hk_dtype dtype, hk_dims shape)
{
    return x && x->dtype == dtype && hki_dims_equal(&x->shape, &shape);
}

/* What an output has; a part that is not there is of size 0. */
static void give(hki_call *call, int index, hk_dims shape)
{
    call->out_shape[index] = shape;
    call->out_dtype[index] = call->inputs[0]->dtype;
}

/* Whether the inputs behind x are what this kind takes, of so many rows, inputs and units. */
static bool fits(const hki_call *call, hki_recurrence_kind kind, int64_t rows, int64_t units)
{
    const hki_shape_view *const *in = call->inputs, *x = in[X];
    const hk_dtype dtype = x->dtype;
    const int64_t sums = hki_recurrence_parts_of[kind].sums * units, inputs = x->shape.dims[2];
    const hk_dims state = hk_shape(rows, units);
    const bool has_c = kind == HKI_RECURRENCE_LSTM && in[H0];
    return x->shape.dims[1] > 0 && units > 0 && inputs > 0 &&
           is(in[X_WEIGHT], dtype, hk_shape(sums, inputs)) &&
           is(in[X_BIAS], dtype, hk_shape(sums)) && is(in[WEIGHT], dtype, hk_shape(sums, units)) &&
           is(in[BIAS], dtype, hk_shape(sums)) && (!in[H0] || is(in[H0], dtype, state)) &&
           (has_c ? is(in[C0], dtype, state) : !in[C0]);
}

/* Internal operators: what the layers give needs no text for people. */
static bool infer(hki_call *call)
{
    const hki_recurrence_kind kind = hki_recurrence_kind_of(call->options);
    const hk_dims *x = &call->inputs[X]->shape, *weight = &call->inputs[WEIGHT]->shape;
    if ((unsigned)kind >= HKI_RECURRENCE_KINDS || x->ndim != 3 || weight->ndim != 2 ||
        !fits(call, kind, x->dims[0], weight->dims[1]))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "x, the weights and the state do not fit together");
    const int64_t n = x->dims[0], steps = x->dims[1], units = weight->dims[1];
    const bool keeps =
        ((const hki_recurrence_options *)call->options)->keeps && kind != HKI_RECURRENCE_TANH;
    give(call, H, hk_shape(n, steps, units));
    give(call, C, hk_shape(n, steps, kind == HKI_RECURRENCE_LSTM ? units : 0));
    give(call, KEPT, hk_shape(n, steps, keeps ? hki_recurrence_parts_of[kind].kept * units : 0));
    return true;
}

/* NULL: no gradient of x is wanted. */
static const hki_shape_view *x_weight_of(const hki_call *call)
{
    return call->input_count > BACK_X_WEIGHT ? call->inputs[BACK_X_WEIGHT] : NULL;
}

static bool back_infer(hki_call *call)
{
    const hki_recurrence_kind kind = hki_recurrence_kind_of(call->options);
    const hki_shape_view *kept = call->inputs[BACK_KEPT], *weight = call->inputs[BACK_WEIGHT];
    const hki_shape_view *x_weight = x_weight_of(call);
    if (kept->shape.ndim != 3 || weight->shape.ndim != 2 ||
        (unsigned)kind >= HKI_RECURRENCE_KINDS ||
        kept->shape.dims[2] != hki_recurrence_parts_of[kind].kept * weight->shape.dims[1] ||
        (x_weight && (x_weight->shape.ndim != 2 || x_weight->dtype != weight->dtype ||
                      x_weight->shape.dims[0] != weight->shape.dims[0])))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the weights do not fit what was kept");
    const int64_t n = kept->shape.dims[0], steps = kept->shape.dims[1],
                  sums = weight->shape.dims[0], units = weight->shape.dims[1];
    const int64_t of_first = call->inputs[BACK_FIRST] ? units : 0;
    give(call, DSUMS, hk_shape(n, steps, sums));
    if (kind == HKI_RECURRENCE_GRU)
        give(call, DOTHER, hk_shape(n, steps, sums));
    else
        give(call, DOTHER, hk_shape(n, kind == HKI_RECURRENCE_LSTM ? of_first : 0));
    give(call, DH0, hk_shape(n, of_first));
    give(call, DX, hk_shape(n, steps, x_weight ? x_weight->shape.dims[1] : 0));
    return true;
}

/* Each piece packs the weights, which takes about as long as a step of two rows. */
enum { ROWS_OF_PIECE = 16 };

/* Operations as calls for each step would count them. */
static void plan(const hki_call *call, hki_plan *plan)
{
    static const double unit_flops[HKI_RECURRENCE_KINDS] = {2, 10, 14}, back_flops[] = {4, 20, 20};
    const hki_recurrence_kind kind = hki_recurrence_kind_of(call->options);
    const bool is_back = call->op == &hki_op_recurrence_backward;
    const hk_dims *weight = &call->inputs[is_back ? BACK_WEIGHT : WEIGHT]->shape;
    const hk_dims *rows = &call->out_shape[0];
    const int64_t steps = rows->dims[0] * rows->dims[1], units = weight->dims[1];
    const int64_t read = units + (is_back ? call->out_shape[DX] : call->inputs[X]->shape).dims[2];
    const hk_dtype dtype = call->out_dtype[0];
    plan->grain = ROWS_OF_PIECE;
    plan->max_pieces = hki_plan_pieces_for(call);
    plan->work_ns = 100 + (double)(steps * units) * (dtype == HK_F32 ? 6 : 60) +
                    hki_matrix_work_ns(steps, weight->dims[0], read, dtype);
    plan->flops = (double)(steps * weight->dims[0]) * 2 * (double)read +
                  (double)(steps * units) * (is_back ? back_flops : unit_flops)[kind];
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

static hki_recurrence recurrence_of(const hki_kernel_call *call, const hki_tensor *weight)
{
    const hki_recurrence_options *options = call->options;
    return (hki_recurrence){.kind = (hki_recurrence_kind)options->kind,
                            .f64 = call->out[0].dtype == HK_F64,
                            .is_reversed = options->is_reversed,
                            .steps = call->out[0].dims[1],
                            .units = weight->dims[1],
                            .weight = weight->data};
}

/* NULL: left out, or empty. */
static void *elements_of(const hki_tensor *all, int count, int index)
{
    if (index >= count || !all[index].data || all[index].dims[all[index].ndim - 1] == 0)
        return NULL;
    return all[index].data;
}

static hki_recurrence_forward forward_of(const hki_kernel_call *call)
{
    hki_recurrence of = recurrence_of(call, &call->in[WEIGHT]);
    of.inputs = call->in[X].dims[2];
    return (hki_recurrence_forward){
        .of = of,
        .x = call->in[X].data,
        .x_weight = call->in[X_WEIGHT].data,
        .x_bias = call->in[X_BIAS].data,
        .bias = call->in[BIAS].data,
        .h0 = elements_of(call->in, call->input_count, H0),
        .c0 = elements_of(call->in, call->input_count, C0),
        .h = call->out[H].data,
        .c = elements_of(call->out, OUTPUTS, C),
        .kept = elements_of(call->out, OUTPUTS, KEPT),
    };
}

static void forward_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_recurrence_forward forward = forward_of(call);
    const size_t bytes = hki_recurrence_scratch_bytes(&forward.of, false, end - begin);
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    hki_recurrence_run(&forward, begin, end, scratch);
    hki_scratch_release(call, scratch, bytes);
}

/* ---- in rounds, with weights that are packed once -------------------------------------------- */

static size_t packed_bytes(const hki_kernel_call *call, int64_t *extent)
{
    enum { LEAST_PRODUCTS = 128 * 1024 }; /* of a step: less is not worth the way to another core */
    const hki_recurrence_forward forward = forward_of(call);
    const int64_t rows = call->in[X].dims[0], products = rows * call->in[WEIGHT].size;
    if (!hki_recurrence_has_rounds(&forward.of, rows) || products < LEAST_PRODUCTS)
        return 0;
    *extent = forward.of.units / HKI_RECURRENCE_UNITS;
    return hki_recurrence_packed_bytes(&forward.of);
}

static void pack(const hki_kernel_call *call, void *packed)
{
    const hki_recurrence_forward forward = forward_of(call);
    hki_recurrence_pack(&forward, packed);
}

static int64_t rounds(const hki_kernel_call *call, size_t *shared_bytes)
{
    const hki_recurrence_forward forward = forward_of(call);
    *shared_bytes = hki_recurrence_shared_bytes(&forward.of, call->in[X].dims[0]);
    return hki_recurrence_rounds(&forward.of);
}

static void round_kernel(const hki_kernel_call *call, int64_t piece, int64_t round, int64_t begin,
                         int64_t end)
{
    const hki_recurrence_forward forward = forward_of(call);
    const int64_t rows = call->in[X].dims[0], units = (end - begin) * HKI_RECURRENCE_UNITS;
    const size_t bytes = hki_recurrence_round_scratch_bytes(&forward.of, rows, units);
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    hki_recurrence_round(&forward, rows, call->packed, call->partials, round,
                         begin * HKI_RECURRENCE_UNITS, units, scratch);
    hki_scratch_release(call, scratch, bytes);
}

static void back_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_recurrence of = recurrence_of(call, &call->in[BACK_WEIGHT]);
    of.inputs = call->out[DX].dims[2];
    const bool has_sums = of.kind == HKI_RECURRENCE_GRU;
    void *other = elements_of(call->out, BACK_OUTPUTS, DOTHER);
    const size_t bytes = hki_recurrence_scratch_bytes(&of, true, end - begin);
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return;
    const hki_recurrence_backward backward = {
        .of = of,
        .kept = call->in[BACK_KEPT].data,
        .past = elements_of(call->in, call->input_count, BACK_PAST),
        .first = elements_of(call->in, call->input_count, BACK_FIRST),
        .dh = elements_of(call->in, call->input_count, BACK_H),
        .dc = elements_of(call->in, call->input_count, BACK_H + C),
        .dkept = elements_of(call->in, call->input_count, BACK_H + KEPT),
        .x_weight = elements_of(call->in, call->input_count, BACK_X_WEIGHT),
        .dx_sums = call->out[DSUMS].data,
        .dsums = has_sums ? other : NULL,
        .dh0 = elements_of(call->out, BACK_OUTPUTS, DH0),
        .dc0 = has_sums ? NULL : other,
        .dx = elements_of(call->out, BACK_OUTPUTS, DX),
    };
    hki_recurrence_run_backward(&backward, begin, end, scratch);
    hki_scratch_release(call, scratch, bytes);
}

/* ---- gradients ------------------------------------------------------------------------------------------------------- */

static hk_array *add(hk_array *x, hk_array *y)
{
    return !x ? y : !y ? x : hki_op_call2(&hki_op_add, x, y, NULL);
}

/* Of all steps the one at `at`; NULL of NULL. */
static hk_array *step_of(hk_array *x, int64_t at)
{
    return x ? (hk_index)(x, 1, at) : NULL;
}

/* A step among all of them. */
static hk_array *as_step(hk_array *x)
{
    return hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){1});
}

/* h or c before the first step. */
static hk_array *first_state(const hki_grad_call *call, int output, int input)
{
    return call->inputs[input]
               ? call->inputs[input]
               : hki_op_call1(&hki_op_zeros_like, step_of(call->outputs[output], 0), NULL);
}

/* What the gradients of a step are made of: h and c of the step before, or before the first one. */
static hk_array *before(const hki_grad_call *call, int output, int input, int64_t step,
                        bool reversed)
{
    const int64_t last = call->input_shape[X].dims[1] - 1;
    return step ? step_of(call->outputs[output], reversed ? last - step + 1 : step - 1)
                : first_state(call, output, input);
}

/* The gradients of one step by calls that the tape notes: of the sums of x and of h, and of what does not go by the weights. dh, dc:
 * of what the step gives, or NULL. */
static void step_back_recorded(const hki_grad_call *call, int64_t step, hk_array *dh, hk_array *dc,
                               hk_array **results)
{
    const hki_recurrence_options *options = call->options;
    const int64_t last = call->input_shape[X].dims[1] - 1,
                  at = options->is_reversed ? last - step : step;
    hki_cell_back of = {.kept = step_of(call->outputs[KEPT], at),
                        .dy = dh,
                        .dnext = dc,
                        .dkept = step_of(call->dys[KEPT], at)};
    if (options->kind == HKI_RECURRENCE_LSTM) {
        hk_array *given[2];
        of.state = before(call, C, C0, step, options->is_reversed);
        hki_lstm_back_recorded(&of, given);
        results[0] = results[1] = given[0];
        results[2] = given[1];
    } else if (options->kind == HKI_RECURRENCE_GRU) {
        of.state = before(call, H, H0, step, options->is_reversed);
        hki_gru_back_recorded(&of, results);
    } else {
        hk_array *y = step_of(call->outputs[H], at);
        hk_array *slope = hki_op_call_number(
            &hki_op_add_scalar,
            hki_op_call1(&hki_op_negative, hki_op_call2(&hki_op_multiply, y, y, NULL), NULL), 1);
        results[0] = results[1] = dh ? hki_op_call2(&hki_op_multiply, dh, slope, NULL)
                                     : hki_op_call1(&hki_op_zeros_like, y, NULL);
    }
}

/* Rows of all steps one after another. */
static hk_array *as_matrix(hk_array *x)
{
    if (x->failed)
        return x;
    const hk_dims rows = {.ndim = 2,
                          .dims = {x->shape.dims[0] * x->shape.dims[1], x->shape.dims[2]}};
    return hki_op_call1(&hki_op_reshape, x, &(const hki_reshape_options){.shape = rows});
}

/* The product a b, as the gradient of an input. */
static hk_array *product(const hki_grad_call *call, int index, hk_array *a, hk_array *b,
                         const hk_dims *shape)
{
    return hki_product_gradient(a, b, shape, call->input_dtype[index],
                                index == X ? NULL : call->places[index]);
}

static hk_array *gradient_of_x(const hki_grad_call *call, hk_array *sums)
{
    const hk_dims *x = &call->input_shape[X];
    const hk_dims rows = {.ndim = 2, .dims = {x->dims[0] * x->dims[1], x->dims[2]}};
    hk_array *dx = product(call, X, as_matrix(sums), call->inputs[X_WEIGHT], &rows);
    return hki_op_call1(&hki_op_reshape, dx, &(const hki_reshape_options){.shape = *x});
}

/* The same as the kernel. */
static void recorded(const hki_grad_call *call, hk_array **results)
{
    const hki_recurrence_options *options = call->options;
    const int64_t steps = call->input_shape[X].dims[1];
    hk_array **lists = malloc((size_t)(2 * steps) * sizeof *lists), *dh = NULL, *dc = NULL;
    hk_array *inputs[] = {call->inputs[WEIGHT]};
    if (!lists) {
        for (int i = 0; i < BACK_OUTPUTS; i++)
            results[i] = hki_array_create_failed(NULL, call->op->name, inputs, 1, HK_OUT_OF_MEMORY,
                                                 "there was no host memory for the list of steps");
        return;
    }
    for (int64_t step = steps - 1; step >= 0; step--) {
        const int64_t at = options->is_reversed ? steps - 1 - step : step;
        hk_array *of_step[3];
        step_back_recorded(call, step, add(dh, step_of(call->dys[H], at)),
                           add(dc, step_of(call->dys[C], at)), of_step);
        lists[at] = as_step(of_step[0]);
        lists[steps + at] = as_step(of_step[1]);
        dh = hki_op_call2(&hki_op_matmul, of_step[1], call->inputs[WEIGHT], NULL);
        if (options->kind == HKI_RECURRENCE_GRU)
            dh = add(dh, of_step[2]);
        dc = options->kind == HKI_RECURRENCE_LSTM ? of_step[2] : NULL;
    }
    results[DSUMS] = hki_concat(lists, (int)steps, 1);
    results[DOTHER] =
        options->kind == HKI_RECURRENCE_GRU ? hki_concat(lists + steps, (int)steps, 1) : dc;
    results[DH0] = dh;
    if (call->wanted[X])
        results[DX] = gradient_of_x(call, results[DSUMS]);
    free(lists);
}

static void by_kernel(const hki_grad_call *call, hk_array **results)
{
    const hki_recurrence_kind kind = hki_recurrence_kind_of(call->options);
    const bool has_c = kind == HKI_RECURRENCE_LSTM;
    hk_array *const inputs[] = {
        call->outputs[kind == HKI_RECURRENCE_TANH ? H : KEPT],
        call->inputs[WEIGHT],
        call->outputs[has_c ? C : H],
        call->inputs[has_c ? C0 : H0],
        call->dys[H],
        has_c ? call->dys[C] : NULL,
        kind == HKI_RECURRENCE_TANH ? NULL : call->dys[KEPT],
        call->wanted[X] ? call->inputs[X_WEIGHT] : NULL,
    };
    hki_op_call_all(&hki_op_recurrence_backward, inputs, BACK_INPUTS, call->options,
                    (hk_device){NULL}, results, BACK_OUTPUTS);
}

/* h before each step: those after all steps but one, and the first. */
static hk_array *states_before(const hki_grad_call *call)
{
    const bool is_reversed = ((const hki_recurrence_options *)call->options)->is_reversed;
    const int64_t steps = call->input_shape[X].dims[1];
    hk_array *first = as_step(first_state(call, H, H0));
    if (steps == 1)
        return first;
    hk_array *others = (hk_slice)(call->outputs[H], 1, is_reversed, steps - !is_reversed);
    hk_array *const all[] = {is_reversed ? others : first, is_reversed ? first : others};
    return hki_concat(all, 2, 1);
}

static hk_array *gradient_of_bias(hk_array *sums)
{
    return hki_op_call1(&hki_op_sum, sums, &(const hki_sum_options){.axes = HKI_SHAPE(0)});
}

static void grad(hki_grad_call *call)
{
    const hk_dims *shapes = call->input_shape;
    hk_array *results[BACK_OUTPUTS];
    if (call->is_recorded)
        recorded(call, results);
    else
        by_kernel(call, results);
    const bool has_sums = hki_recurrence_kind_of(call->options) == HKI_RECURRENCE_GRU;
    hk_array *of_x = as_matrix(results[DSUMS]),
             *of_h = has_sums ? as_matrix(results[DOTHER]) : of_x;
    call->dx[X] = call->wanted[X] ? results[DX] : NULL;
    if (call->wanted[X_WEIGHT])
        call->dx[X_WEIGHT] = product(call, X_WEIGHT, (hk_transpose)(of_x),
                                     as_matrix(call->inputs[X]), &shapes[X_WEIGHT]);
    if (call->wanted[WEIGHT])
        call->dx[WEIGHT] = product(call, WEIGHT, (hk_transpose)(of_h),
                                   as_matrix(states_before(call)), &shapes[WEIGHT]);
    if (call->wanted[BIAS])
        call->dx[BIAS] = gradient_of_bias(of_h);
    if (call->wanted[X_BIAS])
        call->dx[X_BIAS] =
            call->wanted[BIAS] && !has_sums ? call->dx[BIAS] : gradient_of_bias(of_x);
    call->dx[H0] = call->wanted[H0] ? results[DH0] : NULL;
    call->dx[C0] = call->wanted[C0] ? results[DOTHER] : NULL;
}

/* ---- conformance ----------------------------------------------------------------------------------------------------- */

#define GIVEN(...)                                                                                 \
    .options = &(const hki_recurrence_options)                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define STATE(n, f, has_c)                                                                         \
    HKI_SHAPE(n, f),                                                                               \
    {                                                                                              \
        .ndim = (has_c) ? 2 : -1, .dims = { n, f }                                                 \
    }
#define FORWARD(n, t, i, f, parts, has_c)                                                          \
    .inputs = {HKI_SHAPE(n, t, i),          HKI_SHAPE((parts) * (f), i), HKI_SHAPE((parts) * (f)), \
               HKI_SHAPE((parts) * (f), f), HKI_SHAPE((parts) * (f)),    STATE(n, f, has_c)}
/* From zeros on. */
#define NO_STATE(n, t, i, f, parts)                                                                \
    .inputs = {HKI_SHAPE(n, t, i),                                                                 \
               HKI_SHAPE((parts) * (f), i),                                                        \
               HKI_SHAPE((parts) * (f)),                                                           \
               HKI_SHAPE((parts) * (f), f),                                                        \
               HKI_SHAPE((parts) * (f)),                                                           \
               HKI_SHAPE_NONE,                                                                     \
               HKI_SHAPE_NONE}
#define TANH(n, t, i, f) FORWARD(n, t, i, f, 1, 0)
#define GRU(n, t, i, f)  FORWARD(n, t, i, f, 3, 0)
#define LSTM(n, t, i, f) FORWARD(n, t, i, f, 4, 1)

static const hki_sample samples[] = {
    {TANH(3, 4, 2, 5), GIVEN(HKI_RECURRENCE_TANH, true, true)},
    {NO_STATE(3, 4, 2, 5, 1), GIVEN(HKI_RECURRENCE_TANH, false, true)},
    {NO_STATE(11, 3, 2, 20, 3), GIVEN(HKI_RECURRENCE_GRU, true, true)},
    {NO_STATE(3, 4, 2, 5, 4), GIVEN(HKI_RECURRENCE_LSTM, false, true)},
    {GRU(3, 4, 2, 5), GIVEN(HKI_RECURRENCE_GRU, false, true)},
    {GRU(9, 3, 6, 4), GIVEN(HKI_RECURRENCE_GRU, true, true)},
    {LSTM(3, 4, 2, 5), GIVEN(HKI_RECURRENCE_LSTM, false, true)},
    {LSTM(10, 3, 6, 4), GIVEN(HKI_RECURRENCE_LSTM, true, true)},
    {GRU(0, 2, 2, 3), GIVEN(HKI_RECURRENCE_GRU, false, true)},
    {.kind = HKI_SAMPLE_STRIDED, LSTM(4, 3, 5, 7), GIVEN(HKI_RECURRENCE_LSTM, false, true)},
};

#define BACKWARD(n, t, f, sums, kept)                                                              \
    HKI_SHAPE(n, t, (kept) * (f)), HKI_SHAPE((sums) * (f), f), HKI_SHAPE(n, t, f), HKI_SHAPE(n, f)

static const hki_sample back_samples[] = {
    {.inputs = {BACKWARD(3, 4, 5, 1, 1), HKI_SHAPE(3, 4, 5), HKI_SHAPE_NONE, HKI_SHAPE_NONE,
                HKI_SHAPE(5, 6)},
     GIVEN(.kind = HKI_RECURRENCE_TANH)},
    {.inputs = {BACKWARD(2, 3, 4, 3, 4), HKI_SHAPE_NONE, HKI_SHAPE_NONE, HKI_SHAPE(2, 3, 16),
                HKI_SHAPE_NONE},
     GIVEN(.kind = HKI_RECURRENCE_GRU, .is_reversed = true)},
    {.inputs = {BACKWARD(9, 3, 4, 3, 4), HKI_SHAPE_NONE, HKI_SHAPE_NONE, HKI_SHAPE(9, 3, 16),
                HKI_SHAPE(12, 7)},
     GIVEN(.kind = HKI_RECURRENCE_GRU, .is_reversed = true)},
    {.inputs = {HKI_SHAPE(9, 3, 24), HKI_SHAPE(18, 6), HKI_SHAPE(9, 3, 6), HKI_SHAPE_NONE,
                HKI_SHAPE(9, 3, 6), HKI_SHAPE_NONE, HKI_SHAPE_NONE, HKI_SHAPE(18, 3)},
     GIVEN(.kind = HKI_RECURRENCE_GRU)},
    {.inputs = {HKI_SHAPE(3, 4, 320), HKI_SHAPE(256, 64), HKI_SHAPE(3, 4, 64), HKI_SHAPE_NONE,
                HKI_SHAPE(3, 4, 64), HKI_SHAPE(3, 4, 64), HKI_SHAPE_NONE, HKI_SHAPE(256, 3)},
     GIVEN(.kind = HKI_RECURRENCE_LSTM)},
    {.inputs = {BACKWARD(3, 4, 5, 4, 5), HKI_SHAPE(3, 4, 5), HKI_SHAPE(3, 4, 5),
                HKI_SHAPE(3, 4, 25), HKI_SHAPE(20, 3)},
     GIVEN(.kind = HKI_RECURRENCE_LSTM)},
    {.kind = HKI_SAMPLE_STRIDED,
     .inputs = {BACKWARD(4, 3, 7, 4, 5), HKI_SHAPE_NONE, HKI_SHAPE(4, 3, 7), HKI_SHAPE_NONE,
                HKI_SHAPE_NONE},
     GIVEN(.kind = HKI_RECURRENCE_LSTM, .is_reversed = true)},
};

/* ---- operators ------------------------------------------------------------------------------------------------------- */

#define RECURRENCE                                                                                 \
    .params = recurrence_params, .options_bytes = sizeof(hki_recurrence_options),                  \
    .dtypes = HKI_FLOATS, .internal = true, .contiguous = true, .split = HKI_SPLIT_ROWS,           \
    .plan = plan, .tolerance_f32 = 1e-5

/* What any gradient reads. */
enum {
    READS =
        1 << WEIGHT | 1 << H0 | 1 << C0 | HKI_READS_OUTPUT | HKI_READS_OUTPUT_1 | HKI_READS_OUTPUT_2
};

const hk_op hki_op_recurrence = {
    HKI_OP_NAMED(recurrence),
    HKI_OP_SAMPLES(samples),
    .signature = "x, x_weight, x_bias, weight, bias, h?, c?",
    .doc = "All steps of a recurrent layer, from its inputs x (n, steps, inputs) and the state "
           "before, zeros where it is left out: h, and of an LSTM c, after each step. Parts that a "
           "kind does not have are empty.",
    .output_count = OUTPUTS,
    .outputs = "h, c, kept",
    .infer = infer,
    .packed_inputs = 1 << X_WEIGHT | 1 << WEIGHT,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .rounds = rounds,
    .round = round_kernel,
    .kernel = {[HKI_CPU] = forward_kernel},
    .grad = grad,
    .grad_reads = {[X] = READS | 1 << X_WEIGHT,
                   [X_WEIGHT] = READS | 1 << X,
                   [X_BIAS] = READS,
                   [WEIGHT] = READS,
                   [BIAS] = READS,
                   [H0] = READS,
                   [C0] = READS},
    .reference = hki_recurrence_reference,
    RECURRENCE,
};

const hk_op hki_op_recurrence_backward = {
    HKI_OP_NAMED(recurrence_backward),
    HKI_OP_SAMPLES(back_samples),
    .signature = "kept, weight, past?, first?, dh?, dc?, dkept?, x_weight?",
    .doc = "Gradients of recurrence: of the sums of x; of the sums of the state of a GRU, and of c "
           "of an LSTM; of h; and of x, where x_weight is given. Those of the state before are "
           "empty where `first` is left out.",
    .output_count = BACK_OUTPUTS,
    .outputs = "dsums, dother, dh, dx",
    .infer = back_infer,
    .kernel = {[HKI_CPU] = back_kernel},
    .no_grad_why = "what is recorded is composed of other operators",
    .reference = hki_recurrence_back_reference,
    RECURRENCE,
};
