#include "op/elementwise/elementwise.h"

#include "op/element_text.h"

#include <string.h>

static void axis_steps(const hki_kernel_call *call, int axis,
                       int64_t steps[1 + HKI_WALK_MAX_INPUTS])
{
    const hki_tensor *out = &call->out[0];
    steps[0] = out->strides[axis] * (int64_t)hki_dtype_bytes(out->dtype);
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor *in = &call->in[i];
        int own = axis - (out->ndim - in->ndim);
        steps[1 + i] = own < 0 || in->dims[own] == 1
                           ? 0
                           : in->strides[own] * (int64_t)hki_dtype_bytes(in->dtype);
    }
}

void hki_walk_axes_init(hki_walk_axes *axes, const hki_kernel_call *call)
{
    const hki_tensor *out = &call->out[0];
    axes->ndim = 0;
    axes->operand_count = 1 + call->input_count;
    for (int axis = 0; axis < out->ndim; axis++) {
        int64_t size = out->dims[axis];
        if (size == 1)
            continue;
        int64_t *steps = axes->steps[axes->ndim];
        axis_steps(call, axis, steps);
        bool even = axes->ndim > 0;
        for (int i = 0; even && i < axes->operand_count; i++)
            even = axes->steps[axes->ndim - 1][i] == steps[i] * size;
        if (even) {
            axes->dims[axes->ndim - 1] *= size;
            memcpy(axes->steps[axes->ndim - 1], steps, sizeof axes->steps[0]);
        } else {
            axes->dims[axes->ndim++] = size;
        }
    }
    if (axes->ndim == 0) {
        axes->dims[0] = 1;
        memset(axes->steps[0], 0, sizeof axes->steps[0]);
        axes->ndim = 1;
    }
}

/* True when the output is contiguous, and so is each input, in its shape, but for those of one element. An input that is
 * broadcast to the output and has as many elements has its shape, but for axes of one element. */
static bool all_dense(const hki_kernel_call *call)
{
    const hki_tensor *out = &call->out[0];
    bool dense = out->is_contiguous;
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor *in = &call->in[i];
        dense &= in->is_contiguous && (in->size == out->size || in->size == 1);
    }
    return dense;
}

static int64_t walk_dense(const hki_kernel_call *call, int64_t begin, int64_t end,
                          const void *given, hki_loop_fn loop)
{
    hki_run run = {.n = end - begin, .given = given};
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor *in = &call->in[i];
        run.in_step[i] = in->size == call->out[0].size ? (int64_t)hki_dtype_bytes(in->dtype) : 0;
        run.in[i] = (const char *)in->data + begin * run.in_step[i];
    }
    run.out_step = (int64_t)hki_dtype_bytes(call->out[0].dtype);
    run.out = (char *)call->out[0].data + begin * run.out_step;
    int64_t refused = loop(&run);
    return refused < 0 ? -1 : begin + refused;
}

/* Where a walk is: an index for each axis, and an address for each operand. */
typedef struct position {
    int64_t index[HK_MAX_NDIM];
    char *at[1 + HKI_WALK_MAX_INPUTS];
} position;

static void position_init(position *self, const hki_kernel_call *call, const hki_walk_axes *axes,
                          int64_t element)
{
    self->at[0] = call->out[0].data;
    for (int i = 0; i < call->input_count; i++)
        self->at[1 + i] = call->in[i].data;
    for (int axis = axes->ndim - 1; axis >= 0; axis--) {
        self->index[axis] = element % axes->dims[axis];
        element /= axes->dims[axis];
        for (int i = 0; i < axes->operand_count; i++)
            self->at[i] += self->index[axis] * axes->steps[axis][i];
    }
}

