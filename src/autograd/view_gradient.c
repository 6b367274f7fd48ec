/* The gradient of a view: its share of the gradient of what it views, zero elsewhere. */
#include "autograd/tape.h"

#include <string.h>

/* Where the elements of a gradient belong, among those of what is viewed. */
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

/* The axes of the view from the longest step to the shortest. */
static void order_axes(const share *view, int *axes)
{
    for (int i = 0; i < view->shape.ndim; i++) {
        int at = i;
        for (; at > 0 && view->strides[axes[at - 1]] < view->strides[i]; at--)
            axes[at] = axes[at - 1];
        axes[at] = i;
    }
}

/* The same for a view in another shape, C order like the input but for the order of its axes: as heads of attention are. */
static hk_array *reshape(const share *view, const hk_dims *shape, const int64_t *strides,
                         hk_array *dy)
{
    int axes[HK_MAX_NDIM];
    share sorted = {.shape.ndim = view->shape.ndim}, its = sorted;
    if (view->offset || dims_product(&view->shape) != dims_product(shape) ||
        !is_contiguous(shape, strides))
        return NULL;
    order_axes(view, axes);
    for (int i = 0; i < view->shape.ndim; i++) {
        sorted.shape.dims[i] = its.shape.dims[i] = view->shape.dims[axes[i]];
        sorted.strides[i] = view->strides[axes[i]];
        its.strides[i] = dy->strides[axes[i]];
    }
    if (!is_contiguous(&sorted.shape, sorted.strides))
        return NULL;
    dy = hki_array_view(dy, its.shape, its.strides, dy->offset);
    if (!is_contiguous(&its.shape, its.strides))
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
        dy = dy->failed ? dy : hki_tape_cast(dy, base->dtype);
        hk_array *part = hki_array_view(base, view.shape, view.strides, base->offset + view.offset);
        if (part->failed) /* for want of memory: nothing may be left out */
            hki_array_fail_in_place(base, "backward", &part, 1, HK_OUT_OF_MEMORY,
                                    "out of host memory");
        else if (is_zero)
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

/* ---- as functions on the tape, for gradients of gradients ---------------------------------------------------- */

/* What a view shows of an array of this shape and these strides. */
typedef struct window {
    share view;
    hk_dims shape;
    int64_t strides[HK_MAX_NDIM];
} window;

/* An array of the shape over memory laid out by the strides, in which the view shows dy, and there are zeros elsewhere. */
static hk_array *spread(const window *self, hk_array *dy)
{
    int64_t before;
    const hk_dims line = {.ndim = 1, .dims = {span(&self->shape, self->strides, &before)}};
    share view = self->view;
    const bool has_sums = hki_dims_overlapping_axis(&view.shape, view.strides) >= 0;
    hk_array *base =
        hki_zeros(dy->storage->device, line, has_sums ? hki_tape_sum_dtype(dy->dtype) : dy->dtype);
    view.offset += before;
    add_share(base, view, dy, true);
    base = hki_tape_cast(base, dy->dtype);
    return hki_array_view(base, self->shape, self->strides, base->offset + before);
}

static hk_array *scatter(const window *self, hk_array *dy);

static void gather_backward(hk_function_call *call)
{
    call->dxs[0] = hk_take(scatter(call->context, call->dys[0]));
}

/* What the view shows of x, which has its input's shape. */
static hk_array *gather(const window *self, hk_array *x)
{
    if (x->failed)
        return x;
    if (is_contiguous(&self->shape, self->strides)) {
        if (!is_contiguous(&x->shape, x->strides))
            x = hki_op_call1(&hki_op_copy, x, NULL);
        return hki_array_view(x, self->view.shape, self->view.strides,
                              x->offset + self->view.offset);
    }
    hk_array *shown;
    {
        HK_PAUSE;
        window whole = {.shape = self->shape, .view = {.shape = self->shape}};
        memcpy(whole.strides, self->strides, sizeof whole.strides);
        memcpy(whole.view.strides, self->strides, sizeof whole.strides);
        hk_array *base = spread(&whole, x);
        shown = hki_array_view(base, self->view.shape, self->view.strides,
                               base->offset + self->view.offset);
    }
    return hki_function_of_one("view", x, shown, gather_backward, self, sizeof *self);
}

static void scatter_backward(hk_function_call *call)
{
    call->dxs[0] = hk_take(gather(call->context, call->dys[0]));
}

static hk_array *scatter(const window *self, hk_array *dy)
{
    hk_array *whole;
    if (dy->failed)
        return dy;
    {
        HK_PAUSE;
        whole = spread(self, dy);
    }
    return hki_function_of_one("gradient of a view", dy, whole, scatter_backward, self,
                               sizeof *self);
}

/* ---- the gradient -------------------------------------------------------------------------------------------- */

/* Adds dy, which is not all of the gradient's elements, in place where that can be done. */
static void add_part(hki_pass *pass, hki_tape_node *input, const window *self, hk_array *dy)
{
    if (pass->records || !is_contiguous(&self->shape, self->strides)) {
        hki_tape_contribute(pass, input, scatter(self, dy));
        return;
    }
    hki_visit *visit = hki_pass_visit(pass, input);
    const bool is_first = !visit->scatter;
    if (is_first)
        visit->scatter =
            hk_take(hki_zeros(input->device, self->shape, hki_tape_sum_dtype(input->dtype)));
    add_share(visit->scatter, self->view, dy, is_first);
}

/* False after failing: the view that a gradient is asked for shows elements more than once, so that what another view shows of
 * them is not known. */
static bool find_window(hki_pass *pass, const hki_tape_node *node, const hki_tape_node *input,
                        window *self)
{
    const hki_tape_layout *layout = node->options;
    self->view = (share){.shape = node->shape, .offset = layout->offset};
    memcpy(self->view.strides, layout->strides, sizeof self->view.strides);
    if (input == node->inputs[0].node) {
        self->shape = node->inputs[0].shape;
        memcpy(self->strides, layout->input_strides, sizeof self->strides);
        return true;
    }
    const hki_tape_layout *outer = input->options;
    self->shape = input->shape;
    self->view.offset -= outer->offset;
    memcpy(self->strides, outer->strides, sizeof self->strides);
    if (hki_dims_overlapping_axis(&self->shape, self->strides) < 0)
        return true;
    hki_pass_fail(pass, node->device, "backward", NULL, HK_UNSUPPORTED,
                  "a gradient is asked for a view that shows elements more than once, and that "
                  "another view was taken of; take that one of a copy (hk_copy)");
    return false;
}

void hki_view_backward(hki_pass *pass, hki_tape_node *node, hk_array *dy)
{
    hki_tape_node *input = hki_pass_viewed(pass, node);
    window self;
    if (!hki_pass_wants(pass, input))
        return;
    if (!find_window(pass, node, input, &self)) {
        hki_tape_contribute(pass, input, pass->failure);
        return;
    }
    if (dims_product(&self.view.shape) == 0) {
        hki_tape_contribute(pass, input, hki_zeros(node->device, self.shape, node->dtype));
        return;
    }
    for (int i = 0; i < self.view.shape.ndim; i++)
        if (self.view.strides[i] == 0) /* stretched: one element, seen many times */
            self.view.shape.dims[i] = 1;
    dy = hki_op_sum_to_shape(dy, &self.view.shape);
    hk_array *whole = reorder(&self.view, &self.shape, self.strides, dy);
    if (!whole)
        whole = reshape(&self.view, &self.shape, self.strides, dy);
    if (whole)
        hki_tape_contribute(pass, input, whole);
    else
        add_part(pass, input, &self, dy);
}
