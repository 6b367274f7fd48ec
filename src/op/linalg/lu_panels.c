/* Factors of large matrices, by columns: a panel of some columns is factorised by itself, and then each other panel takes what follows
 * from it. The matrix is transposed for that, so that a panel's memory is its own and no calls on two panels conflict. */
#include "base/integer.h"
#include "op/linalg/lu.h"
#include "op/linalg/tiles.h"
#include "op/linalg/views.h"

/* Columns of a panel, and from where on: pure functions of the shape. */
enum { TILED_FROM = 1024, PANEL = 128, WIDE_FROM = 8192, WIDE_PANEL = 256 };

bool hki_lu_is_tiled(const hk_dims *shape)
{
    return hki_min(shape->dims[shape->ndim - 1], shape->dims[shape->ndim - 2]) >= TILED_FROM;
}

/* ---- parts -------------------------------------------------------------------------------------------------- */

#define LU_PANEL_ARGUMENTS(F, op) F(op, INT, first, "0", "the row of the panel's first pivot")
HKI_OPTIONS(lu_panel, LU_PANEL_ARGUMENTS)
HKI_OPTIONS(lu_update, LU_PANEL_ARGUMENTS)

static int64_t first_of(const hki_kernel_call *call)
{
    return ((const hki_lu_panel_options *)call->options)->first;
}

/* The panel as a matrix (rows, columns), from the array (columns, rows). */
static hki_blas_matrix panel_of(const hki_tensor *x)
{
    return (hki_blas_matrix){x->data, x->dims[1], x->dims[0], 1, x->dims[1], false};
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
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_stack stack = {1, shape->dims[1], shape->dims[0]};
    hki_linalg_plan(plan, &stack,
                    (double)shape->dims[1] * (double)shape->dims[0] * (double)shape->dims[0]);
}

static void panel_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix all = panel_of(&call->out[0]);
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

/* What parts have in common. */
#define PART(op, inputs, text, ...)                                                                \
    const hk_op hki_op_##op = {HKI_OP_NAMED(op),                                                   \
                               .signature = inputs,                                                \
                               .doc = text,                                                        \
                               .internal = true,                                                   \
                               .is_part = true,                                                    \
                               .host_only = true,                                                  \
                               .strided_output = true,                                             \
                               .in_place = 1,                                                      \
                               .split = HKI_SPLIT_PLAN,                                            \
                               .no_grad_why = "what is composed of it has one, or none",           \
                               .untested = "tiles_test.c tests it",                                \
                               __VA_ARGS__}

PART(lu_panel, "x", "The factors of a panel, from its row `first` on, and its pivots.",
     HKI_OP_PARAMS(lu_panel), .dtypes = HKI_INEXACT, .infer = panel_infer, .plan = panel_plan,
     .kernel = {[HKI_CPU] = panel_kernel}, .output_count = 2, .outputs = "y, pivots");

static bool update_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void update_plan(const hki_call *call, hki_plan *plan)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const int64_t left = call->inputs[1]->shape.dims[0];
    const hki_stack stack = {1, shape->dims[1], shape->dims[0]};
    hki_linalg_plan(plan, &stack,
                    2 * (double)shape->dims[1] * (double)shape->dims[0] * (double)left);
}

/* Swaps, U of these columns, and what is left of them below. */
static void update_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *pivots = &call->in[2];
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix x = panel_of(&call->out[0]), left = panel_of(&call->in[1]);
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

PART(lu_update, "x, left, pivots",
     "A panel after the one on its left, from its row `first` on, has been factorised.",
     HKI_OP_PARAMS(lu_update), .dtypes = HKI_INEXACT, .infer = update_infer, .plan = update_plan,
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
            ->swap_rows(panel_of(&call->out[0]), first_of(call), call->in[1].data, call->in[1].size,
                        false);
}

HKI_OPTIONS(lu_swap, LU_PANEL_ARGUMENTS)
PART(lu_swap, "x, pivots", "A panel with its rows, from `first` on, swapped.",
     HKI_OP_PARAMS(lu_swap), .dtypes = HKI_INEXACT, .infer = update_infer, .plan = swap_plan,
     .kernel = {[HKI_CPU] = swap_kernel});

/* ---- composition ---------------------------------------------------------------------------------------------- */

typedef struct panels {
    hk_array *columns; /* (n, m), the transposed matrix */
    hk_array *pivots;
    int64_t m, n, width, factored; /* factored: min(m, n) */
} panels;

static hk_array *panel_at(const panels *self, int64_t k)
{
    return (hk_slice)(self->columns, 0, k * self->width, hki_min(self->n, (k + 1) * self->width));
}

static hk_array *pivots_at(const panels *self, int64_t k)
{
    return (hk_slice)(self->pivots, 0, k * self->width,
                      hki_min(self->factored, (k + 1) * self->width));
}

static void factor(const panels *self, int64_t k)
{
    HK_SCOPE;
    hk_array *panel = panel_at(self, k);
    hki_op_call_update(&hki_op_lu_panel, &panel, 1, &(const int64_t){k * self->width},
                       (hk_array *const[]){panel, pivots_at(self, k)}, 2);
}

static void update(const panels *self, int64_t k, int64_t j)
{
    HK_SCOPE;
    hk_array *panel = panel_at(self, j);
    hki_op_call_into(&hki_op_lu_update,
                     (hk_array *const[]){panel, panel_at(self, k), pivots_at(self, k)}, 3,
                     &(const int64_t){k * self->width}, panel);
}

/* Panels on the left take what later ones have swapped. */
static void swap(const panels *self, int64_t k)
{
    HK_SCOPE;
    const int64_t first = (k + 1) * self->width;
    if (first >= self->factored)
        return;
    hk_array *panel = panel_at(self, k);
    hki_op_call_into(&hki_op_lu_swap,
                     (hk_array *const[]){panel, (hk_slice)(self->pivots, 0, first, self->factored)},
                     2, &first, panel);
}

hk_array *hki_lu_tiled(hk_array *x, hk_array *pivots)
{
    const int64_t axes[] = {-1, -2};
    panels self = {.pivots = pivots, .m = x->shape.dims[0], .n = x->shape.dims[1]};
    self.columns = hki_op_call1(&hki_op_copy, hki_op_call1(&hki_op_swapaxes, x, axes), NULL);
    self.factored = hki_min(self.m, self.n);
    self.width = self.factored < WIDE_FROM ? PANEL : WIDE_PANEL;
    const int64_t count = hki_divide_up(self.n, self.width),
                  factored = hki_divide_up(self.factored, self.width);
    factor(&self, 0);
    for (int64_t k = 0; k < factored; k++) {
        /* the next panel first: all others wait for its factors */
        if (k + 1 < count)
            update(&self, k, k + 1);
        if (k + 1 < factored)
            factor(&self, k + 1);
        for (int64_t j = k + 2; j < count; j++)
            update(&self, k, j);
    }
    for (int64_t k = 0; k < factored; k++)
        swap(&self, k);
    return hki_op_call1(&hki_op_swapaxes, self.columns, axes);
}
