#include "op/matmul/matrix.h"

#include "base/half.h"
#include "base/integer.h"

#include "op/call/scratch.h"
#include "op/libraries.h"
#include "op/matmul/gemm_kernel.h"
#include "op/matmul/product_kernel.h"

/* A product packs its operands anew for every tile, so tiles are large: few for a product of a
 * millisecond, and no narrower than TILE_MIN. Of TILE_NS, give or take half. Less, of HALVED_NS
 * together, is cut in two where a side is long: both tiles pack the other operand, which takes
 * little time then. Those of still less are one piece of a call, which hki_matrix_tiles_join
 * makes one product of, but have tiles for the threads of a team (graph/team.h). */
enum {
    TILE_NS = 500000,
    TILE_MIN = 32,
    TILE_ALIGN = HKI_PRODUCT_PANEL,
    TILES_MAX = 32,
    HALVED_NS = 200000,
    FINE_NS = 5000,
    HALVED_SIDE = 256
};

double hki_matrix_work_ns(int64_t m, int64_t n, int64_t k, hk_dtype dtype)
{
    double per_ns = dtype == HK_F32 ? 50 : dtype == HK_F64 ? 25 : 1;
    return 50 + (double)m * (double)n * (double)(k + 4) / per_ns;
}

/* The size of a tile's side when `size` is cut into about `parts`. */
static int64_t side_of(int64_t size, int64_t parts)
{
    int64_t side = hki_round_up(hki_divide_up(size, parts), TILE_ALIGN);
    return side < size ? side : size;
}

bool hki_matrix_is_brief(int64_t m, int64_t n, int64_t k, hk_dtype dtype)
{
    return hki_matrix_work_ns(m, n, k, dtype) <= HALVED_NS;
}

hki_matrix_tiles hki_matrix_tiles_of(int64_t m, int64_t n, int64_t k, hk_dtype dtype)
{
    hki_matrix_tiles tiles = {.rows = m, .columns = n, .row_count = 1, .column_count = 1};
    double wanted = hki_matrix_work_ns(m, n, k, dtype) / TILE_NS;
    int64_t row_parts = 1, column_parts = 1;
    const bool is_brief = m > 1 && n > 1 && (dtype == HK_F32 || dtype == HK_F64) &&
                          hki_matrix_is_brief(m, n, k, dtype);
    if (is_brief)
        wanted *= (double)TILE_NS / FINE_NS;
    if (wanted * TILE_NS > HALVED_NS && (m > n ? m : n) >= HALVED_SIDE && wanted < 2)
        wanted = 2;
    while (1.5 * (double)(row_parts * column_parts) < wanted &&
           row_parts * column_parts < TILES_MAX) {
        bool rows = tiles.rows >= tiles.columns;
        if ((rows ? tiles.rows : tiles.columns) < 2 * TILE_MIN)
            break;
        *(rows ? &row_parts : &column_parts) *= 2;
        tiles.rows = side_of(m, row_parts);
        tiles.columns = side_of(n, column_parts);
    }
    /* a row or column by itself would have other bytes */
    if (is_brief &&
        ((m > tiles.rows && m % tiles.rows == 1) || (n > tiles.columns && n % tiles.columns == 1)))
        return (hki_matrix_tiles){.rows = m, .columns = n, .row_count = 1, .column_count = 1};
    if (tiles.rows > 0)
        tiles.row_count = hki_divide_up(m, tiles.rows);
    if (tiles.columns > 0)
        tiles.column_count = hki_divide_up(n, tiles.columns);
    return tiles;
}

hki_matrix_tile hki_matrix_tiles_join(const hki_matrix_tiles *tiles, int64_t m, int64_t n,
                                      int64_t *index, int64_t end)
{
    hki_matrix_tile joined = hki_matrix_tile_at(tiles, m, n, *index);
    const int64_t left = end - *index, in_row = tiles->column_count - *index % tiles->column_count;
    if (joined.column == 0 && left >= in_row) {
        const int64_t rows = left / in_row;
        joined.rows = hki_min(m - joined.row, rows * tiles->rows);
        joined.columns = n;
        *index += rows * in_row;
    } else {
        const int64_t count = hki_min(left, in_row);
        joined.columns = hki_min(n - joined.column, count * tiles->columns);
        *index += count;
    }
    return joined;
}

