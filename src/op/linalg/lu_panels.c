/* LU of large matrices, in panels (panels.h). */
#include "base/integer.h"
#include "op/linalg/lu.h"
#include "op/linalg/panels.h"

/* Columns of a panel: a pure function of the shape. */
enum { PANEL = 128, WIDE_FROM = 8192, WIDE_PANEL = 256 };

/* ---- parts ----------------------------------------------------------------------------------- */

#define LU_PANEL_ARGUMENTS(F, op) F(op, INT, first, "0", "the row of the panel's first pivot")
HKI_OPTIONS(lu_panel, LU_PANEL_ARGUMENTS)
HKI_OPTIONS(lu_update, LU_PANEL_ARGUMENTS)

static int64_t first_of(const hki_kernel_call *call)
{
    return ((const hki_lu_panel_options *)call->options)->first;
}

static bool panel_infer(hki_call *call)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const int64_t first = ((const hki_lu_panel_options *)call->options)->first;
    call->out_shape[0] = *shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    call->out_shape[1] =
        (hk_dims){.ndim = 1, .dims = {hki_min(shape->dims[0], shape->dims[1] - first)}};
    call->out_dtype[1] = HK_I32;
    return true;
}

static void panel_plan(const hki_call *call, hki_plan *plan)
{
    hki_panel_plan(call, plan, (double)call->inputs[0]->shape.dims[0]);
}

static void panel_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix all = hki_panel_of(&call->out[0]);
    const int64_t first = first_of(call);
    int32_t *pivots = call->out[1].data;
    hki_linalg_work work;
    if (begin == end || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    hki_lu_of(dtype)->factor(hki_blas_block(blas, all, first, all.rows - first, 0, all.columns),
                             pivots);
    for (int64_t i = 0; i < call->out[1].size; i++)
        pivots[i] += (int32_t)first;
    hki_linalg_end(&work);
}

HKI_PANEL_PART(lu_panel, "x", "The factors of a panel, from its row `first` on, and its pivots.",
               .strided_output = true, .in_place = 1, .infer = panel_infer, .plan = panel_plan,
               .kernel = {[HKI_CPU] = panel_kernel}, .output_count = 2, .outputs = "y, pivots");

static void update_plan(const hki_call *call, hki_plan *plan)
{
    hki_panel_plan(call, plan, 2 * (double)call->inputs[1]->shape.dims[0]);
}

/* Swaps, U of these columns, and what is left of them below. */
static void update_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *pivots = &call->in[2];
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix x = hki_panel_of(&call->out[0]), left = hki_panel_of(&call->in[1]);
    const int64_t first = first_of(call), count = pivots->size, next = first + count;
    hki_linalg_work work;
    if (begin == end || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    const hki_blas_matrix swapped = hki_blas_block(blas, x, first, count, 0, x.columns),
                          below = hki_blas_block(blas, x, next, x.rows - next, 0, x.columns);
    hki_lu_of(dtype)->swap_rows(x, first, pivots->data, count, false);
    blas->solve_triangular((hki_triangle){.unit_diagonal = true}, false,
                           hki_blas_block(blas, left, first, count, 0, count), swapped);
    blas->product(-1, hki_blas_block(blas, left, next, x.rows - next, 0, count), swapped, 1, below);
    hki_linalg_end(&work);
}

HKI_PANEL_PART(lu_update, "x, left, pivots",
               "A panel after the one on its left, from its row `first` on, has been factorised.",
               .strided_output = true, .in_place = 1, .infer = hki_panel_infer, .plan = update_plan,
               .kernel = {[HKI_CPU] = update_kernel});

static void swap_plan(const hki_call *call, hki_plan *plan)
{
    plan->extent = 1;
    plan->work_ns =
        200 + 4 * (double)call->inputs[0]->shape.dims[0] * (double)call->inputs[1]->size;
}

static void swap_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    if (begin < end)
        hki_lu_of(call->out[0].dtype)
            ->swap_rows(hki_panel_of(&call->out[0]), first_of(call), call->in[1].data,
                        call->in[1].size, false);
}

HKI_OPTIONS(lu_swap, LU_PANEL_ARGUMENTS)
HKI_PANEL_PART(lu_swap, "x, pivots", "A panel with its rows, from `first` on, swapped.",
               .strided_output = true, .in_place = 1, .infer = hki_panel_infer, .plan = swap_plan,
               .kernel = {[HKI_CPU] = swap_kernel});

/* ---- composition ----------------------------------------------------------------------------- */

typedef struct lu {
    hki_panels panels;
    hk_array *pivots;
} lu;

static hk_array *pivots_at(const lu *self, int64_t k)
{
    const int64_t first = k * self->panels.width;
    return (hk_slice)(self->pivots, 0, first,
                      hki_min(self->panels.least, first + self->panels.width));
}

static void factor(const void *argument, int64_t k)
{
    HK_SCOPE;
    const lu *self = argument;
    hk_array *panel = hki_panel_at(&self->panels, k);
    hki_op_call_update(&hki_op_lu_panel, &panel, 1, &(const int64_t){k * self->panels.width},
                       (hk_array *const[]){panel, pivots_at(self, k)}, 2);
}

static void update(const void *argument, int64_t k, int64_t j)
{
    HK_SCOPE;
    const lu *self = argument;
    hk_array *panel = hki_panel_at(&self->panels, j);
    hki_op_call_into(&hki_op_lu_update,
                     (hk_array *const[]){panel, hki_panel_at(&self->panels, k), pivots_at(self, k)},
                     3, &(const int64_t){k * self->panels.width}, panel);
}

/* Panels on the left take what later ones have swapped. */
static void swap(const lu *self, int64_t k)
{
    HK_SCOPE;
    const int64_t first = (k + 1) * self->panels.width;
    if (first >= self->panels.least)
        return;
    hk_array *panel = hki_panel_at(&self->panels, k);
    hki_op_call_into(
        &hki_op_lu_swap,
        (hk_array *const[]){panel, (hk_slice)(self->pivots, 0, first, self->panels.least)}, 2,
        &first, panel);
}

hk_array *hki_lu_tiled(hk_array *x, hk_array *pivots)
{
    const int64_t least = hki_min(x->shape.dims[0], x->shape.dims[1]),
                  width = least < WIDE_FROM ? PANEL : WIDE_PANEL;
    const lu self = {hki_panels_of(x, width), pivots};
    hki_panels_factorise(&self.panels, factor, update, &self);
    for (int64_t k = 0; k * width < least; k++)
        swap(&self, k);
    return hki_panels_matrix(&self.panels);
}
