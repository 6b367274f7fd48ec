/* What compositions on tiles of matrices have in common. Results belong to the scope. */
#ifndef HOCKET_OP_TILES_H
#define HOCKET_OP_TILES_H

#include "op/op.h"

/* Rows [row, row_end) and columns [column, column_end) of a matrix: a view. */
hk_array *hki_tile(hk_array *x, int64_t row, int64_t row_end, int64_t column, int64_t column_end);
/* That matrix of a stack, a view; that vector. */
hk_array *hki_matrix_in_stack(hk_array *x, int64_t matrix);
hk_array *hki_vector_in_stack(hk_array *x, int64_t vector);
/* A new array, all of which calls are to write; for that output of the composition. `operation`:
 * in records and traces. */
hk_array *hki_array_made(hki_device *device, hk_dims shape, hk_dtype dtype, const char *operation);
static inline hk_array *hki_made_in_parts(const hki_call *call, int output)
{
    return hki_array_made(call->device, call->out_shape[output], call->out_dtype[output],
                          call->operation);
}
/* Zeros in all of the view x; `operation` is its name in records and traces. */
void hki_clear(hk_array *x, const char *operation);

#endif
