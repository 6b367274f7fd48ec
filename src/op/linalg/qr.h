/* Factors by reflections: qr_factor, qr_multiply, and what qr takes from them. */
#ifndef HOCKET_OP_QR_H
#define HOCKET_OP_QR_H

#include "op/linalg/linalg.h"
#include "op/linalg/qr_kernel.h"

static inline const hki_qr *hki_qr_of(hk_dtype dtype)
{
    return dtype == HK_F32   ? &hki_qr_f32
           : dtype == HK_F64 ? &hki_qr_f64
           : dtype == HK_C64 ? &hki_qr_c64
                             : &hki_qr_c128;
}

/* Whether matrices of this shape are factorised in panels. */
bool hki_qr_is_tiled(const hk_dims *shape);
/* Factorises such a matrix: returns the packed factors, as a view, and writes tau. With q (as many columns of Q, and transposed) and
 * *r: their results. Within a composition; results belong to the scope. */
hk_array *hki_qr_tiled(hk_array *x, hk_array *tau, int64_t columns, hk_array **q, hk_array **r);

#endif
