/* QR of large matrices, in panels (panels.h). The reflections of a panel are applied at once. */
#include "base/integer.h"
#include "op/linalg/lu.h"
#include "op/linalg/panels.h"
#include "op/linalg/qr.h"
#include "op/linalg/tiles.h"

#include <string.h>

enum { PANEL = 128 /* columns of one */ };

/* ---- parts ----------------------------------------------------------------------------------- */

#define QR_PANEL_OPTIONS(F, op) F(op, INT, first, "0", "the row where its reflections begin")
HKI_OPTIONS(qr_panel, QR_PANEL_OPTIONS)
HKI_OPTIONS(qr_update, QR_PANEL_OPTIONS)

static int64_t first_of(const hki_kernel_call *call)
{
    return ((const hki_qr_panel_options *)call->options)->first;
}

/* As many as count, of a factored panel from row `first` on, with their squares: two of count x
 * count. */
static hki_reflections reflections_of(const hki_blas *blas, hki_blas_matrix panel, int64_t first,
                                      int64_t count, void *squares)
{
    char *second = (char *)squares + count * count * (int64_t)blas->item;
    const int64_t next = first + count;
    return (hki_reflections){
        .first = {squares, count, count, 1, count, false},
        .others = hki_blas_block(blas, panel, next, panel.rows - next, 0, count),
        .t = {second, count, count, count, 1, false},
    };
}

/* c, from row `first` of the panel on, becomes (I - v t v^H) c; adjoint: with t^H. Work: two
 * matrices as high as t and as wide as c. */
static void reflect(const hki_blas *blas, hki_reflections by, bool adjoint, hki_blas_matrix c,
                    char *work)
{
    const int64_t count = by.t.rows, rest = by.others.rows;
    const hki_blas_matrix above = hki_blas_block(blas, c, 0, count, 0, c.columns),
                          below = hki_blas_block(blas, c, count, rest, 0, c.columns),
                          sums = {work, count, c.columns, 1, count, false},
                          scaled = {work + count * c.columns * (int64_t)blas->item,
                                    count,
                                    c.columns,
                                    1,
                                    count,
                                    false};
    blas->product(1, hki_blas_adjoint(by.first), above, 0, sums);
    if (rest > 0)
        blas->product(1, hki_blas_adjoint(by.others), below, 1, sums);
    blas->product(1, adjoint ? hki_blas_adjoint(by.t) : by.t, sums, 0, scaled);
    blas->product(-1, by.first, scaled, 1, above);
    blas->product(-1, by.others, scaled, 1, below);
}

static bool panel_infer(hki_call *call)
{
    const hk_dims *shape = &call->inputs[0]->shape;
    const int64_t first = ((const hki_qr_panel_options *)call->options)->first,
                  count = hki_min(shape->dims[0], shape->dims[1] - first);
    call->out_shape[0] = *shape;
    call->out_shape[1] = (hk_dims){.ndim = 1, .dims = {count}};
    call->out_shape[2] = (hk_dims){.ndim = 3, .dims = {2, count, count}};
    for (int i = 0; i < 3; i++)
        call->out_dtype[i] = call->inputs[0]->dtype;
    return true;
}

static void panel_plan(const hki_call *call, hki_plan *plan)
{
    hki_panel_plan(call, plan, 4 * (double)call->inputs[0]->shape.dims[0]);
}

static void panel_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_qr *qr = hki_qr_of(dtype);
    const hki_blas_matrix all = hki_panel_of(&call->out[0]);
    const int64_t first = first_of(call), count = call->out[1].size;
    const hki_blas_matrix panel =
        hki_blas_block(blas, all, first, all.rows - first, 0, all.columns);
    const size_t bytes[] = {qr->factor_bytes(panel.rows, panel.columns),
                            (size_t)(count * count) * blas->item};
    hki_linalg_work work;
    if (begin == end || !hki_linalg_begin(&work, call, piece, bytes, 2))
        return;
    qr->factor(panel, call->out[1].data, work.part[0], bytes[0]);
    qr->gather(panel, call->out[1].data, reflections_of(blas, all, first, count, call->out[2].data),
               work.part[1]);
    hki_linalg_end(&work);
}

