/* Factors with partial pivoting: lu_factor, lu_solve, and what solve and inv take from them. */
#ifndef HOCKET_OP_LU_H
#define HOCKET_OP_LU_H

#include "op/linalg/linalg.h"
#include "op/linalg/lu_kernel.h"

HKI_ROUTINES_OF(lu)

#define LU_SOLVE_OPTIONS(F, op)                                                                    \
    F(op, BOOL, transposed, "false", "the transpose of x in its place")                            \
    F(op, BOOL, conjugated, "false", "of complex x: its conjugate")
HKI_OPTIONS_STRUCT(lu_solve, LU_SOLVE_OPTIONS)

/* Factorises such a matrix in panels: returns the packed factors, as a view, and writes the
 * pivots. Within a composition; results belong to the scope. */
hk_array *hki_lu_tiled(hk_array *x, hk_array *pivots);
/* Compositions of solve and inv for such matrices. */
hk_array *hki_solve_tiled(const hki_call *call);
hk_array *hki_inv_tiled(const hki_call *call);

#endif
