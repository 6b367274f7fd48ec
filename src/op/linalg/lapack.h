/* The routines of LAPACK that libopenblas.a holds and linalg_kernel.c and eigen_kernel.c call: https://netlib.org/lapack/explore-html. Matrices
 * are column-major. Compilers of Fortran pass the lengths of texts behind all arguments.
 *
 * Debian's build keeps no variables between calls, so they are re-entrant. What packs takes its memory from
 * gemm/openblas_memory.h. */
#ifndef HOCKET_OP_KERNELS_LAPACK_H
#define HOCKET_OP_KERNELS_LAPACK_H

#include <stddef.h>

#define HKI_LAPACK_ROUTINES(p, T)                                                                  \
    void p##potrf_(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);       \
    void p##getrf_(const int *m, const int *n, T *a, const int *lda, int *pivots, int *info);      \
    void p##getrs_(const char *trans, const int *n, const int *columns, const T *a,                \
                   const int *lda, const int *pivots, T *b, const int *ldb, int *info, size_t);    \
    void p##getri_(const int *n, T *a, const int *lda, const int *pivots, T *work,                 \
                   const int *lwork, int *info);                                                   \
    void p##geqrf_(const int *m, const int *n, T *a, const int *lda, T *tau, T *work,              \
                   const int *lwork, int *info);                                                   \
    void p##gelqf_(const int *m, const int *n, T *a, const int *lda, T *tau, T *work,              \
                   const int *lwork, int *info);
#define HKI_LAPACK_REAL_ROUTINES(p, T)                                                             \
    HKI_LAPACK_ROUTINES(p, T)                                                                      \
    void p##syevd_(const char *jobz, const char *uplo, const int *n, T *a, const int *lda,         \
                   T *values, T *work, const int *lwork, int *iwork, const int *liwork, int *info, \
                   size_t, size_t);                                                                \
    void p##gesdd_(const char *jobz, const int *m, const int *n, T *a, const int *lda, T *s, T *u, \
                   const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, int *iwork,  \
                   int *info, size_t);                                                             \
    void p##orglq_(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau,   \
                   T *work, const int *lwork, int *info);                                          \
    void p##ormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,  \
                   const T *a, const int *lda, const T *tau, T *c, const int *ldc, T *work,        \
                   const int *lwork, int *info, size_t, size_t);
/* Of complex numbers T with parts R. */
#define HKI_LAPACK_COMPLEX_ROUTINES(p, T, R)                                                       \
    HKI_LAPACK_ROUTINES(p, T)                                                                      \
    void p##heevd_(const char *jobz, const char *uplo, const int *n, T *a, const int *lda,         \
                   R *values, T *work, const int *lwork, R *rwork, const int *lrwork, int *iwork,  \
                   const int *liwork, int *info, size_t, size_t);                                  \
    void p##gesdd_(const char *jobz, const int *m, const int *n, T *a, const int *lda, R *s, T *u, \
                   const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, R *rwork,    \
                   int *iwork, int *info, size_t);                                                 \
    void p##unglq_(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau,   \
                   T *work, const int *lwork, int *info);                                          \
    void p##unmqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,  \
                   const T *a, const int *lda, const T *tau, T *c, const int *ldc, T *work,        \
                   const int *lwork, int *info, size_t, size_t);                                   \
    void p##gemm_(const char *trans_a, const char *trans_b, const int *m, const int *n,            \
                  const int *k, const T *alpha, const T *a, const int *lda, const T *b,            \
                  const int *ldb, const T *beta, T *c, const int *ldc, size_t, size_t);

HKI_LAPACK_REAL_ROUTINES(s, float)
HKI_LAPACK_REAL_ROUTINES(d, double)
HKI_LAPACK_COMPLEX_ROUTINES(c, float _Complex, float)
HKI_LAPACK_COMPLEX_ROUTINES(z, double _Complex, double)

/* Complex numbers are pairs of doubles. */
void dgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda,
            double *real, double *imag, double *vl, const int *ldvl, double *vr, const int *ldvr,
            double *work, const int *lwork, int *info, size_t, size_t);
void zgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda,
            double *values, double *vl, const int *ldvl, double *vr, const int *ldvr, double *work,
            const int *lwork, double *rwork, int *info, size_t, size_t);

#endif
