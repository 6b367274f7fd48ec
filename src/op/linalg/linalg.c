#include "op/linalg/linalg.h"

#include "base/integer.h"
#include "op/call/scratch.h"
#include "op/libraries.h"
#include "op/matmul/openblas_memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks -------------------------------------------------------------------------------------------- */

bool hki_linalg_check_input(hki_call *call, int index)
{
    const hki_shape_view *x = call->inputs[index];
    char name[16];
    hki_op_input_name(call->op, index, name, sizeof name);
    if (x->shape.ndim < 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s has %d axes, but needs two or more: matrices lie along the last "
                               "two",
                               name, x->shape.ndim);
    const hki_stack stack = hki_stack_of(x->shape.ndim, x->shape.dims);
    return (stack.rows <= HKI_LINALG_MOST && stack.columns <= HKI_LINALG_MOST) ||
           hki_call_refuse(call, HK_UNSUPPORTED,
                           "%s has matrices of %" PRId64 " x %" PRId64 "; %d are the most", name,
                           stack.rows, stack.columns, HKI_LINALG_MOST);
}

bool hki_linalg_check(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    if (!hki_linalg_check_input(call, 0))
        return false;
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = x->dtype;
    return true;
}

bool hki_linalg_check_square(hki_call *call)
{
    char has[224], name[16];
    if (!hki_linalg_check(call))
        return false;
    const hki_shape_view *x = call->inputs[0];
    const hki_stack stack = hki_stack_of(x->shape.ndim, x->shape.dims);
    hki_shape_view_describe(x, has, sizeof has);
    hki_op_input_name(call->op, 0, name, sizeof name);
    return stack.rows == stack.columns ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s, but must be of square matrices: its last two axes must have "
                           "one size",
                           name, has);
}

bool hki_linalg_check_small(hki_call *call)
{
    if (!hki_linalg_check(call))
        return false;
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(shape->ndim, shape->dims);
    const int64_t least = hki_min(stack.rows, stack.columns);
    return least <= HKI_LINALG_MOST_VECTORS ||
           hki_call_refuse(call, HK_UNSUPPORTED,
                           "x has matrices of %" PRId64 " x %" PRId64
                           "; the smaller size may be %d at most",
                           stack.rows, stack.columns, HKI_LINALG_MOST_VECTORS);
}

void hki_linalg_plan(hki_plan *plan, const hki_stack *stack, double flops)
{
    const double elements = (double)stack->rows * (double)stack->columns;
    plan->extent = stack->count;
    plan->flops = flops * (double)stack->count;
    plan->work_ns = (double)stack->count * (200 + 4 * elements + flops / 5);
}

/* ---- workspace ----------------------------------------------------------------------------------------- */

static bool libraries_are_ready(const hki_kernel_call *call, int64_t piece)
{
    const char *problem = hki_libraries_problem();
    if (problem)
        hki_task_fail(call->task, piece, HK_UNSUPPORTED, "%s", problem);
    else if (!hki_blas_memory_reserve())
        hki_task_fail(call->task, piece, HK_OUT_OF_MEMORY,
                      "no addresses left for this thread's workspace of matrix products");
    else
        return true;
    return false;
}

bool hki_linalg_begin(hki_linalg_work *work, const hki_kernel_call *call, int64_t piece,
                      const size_t *bytes, int count)
{
    *work = (hki_linalg_work){.call = call, .piece = piece, .of = hki_linalg_of(call->in[0].dtype)};
    if (!libraries_are_ready(call, piece))
        return false;
    for (int i = 0; i < count; i++)
        work->bytes += hki_round_up_bytes(bytes[i], 64);
    if (work->bytes == 0)
        return true;
    work->base = hki_scratch_allocate(call, piece, work->bytes);
    char *next = work->base;
    for (int i = 0; i < count && next; i++) {
        work->part[i] = next;
        next += hki_round_up_bytes(bytes[i], 64);
    }
    return next != NULL;
}

void hki_linalg_end(hki_linalg_work *work)
{
    if (work->base)
        hki_scratch_release(work->call, work->base, work->bytes);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

/* "x", or "matrix (1, 2) of x", as input 0 of the operator is called. */
static void name_matrix(const hk_op *op, int stack_ndim, const int64_t *stack, int64_t matrix,
                        char *text, size_t bytes)
{
    char name[16];
    int64_t at[HK_MAX_NDIM];
    size_t used = 0;
    for (int i = stack_ndim - 1; i >= 0; i--) {
        at[i] = matrix % stack[i];
        matrix /= stack[i];
    }
    for (int i = 0; i < stack_ndim; i++)
        used += (size_t)snprintf(text + used, bytes - used, i ? ", %" PRId64 : "matrix (%" PRId64,
                                 at[i]);
    hki_op_input_name(op, 0, name, sizeof name);
    snprintf(text + used, bytes - used, "%s%s", used ? ") of " : "", name);
}

void hki_linalg_fail(const hki_linalg_work *work, int64_t matrix, const char *format, ...)
{
    char which[256], what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const hki_tensor *x = &work->call->in[0];
    const hki_block_options *block = work->block;
    name_matrix(work->call->op, block ? block->stack.ndim : x->ndim - 2,
                block ? block->stack.dims : x->dims, block ? block->matrix : matrix, which,
                sizeof which);
    hki_task_fail(work->call->task, work->piece, HK_BAD_DATA, "%s %s", which, what);
}

bool hki_linalg_is_finite(const hki_linalg_work *work, int64_t matrix, const void *items,
                          int64_t count)
{
    if (work->of->is_finite(items, count))
        return true;
    hki_linalg_fail(work, matrix, "has an element that is NaN or infinite");
    return false;
}

/* ---- compositions ------------------------------------------------------------------------------------- */

hk_array *hki_matrix_adjoint(hk_array *x)
{
    x = hki_op_call1(&hki_op_swapaxes, x, (const int64_t[]){-1, -2});
    return hki_dtype_is_complex(x->dtype) ? hki_op_call1(&hki_op_conj, x, NULL) : x;
}

hk_array *hki_matrix_times(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_matmul, x, y, NULL);
}

hk_array *hki_matrix_less(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_subtract, x, y, NULL);
}

hk_array *hki_matrix_spread(hk_array *x)
{
    x = hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){-1});
    return hki_op_call1(&hki_op_expand_dims, x, &(const int64_t){-1});
}
