#include "op/linalg/views.h"

#include "op/call/scratch.h"

hki_blas_matrix hki_stack_matrix(const hki_tensor *x, int axes, const hki_tensor *out, int out_axes,
                                 int64_t matrix)
{
    int64_t offset = 0;
    for (int i = 1; i <= out->ndim - out_axes; i++) {
        const int64_t size = out->dims[out->ndim - out_axes - i];
        const int axis = x->ndim - axes - i;
        if (axis >= 0 && x->dims[axis] != 1)
            offset += matrix % size * x->strides[axis];
        matrix /= size;
    }
    hki_blas_matrix it = {.data = (char *)x->data + offset * (int64_t)hk_dtype_bytes(x->dtype),
                          .rows = x->dims[x->ndim - axes],
                          .columns = axes == 2 ? x->dims[x->ndim - 1] : 1,
                          .row_step = x->strides[x->ndim - axes],
                          .column_step = axes == 2 ? x->strides[x->ndim - 1] : 1};
    /* a single line lies as suits */
    if (it.columns <= 1)
        it.column_step = 1;
    else if (it.rows <= 1)
        it.row_step = it.column_step == 1 ? it.columns : 1;
    return it;
}

static bool lies_so(const hki_blas_matrix *x, hki_lying lying)
{
    return hki_blas_takes(x) &&
           (lying == HKI_LYING_ANY || hki_blas_is_by_rows(x) == (lying == HKI_LYING_BY_ROWS));
}

bool hki_borrow_matrix(hki_borrowed *it, const hki_kernel_call *call, int64_t piece,
                       hki_blas_matrix x, hki_lying lying, bool reads)
{
    *it = (hki_borrowed){.at = x, .own = x, .of = hki_blas_of(call->in[0].dtype)};
    if (x.rows == 0 || x.columns == 0 || lies_so(&x, lying))
        return true;
    it->bytes = (size_t)x.rows * (size_t)x.columns * it->of->item;
    it->copy = hki_scratch_allocate(call, piece, it->bytes);
    if (!it->copy)
        return false;
    it->at = lying == HKI_LYING_BY_COLUMNS
                 ? (hki_blas_matrix){it->copy, x.rows, x.columns, 1, x.rows, false}
                 : (hki_blas_matrix){it->copy, x.rows, x.columns, x.columns, 1, false};
    if (reads)
        it->of->copy(x, it->at);
    return true;
}

void hki_return_matrix(hki_borrowed *it, const hki_kernel_call *call, bool writes)
{
    if (!it->copy)
        return;
    if (writes)
        it->of->copy(it->at, it->own);
    hki_scratch_release(call, it->copy, it->bytes);
}
