/* Factors by reflections: qr_factor, qr_multiply, and what qr takes from them. */
#ifndef HOCKET_OP_QR_H
#define HOCKET_OP_QR_H

#include "op/linalg/linalg.h"
#include "op/linalg/qr_kernel.h"

HKI_ROUTINES_OF(qr)

/* Factorises such a matrix: returns the packed factors, as a view, and writes tau. With q (as
 * many columns of Q, and transposed) and *r: their results. Within a composition; results belong
 * to the scope. */
hk_array *hki_qr_tiled(hk_array *x, hk_array *tau, int64_t columns, hk_array **q, hk_array **r);

#endif
