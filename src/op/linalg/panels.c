#include "op/linalg/panels.h"

#include "base/integer.h"

enum { FROM = 1024 };

bool hki_is_in_panels(const hk_dims *shape)
{
    return hki_min(shape->dims[shape->ndim - 1], shape->dims[shape->ndim - 2]) >= FROM;
}

bool hki_panel_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

void hki_panel_plan(const hki_call *call, hki_plan *plan, double flops)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_stack stack = {1, shape->dims[1], shape->dims[0]};
    hki_linalg_plan(plan, &stack, flops * (double)shape->dims[1] * (double)shape->dims[0]);
}

static hk_array *transposed(hk_array *x)
{
    return hki_op_call1(&hki_op_swapaxes, x, (const int64_t[]){-1, -2});
}

hki_panels hki_panels_of(hk_array *x, int64_t width)
{
    return (hki_panels){.columns = hki_op_call1(&hki_op_copy, transposed(x), NULL),
                        .n = x->shape.dims[1],
                        .width = width,
                        .least = hki_min(x->shape.dims[0], x->shape.dims[1])};
}

hk_array *hki_panels_matrix(const hki_panels *self)
{
    return transposed(self->columns);
}

hk_array *hki_panel_at(const hki_panels *self, int64_t k)
{
    return (hk_slice)(self->columns, 0, k * self->width, hki_min(self->n, (k + 1) * self->width));
}

void hki_panels_factorise(const hki_panels *self, void (*factor)(const void *argument, int64_t k),
                          void (*update)(const void *argument, int64_t k, int64_t j),
                          const void *argument)
{
    const int64_t count = hki_divide_up(self->n, self->width),
                  factored = hki_divide_up(self->least, self->width);
    factor(argument, 0);
    for (int64_t k = 0; k < factored; k++) {
        /* the next panel first: all others wait for its factors */
        if (k + 1 < count)
            update(argument, k, k + 1);
        if (k + 1 < factored)
            factor(argument, k + 1);
        for (int64_t j = k + 2; j < count; j++)
            update(argument, k, j);
    }
}
