/* What BLAS and LAPACK do in place with one matrix on one core, wherever that lies: as it is, or
 * as a block of another one. Matrices have a step of 1 along their rows or their columns:
 * hki_blas_takes. Call hki_blas_memory_reserve() first.
 *
 * Items may be complex. The bytes of a result follow from items, sizes, steps and the kernels'
 * instruction set.
 *
 * Threads: thread-safe, no locks; each call uses the calling thread only. */
#ifndef HOCKET_OP_KERNELS_BLAS_KERNEL_H
#define HOCKET_OP_KERNELS_BLAS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps in items, from row to row and from column to column. */
typedef struct hki_blas_matrix {
    void *data;
    int64_t rows, columns, row_step, column_step;
    bool conjugated; /* as an operand of a product: its conjugate is meant */
} hki_blas_matrix;

/* Whether the routines below take it as it lies. Those that only copy take every matrix. */
bool hki_blas_takes(const hki_blas_matrix *x);
/* Whether the items of a row, rather than those of a column, lie side by side; hki_blas_takes
 * it. */
bool hki_blas_is_by_rows(const hki_blas_matrix *x);
static inline hki_blas_matrix hki_blas_transposed(hki_blas_matrix x)
{
    return (hki_blas_matrix){x.data, x.columns, x.rows, x.column_step, x.row_step, x.conjugated};
}
/* As an operand of a product. */
static inline hki_blas_matrix hki_blas_adjoint(hki_blas_matrix x)
{
    x.conjugated = !x.conjugated;
    return hki_blas_transposed(x);
}

/* Which triangle of a matrix is meant, and how it is read. */
typedef struct hki_triangle {
    bool upper, unit_diagonal, transposed, conjugated;
} hki_triangle;

/* The routines of one dtype. */
typedef struct hki_blas {
    size_t item;
    /* to = x, of one shape; to = beta x, where x is not read if beta is 0. */
    void (*copy)(hki_blas_matrix x, hki_blas_matrix to);
    void (*scale)(double beta, hki_blas_matrix x, hki_blas_matrix to);
    /* to = the mean of x and above^H, or x where `above` has no data; of a lower triangle, with
     * a real diagonal, and zeros above it. `to` may be x, and x above^T. False where something
     * that was read is NaN or infinite. */
    bool (*gather_hermitian)(bool triangle, hki_blas_matrix x, hki_blas_matrix above,
                             hki_blas_matrix to);
    /* The lower triangle of a (n,n) becomes L of a = L L^H. Returns 0; or i, where the leading i
     * x i matrix is not positive definite. */
    int (*cholesky)(hki_blas_matrix a);
    /* b becomes the y of op(t) y = b; right: of y op(t) = b. */
    void (*solve_triangular)(hki_triangle how, bool right, hki_blas_matrix t, hki_blas_matrix b);
    /* c = alpha x y + beta c. */
    void (*product)(double alpha, hki_blas_matrix x, hki_blas_matrix y, double beta,
                    hki_blas_matrix c);
    /* One triangle of c (n,n) = alpha x x^T + beta c, of complex numbers x x^H, whose diagonal
     * becomes real. Complex x and c lie side by side in the same direction. */
    void (*rank_k)(bool upper, double alpha, hki_blas_matrix x, double beta, hki_blas_matrix c);
} hki_blas;

extern const hki_blas hki_blas_f32, hki_blas_f64, hki_blas_c64, hki_blas_c128;

/* So many rows and columns of x, from those on. */
static inline hki_blas_matrix hki_blas_block(const hki_blas *of, hki_blas_matrix x, int64_t row,
                                             int64_t rows, int64_t column, int64_t columns)
{
    const int64_t offset = row * x.row_step + column * x.column_step;
    x.data = (char *)x.data + offset * (int64_t)of->item;
    x.rows = rows;
    x.columns = columns;
    return x;
}

#endif
