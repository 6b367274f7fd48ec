#include "op/linalg/spectrum.h"

#include <string.h>

bool hki_spectrum_begin(hki_spectrum *self, const hki_kernel_call *call, int64_t piece,
                        bool is_symmetric, hki_svd_job job)
{
    const hki_linalg *of = hki_linalg_of(call->in[0].dtype);
    self->stack = hki_stack_of(call->in[0].ndim, call->in[0].dims);
    self->least = (int)hki_stack_least(&self->stack);
    self->job = job;
    if (self->least == 0)
        return false;
    const int m = (int)self->stack.rows, n = (int)self->stack.columns;
    const bool vectors = job != HKI_SVD_VALUES;
    self->need = is_symmetric ? of->eigen_need(n, vectors) : of->svd_need(m, n, job);
    const size_t least = (size_t)self->least, left = job == HKI_SVD_FULL ? (size_t)m : least,
                 right = job == HKI_SVD_FULL ? (size_t)n : least;
    const size_t bytes[HKI_SPECTRUM_PARTS] = {
        [HKI_SPECTRUM_A] = (size_t)m * (size_t)n * of->item,
        [HKI_SPECTRUM_VALUES] = least * of->real,
        [HKI_SPECTRUM_WORK] = self->need.work,
        [HKI_SPECTRUM_INTEGERS] = self->need.integers,
        [HKI_SPECTRUM_U] = vectors ? left * (size_t)m * of->item : 0,
        [HKI_SPECTRUM_VT] = vectors && !is_symmetric ? right * (size_t)n * of->item : 0};
    return hki_linalg_begin(&self->work, call, piece, bytes, HKI_SPECTRUM_PARTS);
}

static bool found(const hki_spectrum *self, int64_t matrix, bool is_found)
{
    if (!is_found)
        hki_linalg_fail(&self->work, matrix, "has values that were not found: no convergence");
    return is_found;
}

static bool take_matrix(const hki_spectrum *self, int64_t matrix)
{
    const int64_t items = self->stack.rows * self->stack.columns;
    void *a = self->work.part[HKI_SPECTRUM_A];
    memcpy(a, hki_matrix_at(&self->work.call->in[0], matrix, items),
           (size_t)items * self->work.of->item);
    return hki_linalg_is_finite(&self->work, matrix, a, items);
}

bool hki_spectrum_find_singular(const hki_spectrum *self, int64_t matrix)
{
    void *const *part = self->work.part;
    return take_matrix(self, matrix) &&
           found(self, matrix,
                 self->work.of->svd((int)self->stack.rows, (int)self->stack.columns, self->job,
                                    part[HKI_SPECTRUM_A], part[HKI_SPECTRUM_VALUES],
                                    part[HKI_SPECTRUM_U], part[HKI_SPECTRUM_VT],
                                    part[HKI_SPECTRUM_WORK], part[HKI_SPECTRUM_INTEGERS],
                                    self->need));
}

bool hki_spectrum_find_eigen(const hki_spectrum *self, int64_t matrix)
{
    void *const *part = self->work.part;
    const int64_t n = self->stack.rows;
    self->work.of->symmetrise((int)n, hki_matrix_at(&self->work.call->in[0], matrix, n * n),
                              part[HKI_SPECTRUM_A]);
    return hki_linalg_is_finite(&self->work, matrix, part[HKI_SPECTRUM_A], n * n) &&
           found(self, matrix,
                 self->work.of->eigen((int)n, self->job != HKI_SVD_VALUES, part[HKI_SPECTRUM_A],
                                      part[HKI_SPECTRUM_VALUES], part[HKI_SPECTRUM_WORK],
                                      part[HKI_SPECTRUM_INTEGERS], self->need));
}
