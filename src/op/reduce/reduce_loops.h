/* The loops of reductions, for each instruction set. They give the same bytes on each. */
#ifndef HOCKET_OP_REDUCE_LOOPS_H
#define HOCKET_OP_REDUCE_LOOPS_H

#include "base/half.h"
#include "base/integer.h"
#include "base/integer_dtypes.h"
#include "base/kernel_isa.h"
#include "base/sum_tree.h"
#include "op/reduce/reduce_kernel.h"
#include "op/simd/vector_zip.h"

#include <math.h>
#include <string.h>

/* Reduces `count` elements, in lanes that are joined in a fixed order, of which compilers make
 * vectors. */
typedef hki_reduce_word (*hki_reduce_run_fn)(const void *x, int64_t count, int64_t stride);
/* words[j] joins the elements of column j of `rows` rows, whose elements lie side by side. */
typedef void (*hki_reduce_rows_fn)(const void *x, int64_t rows, int64_t row_stride, int64_t columns,
                                   hki_reduce_word *words);
typedef void (*hki_reduce_join_fn)(hki_reduce_word *words, const hki_reduce_word *more,
                                   int64_t count);

typedef struct hki_reduce_loops {
    hki_reduce_run_fn run;
    hki_reduce_rows_fn rows;
    hki_reduce_join_fn join;
    hki_reduce_word none;
} hki_reduce_loops;

/* Of float32 and float64, where elements lie side by side: see reduce_kernel.h. */
typedef struct hki_reduce_dense {
    double (*sum[2])(const void *x, int64_t count, int64_t step, int64_t runs);
    double (*product_runs[2])(const void *x, const void *y, int64_t count, int64_t runs);
    /* Of at most HKI_REDUCE_BLOCK; NULL: no loop of the dtype. */
    hki_reduce_word (*products[HK_DTYPE_COUNT])(const void *x, const void *y, int64_t count);
    hki_reduce_word (*squares_about[2])(const void *x, double about, int64_t count);
    void (*rows_about[2])(const void *x, int64_t rows, int64_t row_stride, int64_t columns,
                          const double *about, hki_reduce_word *words);
    void (*rows[2])(const void *x, int64_t rows, int64_t row_stride, int64_t columns,
                    hki_reduce_word *words);
    /* Of float32, as hki_reduce_loops.rows, of up to HKI_REDUCE_WIDE columns: one row is read after the other. NULL: none. */
    hki_reduce_rows_fn far_rows[HKI_REDUCE_MIN + 1];
    void (*divide)(hki_reduce_word *words, int64_t count, double divisor);
    void (*add[2])(int64_t count, hki_reduce_word *restrict to,
                   const hki_reduce_word *restrict from);
    /* Elements of so many bytes of up to HKI_REDUCE_SHORT rows of up to HKI_REDUCE_TILE columns, to rows HKI_REDUCE_TILE
     * apart whose elements lie side by side. */
    void (*pack[sizeof(uint64_t) + 1])(const void *x, int64_t rows, int64_t row_stride,
                                       int64_t columns, int64_t stride, void *to);
} hki_reduce_dense;

extern const hki_reduce_dense hki_reduce_dense_portable, hki_reduce_dense_avx2;

/* By hki_reduce_kind. Empty where the compiler does not know the instruction set. */
extern const hki_reduce_loops hki_reduce_portable[HKI_REDUCE_MIN + 1][HK_DTYPE_COUNT],
    hki_reduce_avx2[HKI_REDUCE_MIN + 1][HK_DTYPE_COUNT];

#endif
