/* scatter_add along axis 0 of float32 or float64, where each index is of a whole row. */
#ifndef HOCKET_OP_SCATTER_ROWS_H
#define HOCKET_OP_SCATTER_ROWS_H

#include "op/op.h"

/* Partials that it needs; 0: the call is another one. */
size_t hki_scatter_rows_bytes(const hki_call *call);
bool hki_scatter_is_of_rows(const hki_kernel_call *call);
/* The kernel, with these partials, of one piece. */
void hki_scatter_rows(const hki_kernel_call *call, int64_t piece);

#endif