HKI_PANEL_PART(qr_panel, "x",
               "The factors of a panel, from its row `first` on, and its reflections.",
               .infer = panel_infer, .plan = panel_plan, .strided_output = true, .in_place = 1,
               .kernel = {[HKI_CPU] = panel_kernel}, .output_count = 3,
               .outputs = "y, tau, squares");

static void update_plan(const hki_call *call, hki_plan *plan)
{
    hki_panel_plan(call, plan, 4 * (double)call->inputs[2]->shape.dims[1]);
}

static void update_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *squares = &call->in[2];
    const hki_blas *blas = hki_blas_of(call->out[0].dtype);
    const hki_blas_matrix x = hki_panel_of(&call->out[0]), left = hki_panel_of(&call->in[1]);
    const int64_t first = first_of(call), count = squares->dims[1];
    const size_t bytes = (size_t)(2 * count * x.columns) * blas->item;
    hki_linalg_work work;
    if (begin == end || !hki_linalg_begin(&work, call, piece, &bytes, 1))
        return;
    reflect(blas, reflections_of(blas, left, first, count, squares->data), true,
            hki_blas_block(blas, x, first, x.rows - first, 0, x.columns), work.part[0]);
    hki_linalg_end(&work);
}

HKI_PANEL_PART(qr_update, "x, left, squares",
               "A panel after the one on its left, from its row `first` on, has been factorised.",
               .infer = hki_panel_infer, .plan = update_plan, .strided_output = true, .in_place = 1,
               .kernel = {[HKI_CPU] = update_kernel});

#define QR_FORM_OPTIONS(F, op)                                                                     \
    F(op, INT, columns, "0", "of Q")                                                               \
    F(op, INT, width, "0", "of a panel")
HKI_OPTIONS(qr_form, QR_FORM_OPTIONS)

static bool form_infer(hki_call *call)
{
    const hki_qr_form_options *options = call->options;
    call->out_shape[0] =
        (hk_dims){.ndim = 2, .dims = {options->columns, call->inputs[0]->shape.dims[1]}};
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void form_plan(const hki_call *call, hki_plan *plan)
{
    const hki_qr_form_options *options = call->options;
    const hk_dims *shape = &call->inputs[0]->shape;
    const hki_stack stack = {1, shape->dims[1], options->columns};
    const double count = (double)hki_min(shape->dims[0], shape->dims[1]);
    hki_linalg_plan(plan, &stack, 2 * (double)shape->dims[1] * (double)options->columns * count);
    plan->extent = hki_divide_up(options->columns, PANEL);
}

/* Columns of Q: of the identity, by the reflections in falling order, of which those after the
 * columns do nothing. */
static void form_block(const hki_linalg_work *work, int64_t column)
{
    const hki_kernel_call *call = work->call;
    const hki_qr_form_options *options = call->options;
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix factors = hki_panel_of(&call->in[0]), all = hki_panel_of(&call->out[0]);
    const int64_t columns = hki_min(PANEL, options->columns - column),
                  least = hki_min(factors.rows, factors.columns), width = options->width;
    const hki_blas_matrix x = hki_blas_block(blas, all, 0, all.rows, column, columns);
    hki_lu_of(dtype)->set_identity(x, column);
    for (int64_t k = hki_divide_up(hki_min(least, column + columns), width) - 1; k >= 0; k--) {
        const int64_t first = k * width, count = hki_min(width, least - first);
        char *squares = (char *)call->in[1].data + 2 * first * width * (int64_t)blas->item;
        const hki_blas_matrix panel = hki_blas_block(blas, factors, 0, factors.rows, first, count);
        reflect(blas, reflections_of(blas, panel, first, count, squares), false,
                hki_blas_block(blas, x, first, x.rows - first, 0, columns), work->part[0]);
    }
    for (int64_t i = 0; i < columns && column + i < least; i++)
        if (hki_qr_of(dtype)->is_negative(factors, column + i))
            hki_qr_of(dtype)->negate(hki_blas_block(blas, x, 0, x.rows, i, 1));
}

static void form_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_qr_form_options *options = call->options;
    const size_t bytes = (size_t)(2 * options->width * PANEL) * hk_dtype_bytes(call->in[0].dtype);
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, &bytes, 1))
        return;
    for (; begin < end; begin++)
        form_block(&work, begin * PANEL);
    hki_linalg_end(&work);
}

