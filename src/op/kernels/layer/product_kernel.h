/* Products of matrices on one core, of float32 or float64: c = op(a) op(b), row-major. op(a) is m x k, stored as m rows of k
   items, lda from one to the next, or, with trans_a, as k rows of m; b likewise, k x n. c overlaps neither.

   Each item of c is a sum over k, of which the bytes depend on what is multiplied, k and the instruction set (kernel_isa.h)
   alone: not on m and n, nor on its place. So a row of a product is the product of that row, and however samples are shared
   out, each has the same results. With `by_samples`, k counts samples, and the sum goes by base/sum_tree.h: a run is
   multiplied and added up in the order of k, runs are added in pairs. Else the sum goes on in the order of k.

   Every function is reentrant and allocates nothing. */
#ifndef HOCKET_OP_KERNELS_PRODUCT_KERNEL_H
#define HOCKET_OP_KERNELS_PRODUCT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hki_product {
    bool f64, trans_a, trans_b, by_samples;
    int64_t m, n, k; /* m and n: 1 and more; k: 0 and more */
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
} hki_product;

/* Workspace: 64-byte aligned. */
size_t hki_product_scratch_bytes(const hki_product *product);
void hki_product_run(const hki_product *product, void *scratch);

#endif