hki_matrix hki_matrix_block(hki_matrix x, hk_dtype dtype, int64_t row, int64_t rows, int64_t column,
                            int64_t columns)
{
    int64_t offset = row * x.row_stride + column * x.column_stride;
    x.data = (const char *)x.data + offset * (int64_t)hk_dtype_bytes(dtype);
    x.rows = rows;
    x.columns = columns;
    return x;
}

/* Whether gemm takes x as it lies: plain, or transposed. */
static bool lies_well(const hki_matrix *x, bool *transposed, int64_t *leading)
{
    bool one_row = x->rows <= 1, one_column = x->columns <= 1;
    if ((x->column_stride == 1 || one_column) && (x->row_stride >= x->columns || one_row)) {
        *transposed = false;
        *leading = one_row ? x->columns : x->row_stride;
        return *leading > 0;
    }
    if ((x->row_stride == 1 || one_row) && (x->column_stride >= x->rows || one_column)) {
        *transposed = true;
        *leading = one_column ? x->rows : x->column_stride;
        return *leading > 0;
    }
    return false;
}

#define PACK(name, From, To, convert)                                                              \
    static void pack_##name(hki_matrix x, void *packed)                                            \
    {                                                                                              \
        for (int64_t i = 0; i < x.rows; i++) {                                                     \
            const From *from = (const From *)x.data + i * x.row_stride;                            \
            To *to = (To *)packed + i * x.columns;                                                 \
            if (x.column_stride == 1)                                                              \
                for (int64_t j = 0; j < x.columns; j++)                                            \
                    to[j] = convert(from[j]);                                                      \
            else                                                                                   \
                for (int64_t j = 0; j < x.columns; j++)                                            \
                    to[j] = convert(from[j * x.column_stride]);                                    \
        }                                                                                          \
    }

PACK(4, uint32_t, uint32_t, )
PACK(8, uint64_t, uint64_t, )
PACK(f16, uint16_t, float, hki_f16_to_float)
PACK(bf16, uint16_t, float, hki_bf16_to_float)

/* A copy of x, rows after rows, of the products' dtype; NULL when there is no memory. */
static void *pack(const hki_kernel_call *call, int64_t piece, hk_dtype dtype, hki_matrix x,
                  size_t bytes)
{
    void *packed = hki_scratch_allocate(call, piece, bytes);
    if (!packed)
        return NULL;
    if (dtype == HK_F16)
        pack_f16(x, packed);
    else if (dtype == HK_BF16)
        pack_bf16(x, packed);
    else
        (hk_dtype_bytes(dtype) == 4 ? pack_4 : pack_8)(x, packed);
    return packed;
}

/* A vector on either side, of which nothing is copied: BLAS. */
static bool is_for_blas(const hki_product *product)
{
    return (product->m == 1 || product->n == 1) && !product->by_samples && !product->packed;
}

/* False: no memory of any kind; the task has failed. */
static bool multiply(const hki_kernel_call *call, int64_t piece, hk_dtype dtype,
                     const hki_product *p)
{
    bool done = true;
    if (dtype == HK_I32)
        return hki_gemm_i32(p->trans_a, p->trans_b, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb,
                            0, p->c, p->ldc);
    if (dtype == HK_I64)
        return hki_gemm_i64(p->trans_a, p->trans_b, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb,
                            0, p->c, p->ldc);
    if (is_for_blas(p)) {
        const double alpha = p->factor == 0 ? 1 : p->factor;
        done = p->f64 ? hki_gemm_f64(p->trans_a, p->trans_b, p->m, p->n, p->k, alpha, p->a, p->lda,
                                     p->b, p->ldb, p->adds, p->c, p->ldc)
                      : hki_gemm_f32(p->trans_a, p->trans_b, p->m, p->n, p->k, (float)alpha, p->a,
                                     p->lda, p->b, p->ldb, p->adds, p->c, p->ldc);
        if (!done)
            hki_task_fail(call->task, piece, HK_OUT_OF_MEMORY,
                          "no addresses left for this thread's workspace of matrix products");
        return done;
    }
    const size_t bytes = hki_product_scratch_bytes(p);
    void *scratch = hki_scratch_allocate(call, piece, bytes);
    if (!scratch)
        return false;
    hki_product_run(p, scratch);
    hki_scratch_release(call, scratch, bytes);
    return true;
}

