/* Products of matrices on one core, of float32 or float64: c = op(a) op(b), row-major. op(a) is m x k, stored as m rows of k
   items, lda from one to the next, or, with trans_a, as k rows of m; b likewise, k x n. c overlaps neither.

   Each item of c is a sum over k, of which the bytes depend on what is multiplied, k and the instruction set (kernel_isa.h)
   alone: not on m and n, nor on its place. So a row of a product is the product of that row, and however samples are shared
   out, each has the same results. With `by_samples`, k counts samples, and the sum goes by base/sum_tree.h: a run is
   multiplied and added up in the order of k, runs are added in pairs. Else the sum goes on in the order of k.

   b may also be the windows of an image, which then lie nowhere as a matrix: hki_product_windows.

   Every function is reentrant and allocates nothing. */
#ifndef HOCKET_OP_KERNELS_PRODUCT_KERNEL_H
#define HOCKET_OP_KERNELS_PRODUCT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Item (l, j) of b is x[terms[l] + (first + j) / width * row + (first + j) % width]. Of the `elements` at x nothing is read
   but items and their next neighbours. Terms ascend, or a vector that begins at an item is within x, whichever it is. */
typedef struct hki_product_windows {
    const void *x;
    int64_t elements;
    const int32_t *terms;
    int64_t first, width, row; /* first < width <= row */
} hki_product_windows;

typedef struct hki_product {
    bool f64, trans_a, trans_b, by_samples;
    bool adds;       /* c += op(a) op(b), each sum going on from what is there; not by_samples */
    double factor;   /* of op(a) op(b), by which b is multiplied as it is copied; 0: 1 */
    int64_t m, n, k; /* m and n: 1 and more; k: 0 and more */
    const void *
        starts; /* of m: each sum of a row goes on from its start; not by_samples, nor adds, nor k = 0. NULL: from 0 */
    const void *bias; /* of n: added to each sum at its end; not by_samples. NULL: none */
    const hki_product_windows *windows; /* NULL, or in b's place: trans_b is false */
    /* NULL, or b as hki_product_pack has made it, in its place: of packed_columns columns, of which this b has those from
       packed_first on, a multiple of HKI_PRODUCT_PANEL; factor is 1 */
    const void *packed;
    int64_t packed_columns, packed_first;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
} hki_product;

/* Copies b once for many products with the same k; not by_samples, nor of windows. Of m and a nothing is looked at. */
enum { HKI_PRODUCT_PANEL = 32 /* columns; those of panels divide it */ };
size_t hki_product_packed_bytes(const hki_product *product);
void hki_product_pack(const hki_product *product, void *packed);

/* Workspace: 64-byte aligned. */
size_t hki_product_scratch_bytes(const hki_product *product);
/* Enough for every product with these m, n and k or less, whatever is transposed and however far rows lie apart; not by_samples,
   nor of windows. */
size_t hki_product_scratch_most(const hki_product *product);
void hki_product_run(const hki_product *product, void *scratch);

#endif
