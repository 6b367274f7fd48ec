/* What operators share that are views of their input: each brings a layout, and nothing else. */
#ifndef HOCKET_OP_VIEW_OP_H
#define HOCKET_OP_VIEW_OP_H

#include "op/op.h"

/* Where the elements of a view lie: strides and offset in elements, the offset from x's first. */
typedef struct hki_view_layout {
    hk_dims shape;
    int64_t strides[HK_MAX_NDIM], offset;
} hki_view_layout;

/* Begins with the layout of x, which *out holds. False after hki_call_refuse. */
typedef bool (*hki_layout_fn)(hki_call *call, const hki_shape_view *x, hki_view_layout *out);

typedef struct hki_view_op {
    hki_layout_fn layout;
} hki_view_op;

bool hki_view_infer(hki_call *call);
hk_array *hki_view_compose(const hki_call *call);
void hki_view_reference(const hki_call *call, const double *const *in, double *const *out);

/* Removes an axis, or puts one of so many entries in front of `axis`. */
void hki_layout_remove(hki_view_layout *out, int axis);
void hki_layout_insert(hki_view_layout *out, int axis, int64_t dim, int64_t stride);

/* The operator `op`, whose layout function is layout_<op>. */
#define HKI_VIEW_OP(op, text)                                                                      \
    static const hki_view_op op##_view = {layout_##op};                                            \
    const hk_op hki_op_##op = {                                                                    \
        HKI_OP_NAMED(op),                                                                          \
        HKI_OP_PARAMS(op),                                                                         \
        HKI_OP_SAMPLES(op##_samples),                                                              \
        .signature = "x",                                                                          \
        .doc = text,                                                                               \
        .dtypes = HKI_ANY_DTYPE,                                                                   \
        .infer = hki_view_infer,                                                                   \
        .compose = hki_view_compose,                                                               \
        .reference = hki_view_reference,                                                           \
        .data = &op##_view,                                                                        \
    }

#endif
