/* Products of strided matrices, in tiles: what matmul and linear share. */
#ifndef HOCKET_OP_MATRIX_H
#define HOCKET_OP_MATRIX_H

#include "op/op.h"

/* Borrowed elements; strides in elements, 0 and more. */
typedef struct hki_matrix {
    const void *data;
    int64_t rows, columns, row_stride, column_stride;
} hki_matrix;

/* The block of rows [row, row + rows) and columns [column, column + columns). */
hki_matrix hki_matrix_block(hki_matrix x, hk_dtype dtype, int64_t row, int64_t rows, int64_t column,
                            int64_t columns);

/* What products of the dtype are summed in, and give: float32 for halves, else the dtype itself. */
static inline hk_dtype hki_matrix_result_dtype(hk_dtype dtype)
{
    return hki_dtype_is_half(dtype) ? HK_F32 : dtype;
}

/* What is added to each row of a product, elements `stride` apart; data NULL: nothing. */
typedef struct hki_matrix_bias {
    const void *data;
    int64_t stride;
} hki_matrix_bias;

/* What else a product does. by_samples: the columns of a and the rows of b are samples, and are
 * added up by base/sum_tree.h. With a bias, or where it adds to c: floats, not by_samples. */
typedef struct hki_matrix_how {
    hki_matrix_bias bias;
    bool by_samples, adds;
    double factor; /* of a b; 0: 1 */
    /* NULL, or a matrix, packed by hki_product_pack, of which b is the columns from packed_first on. */
    const void *packed;
    int64_t packed_columns, packed_first;
} hki_matrix_how;

/* c = a b + bias, where c has c_stride elements from row to row. Of floats each element of c has
 * the same bytes whatever the size of c is, unless c is a single row or column. Reads a and b in
 * place where their rows or columns lie without gaps, else copies. dtype, of a and b: float32,
 * float64, int32, int64 (which wraps around), or a half, which is copied as float32; c and bias
 * are of hki_matrix_result_dtype. False after the task of the call has been failed for want of
 * memory. */
bool hki_matrix_product(const hki_kernel_call *call, int64_t piece, hk_dtype dtype, hki_matrix a,
                        hki_matrix b, hki_matrix_how how, void *c, int64_t c_stride);

/* How an m x n result of sums over k is cut: tiles of rows x columns, numbered along the rows first. A
 * tile's bytes do not depend on which piece it is in. */
typedef struct hki_matrix_tiles {
    int64_t rows, columns, row_count, column_count;
} hki_matrix_tiles;

hki_matrix_tiles hki_matrix_tiles_of(int64_t m, int64_t n, int64_t k, hk_dtype dtype);
/* So little work that a call is one piece, though it has tiles. */
bool hki_matrix_is_brief(int64_t m, int64_t n, int64_t k, hk_dtype dtype);
/* Rough cost of one such product on one core. */
double hki_matrix_work_ns(int64_t m, int64_t n, int64_t k, hk_dtype dtype);

/* The range that a tile covers. */
typedef struct hki_matrix_tile {
    int64_t row, rows, column, columns;
} hki_matrix_tile;

static inline hki_matrix_tile hki_matrix_tile_at(const hki_matrix_tiles *tiles, int64_t m,
                                                 int64_t n, int64_t index)
{
    hki_matrix_tile tile = {.row = index / tiles->column_count * tiles->rows,
                            .column = index % tiles->column_count * tiles->columns};
    tile.rows = m - tile.row < tiles->rows ? m - tile.row : tiles->rows;
    tile.columns = n - tile.column < tiles->columns ? n - tile.column : tiles->columns;
    return tile;
}

/* Of tiles [*index, end) the first ones that are a block together: rows of tiles, or a part of one. Sets *index behind them. */
hki_matrix_tile hki_matrix_tiles_join(const hki_matrix_tiles *tiles, int64_t m, int64_t n,
                                      int64_t *index, int64_t end);

/* hk_op.infer of matmul; where one of both is complex their dtypes are promoted. */
bool hki_matmul_infer(hki_call *call);

/* The product a b as the gradient of an input of this shape, which may have been broadcast, and dtype: for a half, of both
 * rounded to it (matmul.c). In the current scope. place: see hki_grad_call.places. */
hk_array *hki_product_gradient(hk_array *a, hk_array *b, const hk_dims *shape, hk_dtype dtype,
                               hk_array *place);

#endif
