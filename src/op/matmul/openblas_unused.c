/* Kernels of OpenBLAS that stay out of libhocket.so: its tables name them, though only routines of BLAS use them that
 * neither Hocket nor LAPACK calls. Where such a name is defined here, the linker leaves the archive's member alone, as with
 * openblas_memory.c. A program that links libhocket.a may call all of BLAS, so that archive is without this file; tests
 * of libhocket.a are linked with it, so that all of them show that nothing is missed. */
#ifdef __x86_64__
#include <stdio.h>
#include <stdlib.h>

void hki_blas_unused(void);
void hki_blas_unused(void)
{
    fputs("hocket: OpenBLAS calls a kernel that openblas_unused.c leaves out\n", stderr);
    abort();
}

/* The instruction sets whose tables are linked. */
#define CORE(name, core) extern void name##_##core(void) __attribute__((alias("hki_blas_unused")))
#define UNUSED(name)                                                                               \
    CORE(name, PRESCOTT);                                                                          \
    CORE(name, HASWELL);                                                                           \
    CORE(name, SKYLAKEX)
#define EACH_DTYPE(name)                                                                           \
    UNUSED(s##name);                                                                               \
    UNUSED(d##name);                                                                               \
    UNUSED(c##name);                                                                               \
    UNUSED(z##name)

/* Products of complex matrices by three real ones. */
#define PARTS(name)                                                                                \
    UNUSED(name##b);                                                                               \
    UNUSED(name##i);                                                                               \
    UNUSED(name##r)
#define GENERAL_3M(name)                                                                           \
    UNUSED(name##_kernel);                                                                         \
    PARTS(name##_incopy);                                                                          \
    PARTS(name##_itcopy);                                                                          \
    PARTS(name##_oncopy);                                                                          \
    PARTS(name##_otcopy)
#define TRIANGLES_3M(name)                                                                         \
    PARTS(name##_ilcopy);                                                                          \
    PARTS(name##_iucopy);                                                                          \
    PARTS(name##_olcopy);                                                                          \
    PARTS(name##_oucopy)
GENERAL_3M(cgemm3m);
GENERAL_3M(zgemm3m);
TRIANGLES_3M(chemm3m);
TRIANGLES_3M(zhemm3m);
TRIANGLES_3M(csymm3m);
TRIANGLES_3M(zsymm3m);

/* Products with a symmetric or Hermitian matrix, and of a complex symmetric one with a vector. */
#define TRIANGLES(name)                                                                            \
    UNUSED(name##_iltcopy);                                                                        \
    UNUSED(name##_iutcopy);                                                                        \
    UNUSED(name##_oltcopy);                                                                        \
    UNUSED(name##_outcopy)
TRIANGLES(ssymm);
TRIANGLES(dsymm);
TRIANGLES(csymm);
TRIANGLES(zsymm);
TRIANGLES(chemm);
TRIANGLES(zhemm);
UNUSED(csymv_L);
UNUSED(csymv_U);
UNUSED(zsymv_L);
UNUSED(zsymv_U);

/* OpenBLAS's own: transposed copies, sums of matrices and of elements, extremes. */
#define MATRIX_COPIES(name)                                                                        \
    UNUSED(name##_cn);                                                                             \
    UNUSED(name##_ct);                                                                             \
    UNUSED(name##_rn);                                                                             \
    UNUSED(name##_rt)
#define CONJUGATED_COPIES(name)                                                                    \
    UNUSED(name##_cnc);                                                                            \
    UNUSED(name##_ctc);                                                                            \
    UNUSED(name##_rnc);                                                                            \
    UNUSED(name##_rtc)
MATRIX_COPIES(somatcopy_k);
MATRIX_COPIES(domatcopy_k);
MATRIX_COPIES(comatcopy_k);
MATRIX_COPIES(zomatcopy_k);
MATRIX_COPIES(simatcopy_k);
MATRIX_COPIES(dimatcopy_k);
MATRIX_COPIES(cimatcopy_k);
MATRIX_COPIES(zimatcopy_k);
CONJUGATED_COPIES(comatcopy_k);
CONJUGATED_COPIES(zomatcopy_k);
CONJUGATED_COPIES(cimatcopy_k);
CONJUGATED_COPIES(zimatcopy_k);
EACH_DTYPE(geadd_k);
EACH_DTYPE(sum_k);
UNUSED(smax_k);
UNUSED(smin_k);
UNUSED(dmax_k);
UNUSED(dmin_k);
UNUSED(ismax_k);
UNUSED(ismin_k);
UNUSED(idmax_k);
UNUSED(idmin_k);
#else
typedef int hki_blas_unused; /* C has no empty files */
#endif
