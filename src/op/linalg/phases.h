/* Gradients of complex vectors, the columns of matrices v, that are turned so that their largest elements are real and positive. */
#ifndef HOCKET_OP_PHASES_H
#define HOCKET_OP_PHASES_H

#include "op/op.h"

/* The imaginary parts of the sums of conj(dy) v, one for each column, in one row: by how much a loss, of which dy is the gradient, falls
 * where v is turned by a small angle. dy NULL: NULL. */
hk_array *hki_angles_of(hk_array *dy, hk_array *v);

/* dy, NULL: zeros, as a gradient of vectors that are turned in any way. What of a change turns their largest elements e, Im(e) / e, is
 * taken back from v, and from what else `angles` counts. */
hk_array *hki_unturned(hk_array *dy, hk_array *angles, hk_array *v);

/* i x of a real x. */
hk_array *hki_imaginary(hk_array *x);

#endif
