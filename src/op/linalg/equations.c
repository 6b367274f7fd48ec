/* Shapes of equations with square matrices: what solve and solve_triangular have in common. */
#include "op/linalg/linalg.h"

#include <string.h>

static bool check_rows(hki_call *call, const hk_dims *its, int64_t n, bool right, const char *name,
                       const char *x, const char *b)
{
    if (right)
        return (its->ndim >= 2 && its->dims[its->ndim - 1] == n) ||
               hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s is %s and b %s: from the right, b must be of matrices with a "
                               "column for each row of %s",
                               name, x, b, name);
    const int axes = its->ndim == 1 ? 1 : 2;
    return (its->ndim > 0 && its->dims[its->ndim - axes] == n) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s is %s and b %s: b must have a row for each row of %s", name, x, b,
                           name);
}

bool hki_equations_infer(hki_call *call, int index, bool right)
{
    char x_text[224], b_text[224], name[16];
    const hki_shape_view *x = call->inputs[0], *b = call->inputs[index];
    const int axes = b->shape.ndim == 1 ? 1 : 2;
    const int64_t n = x->shape.dims[x->shape.ndim - 2];
    hki_op_input_name(call->op, 0, name, sizeof name);
    hki_shape_view_describe(x, x_text, sizeof x_text);
    hki_shape_view_describe(b, b_text, sizeof b_text);
    if (x->dtype != b->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s and b %s; hk_cast converts",
                               name, x_text, b_text);
    if (!check_rows(call, &b->shape, n, right, name, x_text, b_text))
        return false;
    for (int i = 1; i <= axes; i++)
        if (b->shape.dims[b->shape.ndim - i] > HKI_LINALG_MOST)
            return hki_call_refuse(call, HK_UNSUPPORTED, "b is %s; %d %s are the most", b_text,
                                   HKI_LINALG_MOST, i == 1 ? "columns" : "rows");
    hk_dims x_stack = x->shape, b_stack = b->shape, *out = &call->out_shape[0];
    x_stack.ndim -= 2;
    b_stack.ndim -= axes;
    if (!hki_dims_broadcast(&x_stack, &b_stack, out))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s is %s and b %s: the axes before the matrices do not broadcast",
                               name, x_text, b_text);
    for (int i = axes; i > 0; i--)
        out->dims[out->ndim++] = b->shape.dims[b->shape.ndim - i];
    return true;
}

hki_equations hki_equations_of(const hk_dims *b, const hk_dims *out, bool right)
{
    hki_equations it = {.axes = b->ndim == 1 ? 1 : 2, .lines = 1, .count = 1};
    it.n = b->dims[b->ndim - (right ? 1 : it.axes)];
    if (it.axes == 2)
        it.lines = b->dims[b->ndim - (right ? 2 : 1)];
    for (int i = 0; i < out->ndim - it.axes; i++)
        it.count *= out->dims[i];
    return it;
}

static hk_dims shape_of(const hki_tensor *x)
{
    hk_dims shape = {.ndim = x->ndim};
    memcpy(shape.dims, x->dims, sizeof shape.dims);
    return shape;
}

hki_equations hki_equations_of_tensors(const hki_tensor *b, const hki_tensor *out, bool right)
{
    const hk_dims shape = shape_of(b), out_shape = shape_of(out);
    return hki_equations_of(&shape, &out_shape, right);
}

int64_t hki_stack_index(const hki_tensor *x, int axes, const hki_tensor *out, int out_axes,
                        int64_t matrix)
{
    int64_t at = 0, scale = 1;
    for (int i = 1; i <= x->ndim - axes; i++) {
        const int64_t size = x->dims[x->ndim - axes - i],
                      place = matrix % out->dims[out->ndim - out_axes - i];
        matrix /= out->dims[out->ndim - out_axes - i];
        at += (size == 1 ? 0 : place) * scale;
        scale *= size;
    }
    return at;
}
