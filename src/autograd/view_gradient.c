/* The gradient of a view: its share of the gradient of what it views, zero elsewhere. */
#include "autograd/tape.h"

#include <string.h>

/* Where the elements of a gradient belong. */
typedef struct share {
    hk_dims shape;
    int64_t strides[HK_MAX_NDIM];
    int64_t offset;
} share;

static bool is_contiguous(const hk_dims *shape, const int64_t *strides)
{
    int64_t expected[HK_MAX_NDIM];
    hki_dims_strides(shape, expected);
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dims[i] != 1 && strides[i] != expected[i])
            return false;
    return true;
}

static int64_t dims_product(const hk_dims *shape)
{
    int64_t size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= shape->dims[i];
    return size;
}

/* Where the view shows every element of the input once and dy can be seen with the input's shape without
 * a copy, that view of dy; else NULL. */
static hk_array *reorder(const share *view, const hk_dims *shape, const int64_t *strides,
                         hk_array *dy)
{
    if (view->offset || dims_product(&view->shape) != dims_product(shape))
        return NULL;
    int64_t result[HK_MAX_NDIM] = {0};
    bool used[HK_MAX_NDIM] = {false};
    for (int i = 0; i < shape->ndim; i++) {
        if (shape->dims[i] == 1)
            continue;
        int j = 0;
        while (j < view->shape.ndim &&
               (used[j] || view->shape.dims[j] != shape->dims[i] || view->strides[j] != strides[i]))
            j++;
        if (j == view->shape.ndim)
            return NULL;
        used[j] = true;
        result[i] = dy->strides[j];
    }
    return hki_array_view(dy, *shape, result, dy->offset);
}

/* The same for a view in another shape, C order like the input. */
static hk_array *reshape(const share *view, const hk_dims *shape, const int64_t *strides,
                         hk_array *dy)
{
    if (view->offset || dims_product(&view->shape) != dims_product(shape) ||
        !is_contiguous(&view->shape, view->strides) || !is_contiguous(shape, strides))
        return NULL;
    if (!is_contiguous(&dy->shape, dy->strides))
        dy = hki_op_call1(&hki_op_copy, dy, NULL);
    int64_t result[HK_MAX_NDIM];
    hki_dims_strides(shape, result);
    return hki_array_view(dy, *shape, result, dy->offset);
}

/* Elements from the lowest to the highest place that the layout reaches; *before: those below its first element. */
static int64_t span(const hk_dims *shape, const int64_t *strides, int64_t *before)
{
    int64_t above = 0, below = 0;
    for (int i = 0; i < shape->ndim; i++)
        *(strides[i] < 0 ? &below : &above) += (shape->dims[i] - 1) * strides[i];
    *before = -below;
    return above - below + 1;
}

/* Adds dy to what the view shows of the base, place by place along axes that overlap. */
static void add_share(hk_array *base, share view, hk_array *dy, bool is_zero)
{
    int axis = hki_dims_overlapping_axis(&view.shape, view.strides);
    if (axis < 0) {
        hk_array *part = hki_array_view(base, view.shape, view.strides, base->offset + view.offset);
        if (is_zero)
            hki_copy_into(dy, part);
        else
            hki_add_into(part, dy, part);
        return;
    }
    for (int other = 0; other < view.shape.ndim; other++) /* the fewest places */
        if (view.shape.dims[other] > 1 && view.shape.dims[other] < view.shape.dims[axis] &&
            view.strides[other] == view.strides[axis])
            axis = other;
    int64_t count = view.shape.dims[axis];
    view.shape.dims[axis] = 1;
    for (int64_t i = 0; i < count; i++, view.offset += view.strides[axis])
        add_share(base, view, (hk_slice)(dy, axis, i, i + 1), false);
}

void hki_view_backward(const hki_tape_node *node, hk_array *dy)
{
    hki_tape_node *input = node->inputs[0].node;
    const hk_dims *shape = &node->inputs[0].shape;
    const hki_tape_layout *layout = node->options;
    const int64_t *strides = layout->input_strides;
    share view = {.shape = node->shape, .offset = layout->offset};
    memcpy(view.strides, layout->strides, sizeof view.strides);
    if (dims_product(&view.shape) == 0) {
        hki_tape_contribute(input, hki_zeros(node->device, *shape, node->dtype));
        return;
    }
    for (int i = 0; i < view.shape.ndim; i++)
        if (view.strides[i] == 0) /* stretched: one element, seen many times */
            view.shape.dims[i] = 1;
    dy = hki_op_sum_to_shape(dy, &view.shape);
    hk_array *whole = reorder(&view, shape, strides, dy);
    if (!whole)
        whole = reshape(&view, shape, strides, dy);
    if (whole) {
        hki_tape_contribute(input, whole);
        return;
    }
    if (input->kind == HKI_TAPE_LEAF && (!input->grad || input->grad->failed))
        return;
    if (is_contiguous(shape, strides)) {
        bool is_first = !input->scatter;
        if (is_first)
            input->scatter = hk_take(hki_zeros(node->device, *shape, node->dtype));
        add_share(input->scatter, view, dy, is_first);
        return;
    }
    /* The same layout over memory of its own, then seen with the input's shape. */
    int64_t before;
    const hk_dims line = {.ndim = 1, .dims = {span(shape, strides, &before)}};
    hk_array *base = hki_zeros(node->device, line, node->dtype);
    view.offset += before;
    add_share(base, view, dy, true);
    hki_tape_contribute(input, hki_array_view(base, *shape, strides, base->offset + before));
}