HKI_PANEL_PART(qr_form, "x, squares",
               "Q, transposed, where no item on the diagonal of R is to be negative.",
               .infer = form_infer, .plan = form_plan, .contiguous = true,
               .kernel = {[HKI_CPU] = form_kernel});

HKI_OPTIONS(qr_upper, QR_FORM_OPTIONS)

static bool upper_infer(hki_call *call)
{
    const hki_qr_form_options *options = call->options;
    call->out_shape[0] =
        (hk_dims){.ndim = 2, .dims = {options->columns, call->inputs[0]->shape.dims[0]}};
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void upper_plan(const hki_call *call, hki_plan *plan)
{
    const hki_qr_form_options *options = call->options;
    plan->extent = hki_divide_up(options->columns, PANEL);
    plan->work_ns = 2 * (double)call->inputs[0]->size;
}

static void upper_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hk_dtype dtype = call->out[0].dtype;
    const hki_blas *blas = hki_blas_of(dtype);
    const hki_blas_matrix factors = hki_panel_of(&call->in[0]),
                          to = hki_matrix_of(&call->out[0], 0);
    const int64_t rows = hki_min(to.rows, end * PANEL),
                  least = hki_min(factors.rows, factors.columns);
    (void)piece;
    for (int64_t i = begin * PANEL; i < rows; i++) {
        const int64_t from = i < least ? i : to.columns;
        const hki_blas_matrix row = hki_blas_block(blas, to, i, 1, from, to.columns - from);
        memset((char *)to.data + i * to.row_step * (int64_t)blas->item, 0,
               (size_t)from * blas->item);
        blas->copy(hki_blas_block(blas, factors, i, 1, from, to.columns - from), row);
        if (i < least && hki_qr_of(dtype)->is_negative(factors, i))
            hki_qr_of(dtype)->negate(row);
    }
}

HKI_PANEL_PART(qr_upper, "x", "R, where no item on its diagonal is to be negative.",
               .infer = upper_infer, .plan = upper_plan, .contiguous = true,
               .kernel = {[HKI_CPU] = upper_kernel});

/* ---- composition ----------------------------------------------------------------------------- */

typedef struct qr {
    hki_panels panels;
    hk_array *tau, *squares;
} qr;

/* Two of count x count, one behind the other. */
static hk_array *squares_at(const qr *self, int64_t k)
{
    const int64_t first = k * PANEL, count = hki_min(PANEL, self->panels.least - first);
    if (self->squares->failed)
        return self->squares;
    return hki_array_view(self->squares, (hk_dims){.ndim = 3, .dims = {2, count, count}},
                          (const int64_t[HK_MAX_NDIM]){count * count, count, 1},
                          self->squares->offset + 2 * first * PANEL);
}

static void factor(const void *argument, int64_t k)
{
    HK_SCOPE;
    const qr *self = argument;
    const int64_t first = k * PANEL;
    hk_array *panel = hki_panel_at(&self->panels, k);
    hk_array *tau = (hk_slice)(self->tau, 0, first, hki_min(self->panels.least, first + PANEL));
    hki_op_call_update(&hki_op_qr_panel, &panel, 1, &first,
                       (hk_array *const[]){panel, tau, squares_at(self, k)}, 3);
}

static void update(const void *argument, int64_t k, int64_t j)
{
    HK_SCOPE;
    const qr *self = argument;
    hk_array *panel = hki_panel_at(&self->panels, j);
    hki_op_call_into(
        &hki_op_qr_update,
        (hk_array *const[]){panel, hki_panel_at(&self->panels, k), squares_at(self, k)}, 3,
        &(const int64_t){k * PANEL}, panel);
}

hk_array *hki_qr_tiled(hk_array *x, hk_array *tau, int64_t columns, hk_array **q, hk_array **r)
{
    qr self = {.panels = hki_panels_of(x, PANEL), .tau = tau};
    self.squares = hki_array_made(x->storage->device,
                                  (hk_dims){.ndim = 1, .dims = {2 * self.panels.least * PANEL}},
                                  x->dtype, "qr");
    hki_panels_factorise(&self.panels, factor, update, &self);
    if (q) {
        const hki_qr_form_options form = {columns, PANEL};
        *q = hki_op_call2(&hki_op_qr_form, self.panels.columns, self.squares, &form);
        *r = hki_op_call1(&hki_op_qr_upper, self.panels.columns, &form);
    }
    return hki_panels_matrix(&self.panels);
}
