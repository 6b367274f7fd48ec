/* From a layout to a view. */
#include "op/shape/view_op.h"

#include <string.h>

void hki_layout_remove(hki_view_layout *out, int axis)
{
    int behind = --out->shape.ndim - axis;
    memmove(&out->shape.dims[axis], &out->shape.dims[axis + 1],
            (size_t)behind * sizeof out->shape.dims[0]);
    memmove(&out->strides[axis], &out->strides[axis + 1], (size_t)behind * sizeof out->strides[0]);
}

void hki_layout_insert(hki_view_layout *out, int axis, int64_t dim, int64_t stride)
{
    int behind = out->shape.ndim++ - axis;
    memmove(&out->shape.dims[axis + 1], &out->shape.dims[axis],
            (size_t)behind * sizeof out->shape.dims[0]);
    memmove(&out->strides[axis + 1], &out->strides[axis], (size_t)behind * sizeof out->strides[0]);
    out->shape.dims[axis] = dim;
    out->strides[axis] = stride;
}

static bool find_layout(hki_call *call, const hki_shape_view *x, hki_view_layout *out)
{
    const hki_view_op *view = call->op->data;
    *out = (hki_view_layout){.shape = x->shape};
    memcpy(out->strides, x->strides, sizeof out->strides);
    return view->layout(call, x, out);
}

bool hki_view_infer(hki_call *call)
{
    hki_view_layout layout;
    if (!find_layout(call, call->inputs[0], &layout))
        return false;
    call->out_shape[0] = layout.shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

hk_array *hki_view_compose(const hki_call *call)
{
    hki_call again = *call;
    hki_view_layout layout;
    hk_array *x = call->arrays[0];
    find_layout(&again, call->inputs[0], &layout);
    hk_array *view = hki_array_view(x, layout.shape, layout.strides, x->offset + layout.offset);
    if (view != hki_array_no_memory() && hki_dims_may_overlap(&layout.shape, layout.strides))
        view->read_only = true;
    return view;
}

/* The layout of an array in C order, followed element by element; tests of each operator have its values in full. */
void hki_view_reference(const hki_call *call, const double *const *in, double *const *out)
{
    hki_call again = *call;
    hki_shape_view x = *call->inputs[0];
    hki_view_layout layout;
    int64_t size = 0;
    hki_dims_strides(&x.shape, x.strides);
    find_layout(&again, &x, &layout);
    hki_dims_size(&layout.shape, &size);
    for (int64_t i = 0; i < size; i++) {
        int64_t place = layout.offset, rest = i;
        for (int axis = layout.shape.ndim - 1; axis >= 0; axis--) {
            place += rest % layout.shape.dims[axis] * layout.strides[axis];
            rest /= layout.shape.dims[axis];
        }
        out[0][i] = in[0][place];
    }
}
