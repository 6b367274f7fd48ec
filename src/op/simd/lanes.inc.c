/* Vectors of one type and instruction set, for what includes it. The includer defines LANES_T (element), LANES_N (elements
   of a vector), LANES_TARGET (function attributes) and LANES_FN(name); lanes_end.inc.c takes back what this defines. */

#include "op/simd/vector_zip.h"

typedef LANES_T LANES_FN(vec) __attribute__((vector_size(sizeof(LANES_T) * LANES_N)));
typedef __typeof__(_Generic((LANES_T)0, float
                            : (int32_t)0, double
                            : (int64_t)0)) LANES_FN(vec_bits)
    __attribute__((vector_size(sizeof(LANES_T) * LANES_N)));
typedef LANES_T LANES_FN(vec_unaligned)
    __attribute__((vector_size(sizeof(LANES_T) * LANES_N), aligned(sizeof(LANES_T)), may_alias));
#define V  LANES_FN(vec)
#define M  LANES_FN(vec_bits)
#define VU LANES_FN(vec_unaligned)
#define T  LANES_T
#define L  LANES_N

#if LANES_N == 16
#define EACH_LANE(F, h)                                                                            \
    F(0, h), F(1, h), F(2, h), F(3, h), F(4, h), F(5, h), F(6, h), F(7, h), F(8, h), F(9, h),      \
        F(10, h), F(11, h), F(12, h), F(13, h), F(14, h), F(15, h)
#elif LANES_N == 8
#define EACH_LANE(F, h) F(0, h), F(1, h), F(2, h), F(3, h), F(4, h), F(5, h), F(6, h), F(7, h)
#elif LANES_N == 4
#define EACH_LANE(F, h) F(0, h), F(1, h), F(2, h), F(3, h)
#elif LANES_N == 2
#define EACH_LANE(F, h) F(0, h), F(1, h)
#endif

#define LANES_INLINE static inline __attribute__((always_inline)) LANES_TARGET
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Transposes L vectors of L elements: log2 L rounds of a perfect shuffle. */
LANES_INLINE void LANES_FN(transpose)(V v[L])
{
    UNROLL for (int round = 1; round < L; round *= 2)
    {
        V u[L];
        UNROLL for (int i = 0; i < L / 2; i++)
        {
            u[2 * i] = HKI_ZIP_LOW(LANES_N, v[i], v[i + L / 2]);
            u[2 * i + 1] = HKI_ZIP_HIGH(LANES_N, v[i], v[i + L / 2]);
        }
        UNROLL for (int i = 0; i < L; i++) v[i] = u[i];
    }
}

/* count < L elements, without a call. */
LANES_INLINE void LANES_FN(copy_short)(T *to, const T *from, int64_t count)
{
    if (count >= L / 2) {
        memcpy(to + count - L / 2, from + count - L / 2, L / 2 * sizeof(T));
        memcpy(to, from, L / 2 * sizeof(T));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = from[i];
}

/* count <= L rows of so many elements, `row` apart, to lanes, `step` elements from one element to the next; lanes from count
   on become zeros. */
LANES_TARGET static void LANES_FN(rows_to_lanes)(const T *rows, int64_t row, int64_t count,
                                                 int64_t elements, int64_t step, T *lanes)
{
    for (int64_t p = 0; p < elements; p += L) {
        /* the last step overlaps the one before it */
        int64_t at = p + L <= elements || elements < L ? p : elements - L;
        V v[L];
        if (count == L && elements >= L) {
            UNROLL for (int s = 0; s < L; s++) v[s] = *(const VU *)(rows + s * row + at);
            LANES_FN(transpose)(v);
            UNROLL for (int i = 0; i < L; i++) * (V *)(lanes + (at + i) * step) = v[i];
            continue;
        }
        for (int64_t s = 0; s < L; s++) {
            v[s] = (V){0};
            if (s < count && elements < L)
                LANES_FN(copy_short)((T *)&v[s], rows + s * row, elements);
            else if (s < count)
                v[s] = *(const VU *)(rows + s * row + at);
        }
        LANES_FN(transpose)(v);
        for (int64_t i = 0; i < L && at + i < elements; i++)
            *(V *)(lanes + (at + i) * step) = v[i];
    }
}
