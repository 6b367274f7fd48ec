#include "op/kernels/elementwise/elementwise.h"

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

int64_t hki_walk(const hki_kernel_call *call, int64_t begin, int64_t end, const void *given,
                 hki_loop_fn loop)
{
    if (begin >= end)
        return -1;
    if (all_dense(call))
        return walk_dense(call, begin, end, given, loop);
    hki_walk_axes axes;
    hki_walk_axes_init(&axes, call);
    int inner = axes.ndim - 1;
    const int64_t *inner_steps = axes.steps[inner];

    /* Where `begin` is: an index for each axis, and an address for each operand. */
    int64_t index[HK_MAX_NDIM];
    char *at[1 + HKI_WALK_MAX_INPUTS];
    at[0] = call->out[0].data;
    for (int i = 0; i < call->input_count; i++)
        at[1 + i] = call->in[i].data;
    int64_t rest = begin;
    for (int axis = inner; axis >= 0; axis--) {
        index[axis] = rest % axes.dims[axis];
        rest /= axes.dims[axis];
        for (int i = 0; i < axes.operand_count; i++)
            at[i] += index[axis] * axes.steps[axis][i];
    }

    hki_run run = {.out_step = inner_steps[0], .given = given};
    for (int i = 0; i < call->input_count; i++)
        run.in_step[i] = inner_steps[1 + i];
    for (int64_t element = begin;;) {
        run.n = axes.dims[inner] - index[inner];
        if (run.n > end - element)
            run.n = end - element;
        run.out = at[0];
        for (int i = 0; i < call->input_count; i++)
            run.in[i] = at[1 + i];
        int64_t refused = loop(&run);
        if (refused >= 0)
            return element + refused;
        element += run.n;
        if (element >= end)
            return -1;
        /* The inner axis has come to its end; carry. */
        for (int i = 0; i < axes.operand_count; i++)
            at[i] -= index[inner] * inner_steps[i];
        index[inner] = 0;
        for (int axis = inner - 1; axis >= 0; axis--) {
            const int64_t *steps = axes.steps[axis];
            if (++index[axis] < axes.dims[axis]) {
                for (int i = 0; i < axes.operand_count; i++)
                    at[i] += steps[i];
                break;
            }
            index[axis] = 0;
            for (int i = 0; i < axes.operand_count; i++)
                at[i] -= (axes.dims[axis] - 1) * steps[i];
        }
    }
}

void hki_walk_fail(const hki_kernel_call *call, int64_t piece, int64_t element, const char *text)
{
    char where[HKI_ELEMENT_TEXT_BYTES];
    hki_element_describe(&call->out[0], call->first_index + element, where, sizeof where);
    hki_task_fail(call->task, piece, HK_OUT_OF_RANGE, "%s at element %s", text, where);
}
