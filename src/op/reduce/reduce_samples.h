/* Sums over all axes that go, samples among them: axis 0 goes, and is added up by base/sum_tree.h. Of float32 or float64;
 * sums of a run gather in double, and each + of the tree rounds to the dtype. */
#ifndef HOCKET_OP_REDUCE_SAMPLES_H
#define HOCKET_OP_REDUCE_SAMPLES_H

#include "base/sum_tree.h"
#include "op/reduce/reduce_kernel.h"

typedef struct hki_reduce_samples {
    hk_dtype dtype;
    int64_t samples, run_step;     /* bytes from run to run */
    hki_reduce_geometry run, rest; /* of a whole run, and of the last one where that is shorter */
    int64_t row_stride;            /* elements from sample to sample */
    bool is_rows;                  /* samples are rows of kept elements that lie side by side */
    bool is_dense; /* elements of a run lie side by side, of each element that stays */
} hki_reduce_samples;

/* Arguments as of hki_reduce_geometry_init; bit 0 of gone_mask is set. */
void hki_reduce_samples_init(hki_reduce_samples *self, hk_dtype dtype, int ndim,
                             const int64_t *dims, const int64_t *strides, unsigned gone_mask);

/* words[k - kept_begin].f becomes the sum for kept element k over samples [begin, end), a part of the tree; at most
 * HKI_REDUCE_TILE kept elements. */
void hki_reduce_samples_words(const hki_reduce_samples *self, const void *x, int64_t kept_begin,
                              int64_t kept_end, int64_t begin, int64_t end, hki_reduce_word *words);

/* The sum of x[i] y[i] of vectors whose elements lie side by side, over samples [begin, end) of so many, a part of the tree: what
 * hki_reduce_samples_words gives of an array of products, each rounded to the dtype. */
double hki_reduce_samples_products(hk_dtype dtype, const void *x, const void *y, int64_t samples,
                                   int64_t begin, int64_t end);

/* Makes the first of the pieces' words, step bytes apart, the sum of all: words of pieces of the cut. */
void hki_reduce_samples_join(const hki_sum_cut *cut, hk_dtype dtype, int64_t count, void *words,
                             size_t step);

#endif
