/* Reductions of strided arrays over any set of axes, on one core, for the operators of reduce.c.
 *
 * A word of eight bytes gathers the values of one output element: a double for float types (so that ten
 * million float32 ones add up to ten million; up to four float32 are added in pairs first, which errs by two roundings at most,
 * and in double where that overflows), an int64_t for integers, which wrap around (of uint64 its bits, and the
 * extrema in u). float64 sums
 * gather blocks of at most HKI_REDUCE_BLOCK terms, then the blocks.
 *
 * Results are a pure function of geometry and ranges. Threads: pure functions. */
#ifndef HOCKET_OP_REDUCE_KERNEL_H
#define HOCKET_OP_REDUCE_KERNEL_H

#include "op/op.h"

enum {
    HKI_REDUCE_BLOCK = 4096, /* of fewer, joining blocks takes an eighth of the time */
    HKI_REDUCE_PART = 1024,  /* pieces of what goes have so many elements at least */
    HKI_REDUCE_TILE = 256,
    HKI_REDUCE_WIDE = 1024,
    HKI_REDUCE_RUNS = 256,
    HKI_REDUCE_SHORT = 24
};

typedef union hki_reduce_word {
    double f;
    int64_t i;
    uint64_t u;
} hki_reduce_word;

/* The axes of an input, apart: those that stay and those that go, each in order of falling stride, so
 * that memory is walked forwards. */
typedef struct hki_reduce_axes {
    int ndim;
    int64_t count; /* elements; 1 when ndim is 0 */
    int64_t dims[HK_MAX_NDIM];
    int64_t in_strides[HK_MAX_NDIM];
    int64_t out_strides[HK_MAX_NDIM]; /* kept axes: of the output */
} hki_reduce_axes;

typedef struct hki_reduce_geometry {
    hki_reduce_axes kept, gone;
    bool rows; /* the innermost axis in memory is kept: rows are added to rows */
    bool
        planes; /* what is kept lies between two axes that go, as channels do between images and their rows */
    bool parts; /* pieces are ranges of what goes; their words are joined in the order of pieces */
} hki_reduce_geometry;

/* Bit i of gone_mask: axis i goes. out_strides[i] is the output's stride for axis i, if that is kept. */
void hki_reduce_geometry_init(hki_reduce_geometry *geometry, int ndim, const int64_t *dims,
                              const int64_t *strides, unsigned gone_mask,
                              const int64_t *out_strides);

/* Offset of element `index`, counted in the order of the axes. */
int64_t hki_reduce_offset(const hki_reduce_axes *axes, const int64_t *strides, int64_t index);

typedef enum hki_reduce_kind {
    HKI_REDUCE_SUM,
    /* A sum in double from the first element on: of float32 and float64, and of int64 and uint64,
     * whose own sums may wrap around. */
    HKI_REDUCE_TOTAL,
    HKI_REDUCE_PROD,
    HKI_REDUCE_SQUARES, /* their sum; of floats */
    HKI_REDUCE_COUNT,   /* of elements that are not 0: an integer, of floats too */
    HKI_REDUCE_MAX,
    HKI_REDUCE_MIN
} hki_reduce_kind;

/* How many kept elements from `kept_begin` on to reduce at a time: HKI_REDUCE_TILE, or up to HKI_REDUCE_WIDE where rows of float32
 * come from memory. */
int64_t hki_reduce_tile(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                        int64_t kept_begin);

/* words[k - kept_begin] becomes the reduction of elements gone_begin … gone_end-1 of kept element k; of
 * none: 0, 1 (prod), or the lowest (max) or highest (min) value. A NaN among the elements is the maximum and the
 * minimum. At most hki_reduce_tile kept elements at a time keep it in cache. */
void hki_reduce_words(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                      const void *x, int64_t kept_begin, int64_t kept_end, int64_t gone_begin,
                      int64_t gone_end, hki_reduce_word *words);

/* places[k - kept_begin] becomes which of the elements of kept element k is the first of the largest, or smallest, or the first NaN.
 * One axis goes, and has elements. */
void hki_reduce_places(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                       const void *x, int64_t kept_begin, int64_t kept_end, int64_t *places);

/* The sum of 1 to HKI_REDUCE_RUNS runs of base/sum_tree.h, of float32 or float64: a run is `count` <= HKI_REDUCE_BLOCK elements
 * that lie side by side; step elements from run to run. */
double hki_reduce_dense_sum(hk_dtype dtype, const void *x, int64_t count, int64_t step,
                            int64_t runs);
/* The same of the products x[i] y[i], each rounded to the dtype; runs follow each other. */
double hki_reduce_dense_products(hk_dtype dtype, const void *x, const void *y, int64_t count,
                                 int64_t runs);
/* Sums of the columns of so many rows of float32 or float64, of which the elements lie side by side, by base/sum_tree.h: columns
 * of 16 rows go as 16 elements that lie side by side. At most HKI_REDUCE_TILE columns. */
void hki_reduce_dense_rows(hk_dtype dtype, const void *x, int64_t rows, int64_t row_stride,
                           int64_t columns, hki_reduce_word *words);

/* Adds words of sums, rounded to float32 or float64. */
void hki_reduce_dense_add(hk_dtype dtype, int64_t count, hki_reduce_word *restrict to,
                          const hki_reduce_word *restrict from);

/* Whether hki_reduce_products takes them: floats and integers. */
bool hki_reduce_has_products(hk_dtype dtype);
/* The sum of x[i] y[i], whose elements lie side by side, each rounded to the dtype, or wrapped around in it: what hki_reduce_words
 * gives of an array of them, where they are more than HKI_REDUCE_SHORT. */
hki_reduce_word hki_reduce_products(hk_dtype dtype, const void *x, const void *y, int64_t count);

/* The sum of (x[i] - about)^2, whose elements, float32 or float64, lie side by side; each difference and each square is rounded to the
 * dtype. Otherwise as above. */
hki_reduce_word hki_reduce_squares_about(hk_dtype dtype, const void *x, double about,
                                         int64_t count);

/* words[j] joins the sum of (x - about[j])^2 of column j of rows whose elements lie side by side;
 * each difference is rounded to the dtype. At most HKI_REDUCE_TILE columns. */
void hki_reduce_rows_about(hk_dtype dtype, const void *x, int64_t rows, int64_t row_stride,
                           int64_t columns, const double *about, hki_reduce_word *words);

/* Divides words of floats. */
void hki_reduce_divide(hki_reduce_word *words, int64_t count, double divisor);

/* words[i] joined with more[i]. */
void hki_reduce_join(hki_reduce_kind kind, hk_dtype dtype, hki_reduce_word *words,
                     const hki_reduce_word *more, int64_t count);

#endif
