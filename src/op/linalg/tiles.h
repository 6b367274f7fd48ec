/* What compositions on tiles of matrices have in common. Results belong to the scope. */
#ifndef HOCKET_OP_TILES_H
#define HOCKET_OP_TILES_H

#include "op/op.h"

/* Rows [row, row_end) and columns [column, column_end) of a matrix: a view. */
hk_array *hki_tile(hk_array *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end);
/* That matrix of a stack, a view. */
hk_array *hki_matrix_in_stack(hk_array *x, int64_t matrix);
/* A new array for output 0 of the composition, all of which calls are to write. */
hk_array *hki_made_in_parts(const hki_call *call);
/* Zeros in all of the view x; `operation` is its name in records and traces. */
void hki_clear(hk_array *x, const char *operation);

#endif