#define ADD_BIAS(name, T)                                                                          \
    static void add_bias_##name(hki_matrix_bias bias, T *c, int64_t rows, int64_t columns,         \
                                int64_t c_stride)                                                  \
    {                                                                                              \
        const T *added = bias.data;                                                                \
        for (int64_t i = 0; i < rows; i++)                                                         \
            for (int64_t j = 0; j < columns; j++)                                                  \
                c[i * c_stride + j] += added[j * bias.stride];                                     \
    }
ADD_BIAS(f32, float)
ADD_BIAS(f64, double)

bool hki_matrix_product(const hki_kernel_call *call, int64_t piece, hk_dtype dtype, hki_matrix a,
                        hki_matrix b, hki_matrix_how how, void *c, int64_t c_stride)
{
    const hki_matrix_bias bias = how.bias;
    const hk_dtype result = hki_matrix_result_dtype(dtype);
    const bool converts = result != dtype;
    const size_t item = hk_dtype_bytes(result);
    const size_t a_bytes = (size_t)a.rows * (size_t)a.columns * item;
    const size_t b_bytes = (size_t)b.rows * (size_t)b.columns * item;
    void *packed_a = NULL, *packed_b = NULL;
    bool trans_a = false, trans_b = false, ok = false;
    int64_t lda = a.columns, ldb = b.columns;

    if (a.rows == 0 || b.columns == 0)
        return true;
    const char *problem = hki_libraries_problem();
    if (problem) {
        hki_task_fail(call->task, piece, HK_UNSUPPORTED, "%s", problem);
        return false;
    }
    if (a_bytes && (converts || !lies_well(&a, &trans_a, &lda))) {
        packed_a = pack(call, piece, dtype, a, a_bytes);
        if (!packed_a)
            goto release;
        trans_a = false;
        lda = a.columns;
    }
    if (b_bytes && (converts || !lies_well(&b, &trans_b, &ldb)) && !how.packed) {
        packed_b = pack(call, piece, dtype, b, b_bytes);
        if (!packed_b)
            goto release;
        trans_b = false;
        ldb = b.columns;
    }
    hki_product product = {.f64 = result == HK_F64,
                           .trans_a = trans_a,
                           .trans_b = trans_b,
                           .by_samples = how.by_samples,
                           .adds = how.adds,
                           .factor = how.factor,
                           .packed = how.packed,
                           .packed_columns = how.packed_columns,
                           .packed_first = how.packed_first,
                           .m = a.rows,
                           .n = b.columns,
                           .k = a.columns,
                           .a = packed_a ? packed_a : a.data,
                           .b = packed_b ? packed_b : b.data,
                           .c = c,
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = c_stride};
    const bool adds_later = bias.data && (bias.stride != 1 || is_for_blas(&product));
    if (!adds_later)
        product.bias = bias.data;
    ok = multiply(call, piece, result, &product);
    if (ok && adds_later && product.f64)
        add_bias_f64(bias, c, product.m, product.n, c_stride);
    else if (ok && adds_later)
        add_bias_f32(bias, c, product.m, product.n, c_stride);
release:
    if (packed_b)
        hki_scratch_release(call, packed_b, b_bytes);
    if (packed_a)
        hki_scratch_release(call, packed_a, a_bytes);
    return ok;
}