/* From within the inner axis, or its begin, over `rows` ends of it. */
static void position_advance(position *self, const hki_walk_axes *axes, int64_t rows)
{
    const int inner = axes->ndim - 1;
    for (int i = 0; i < axes->operand_count; i++)
        self->at[i] -= self->index[inner] * axes->steps[inner][i];
    self->index[inner] = 0;
    for (int axis = inner - 1; axis >= 0; axis--) {
        self->index[axis] += rows;
        const bool ends = self->index[axis] == axes->dims[axis];
        const int64_t steps = ends ? rows - axes->dims[axis] : rows;
        for (int i = 0; i < axes->operand_count; i++)
            self->at[i] += steps * axes->steps[axis][i];
        if (!ends)
            return;
        self->index[axis] = 0;
        rows = 1;
    }
}

static void rows_init(hki_rows *rows, const hki_walk_axes *axes, const void *given)
{
    static const int64_t none[1 + HKI_WALK_MAX_INPUTS];
    const int inner = axes->ndim - 1;
    const int64_t *steps = axes->steps[inner], *row_steps = inner ? axes->steps[inner - 1] : none;
    *rows = (hki_rows){.run = {.out_step = steps[0], .given = given},
                       .count = 1,
                       .in_count = axes->operand_count - 1,
                       .out_step = row_steps[0]};
    for (int i = 1; i < axes->operand_count; i++) {
        rows->run.in_step[i - 1] = steps[i];
        rows->in_step[i - 1] = row_steps[i];
    }
}

/* The rows from there on, `left` elements at most: all are whole, or it is one. */
static void rows_at(hki_rows *rows, const hki_walk_axes *axes, const position *self, int64_t left)
{
    const int inner = axes->ndim - 1;
    const int64_t whole = axes->dims[inner], rest = whole - self->index[inner];
    rows->run.n = rest < left ? rest : left;
    rows->count = 1;
    if (inner > 0 && rows->run.n == whole) {
        const int64_t most = axes->dims[inner - 1] - self->index[inner - 1];
        rows->count = left / whole < most ? left / whole : most;
    }
    rows->run.out = self->at[0];
    for (int i = 1; i < axes->operand_count; i++)
        rows->run.in[i - 1] = self->at[i];
}

int64_t hki_walk_rows(const hki_kernel_call *call, int64_t begin, int64_t end, const void *given,
                      hki_loop_fn loop, hki_rows_fn run_rows)
{
    if (begin >= end)
        return -1;
    if (all_dense(call))
        return walk_dense(call, begin, end, given, loop);
    hki_walk_axes axes;
    position here;
    hki_rows rows;
    hki_walk_axes_init(&axes, call);
    position_init(&here, call, &axes, begin);
    rows_init(&rows, &axes, given);
    for (int64_t element = begin;;) {
        rows_at(&rows, &axes, &here, end - element);
        const int64_t refused = run_rows(&rows, loop);
        if (refused >= 0)
            return element + refused;
        element += rows.run.n * rows.count;
        if (element >= end)
            return -1;
        position_advance(&here, &axes, rows.count);
    }
}

int64_t hki_run_each(const hki_rows *rows, hki_loop_fn loop)
{
    hki_run run = rows->run;
    for (int64_t row = 0; row < rows->count; row++) {
        const int64_t refused = loop(&run);
        if (refused >= 0)
            return row * run.n + refused;
        for (int i = 0; i < rows->in_count; i++)
            run.in[i] += rows->in_step[i];
        run.out += rows->out_step;
    }
    return -1;
}

int64_t hki_walk(const hki_kernel_call *call, int64_t begin, int64_t end, const void *given,
                 hki_loop_fn loop)
{
    return hki_walk_rows(call, begin, end, given, loop, hki_run_each);
}

void hki_walk_fail(const hki_kernel_call *call, int64_t piece, int64_t element, const char *text)
{
    char where[HKI_ELEMENT_TEXT_BYTES];
    hki_element_describe(&call->out[0], call->first_index + element, where, sizeof where);
    hki_task_fail(call->task, piece, HK_OUT_OF_RANGE, "%s at element %s", text, where);
}
