/* Perfect shuffles of two vectors of so many elements: the lower halves, or the upper ones, element by element in turns. */
#ifndef HOCKET_OP_KERNELS_VECTOR_ZIP_H
#define HOCKET_OP_KERNELS_VECTOR_ZIP_H

#define HKI_ZIP_LOW(count, a, b)  HKI_ZIP_CHOOSE(LOW, count, a, b)
#define HKI_ZIP_HIGH(count, a, b) HKI_ZIP_CHOOSE(HIGH, count, a, b)
#define HKI_ZIP_CHOOSE(half, count, a, b)                                                          \
    HKI_ZIP_##half##_##count(a, b) /* count: a literal by now */

#define HKI_ZIP_LOW_2(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define HKI_ZIP_HIGH_2(a, b) __builtin_shufflevector(a, b, 1, 3)
#define HKI_ZIP_LOW_4(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HKI_ZIP_HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define HKI_ZIP_LOW_8(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HKI_ZIP_HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define HKI_ZIP_LOW_16(a, b)                                                                       \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HKI_ZIP_HIGH_16(a, b)                                                                      \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

#endif
