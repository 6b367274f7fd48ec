#include "op/matmul/gemm_kernel.h"

#include "base/integer.h"
#include "base/kernel_isa.h"
#include "op/matmul/openblas_memory.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* OpenBLAS packs up to BLOCK_ROWS rows of op(A), a few hundred items of each, at a time: this
 * bounds what a thread's buffer touches. BLOCK_LONG only keeps sizes within an int. */
enum {
    BLOCK_ROWS = 8192,
    BLOCK_LONG = 1 << 30,
};

/* Whether a BLAS takes rows x columns items at this leading dimension. That of a single row, which
 * does not matter, becomes one that it takes. */
static bool blas_takes(int64_t rows, int64_t columns, int64_t *ld)
{
    if (rows == 1)
        *ld = hki_min(columns, INT_MAX);
    return *ld >= hki_min(columns, INT_MAX) && *ld <= INT_MAX;
}

#define ITEM    float
#define SUM     float
#define NAME(x) x##_f32
#define BLAS(x) cblas_s##x
#include "op/matmul/gemm_kernel.inc.c"
#undef ITEM
#undef SUM
#undef NAME
#undef BLAS

#define ITEM    double
#define SUM     double
#define NAME(x) x##_f64
#define BLAS(x) cblas_d##x
#include "op/matmul/gemm_kernel.inc.c"
#undef ITEM
#undef SUM
#undef NAME
#undef BLAS

#define ITEM    int32_t
#define SUM     uint32_t
#define NAME(x) x##_i32
#include "op/matmul/gemm_kernel.inc.c"
#undef ITEM
#undef SUM
#undef NAME

#define ITEM    int64_t
#define SUM     uint64_t
#define NAME(x) x##_i64
#include "op/matmul/gemm_kernel.inc.c"
#undef ITEM
#undef SUM
#undef NAME

const char *hki_gemm_library(void)
{
    return hki_blas_library();
}

/* One product of small integers, which is exact in any order of its sums, and too large for kernels
 * that do not pack: what is wrong with it, or NULL. */
#define CHECK_PRODUCT(type, name)                                                                  \
    static const char *check_##name(void)                                                          \
    {                                                                                              \
        enum { N = 160 };                                                                          \
        const char *wrong = NULL;                                                                  \
        type *a = malloc(3 * N * N * sizeof *a), *b = a + N * N, *c = b + N * N;                   \
                                                                                                   \
        if (!a)                                                                                    \
            return "no memory for a product";                                                      \
        for (int i = 0; i < N * N; i++) {                                                          \
            a[i] = (type)(i * 7 % 11 - 5);                                                         \
            b[i] = (type)(i * 5 % 13 - 6);                                                         \
        }                                                                                          \
        if (!hki_gemm_##name(false, true, N, N, N, 1, a, N, b, N, 0, c, N))                        \
            wrong = "no addresses for a packing buffer";                                           \
        for (int i = 0; i < N * N && !wrong; i += 97) {                                            \
            type sum = 0;                                                                          \
            for (int l = 0; l < N; l++)                                                            \
                sum += a[i / N * N + l] * b[i % N * N + l];                                        \
            if (c[i] != sum)                                                                       \
                wrong = "a product of " #type " is wrong";                                         \
        }                                                                                          \
        free(a);                                                                                   \
        return wrong;                                                                              \
    }

CHECK_PRODUCT(float, f32)
CHECK_PRODUCT(double, f64)

bool hki_gemm_check(char *message, size_t size)
{
    const uint64_t taken = hki_blas_memory_taken_count();
    const char *wrong = NULL;

    if (openblas_get_parallel() != OPENBLAS_SEQUENTIAL)
        wrong = "it has threads of its own; hocket wants the serial flavour";
    if (!wrong)
        wrong = check_f32();
    if (!wrong)
        wrong = check_f64();
    if (!wrong && hki_blas_memory_taken_count() < taken + 2)
        wrong = "its packing memory is not hocket's, so that products of several threads would "
                "mix; link the static library (libopenblas.a)";
    if (wrong)
        snprintf(message, size, "BLAS (%s): %s", hki_gemm_library(), wrong);
    else if (size > 0)
        message[0] = '\0';
    return !wrong;
}
