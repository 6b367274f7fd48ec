/* What factorisations of large matrices by columns have in common (lu_panels.c, qr_panels.c). A
 * panel of some columns is factorised by itself, and then each other panel takes what follows from
 * it. The matrix is transposed for that, so that a panel's memory is its own and no calls on two
 * panels conflict. */
#ifndef HOCKET_OP_PANELS_H
#define HOCKET_OP_PANELS_H

#include "op/linalg/views.h"
#include "op/op.h"

/* Whether matrices of this shape are factorised so: a pure function of it. */
bool hki_is_in_panels(const hk_dims *shape);

/* ---- parts: calls on panels, arrays (columns, rows) */

/* As a matrix (rows, columns). */
static inline hki_blas_matrix hki_panel_of(const hki_tensor *x)
{
    return (hki_blas_matrix){x->data, x->dims[1], x->dims[0], 1, x->dims[1], false};
}
/* From infer: the result is as input 0. */
bool hki_panel_infer(hki_call *call);
/* From plan: so many operations for each row and column of input 0. */
void hki_panel_plan(const hki_call *call, hki_plan *plan, double flops);

/* What the operators of parts have in common. */
#define HKI_PANEL_PART(op, inputs, text, ...)                                                      \
    const hk_op hki_op_##op = {HKI_OP_NAMED(op),                                                   \
                               .refuses = true,                                                    \
                               HKI_OP_PARAMS(op),                                                  \
                               .signature = inputs,                                                \
                               .doc = text,                                                        \
                               .dtypes = HKI_INEXACT,                                              \
                               .internal = true,                                                   \
                               .is_part = true,                                                    \
                               .host_only = true,                                                  \
                               .split = HKI_SPLIT_PLAN,                                            \
                               .no_grad_why = "what is composed of it has one, or none",           \
                               .untested = "tiles_test.c tests it",                                \
                               __VA_ARGS__}

/* ---- composition */

typedef struct hki_panels {
    hk_array *columns; /* (n, m), the transposed matrix; of the scope */
    int64_t n, width;
    int64_t least; /* min(m, n): so many columns are factorised */
} hki_panels;

/* A copy of the matrix x. */
hki_panels hki_panels_of(hk_array *x, int64_t width);
/* The matrix that they are now: a view. */
hk_array *hki_panels_matrix(const hki_panels *self);
/* Panel k: a view. */
hk_array *hki_panel_at(const hki_panels *self, int64_t k);
/* Calls factor for each panel, and update for each one, j, behind it, in the order that lets
 * most of them run at the same time. */
void hki_panels_factorise(const hki_panels *self, void (*factor)(const void *argument, int64_t k),
                          void (*update)(const void *argument, int64_t k, int64_t j),
                          const void *argument);

#endif
