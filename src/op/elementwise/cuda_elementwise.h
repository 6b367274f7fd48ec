/* Within the plug-in: kernels that go element by element, in C and CUDA C++: the rows of
 * elementwise.def. */
#ifndef HOCKET_OP_CUDA_ELEMENTWISE_H
#define HOCKET_OP_CUDA_ELEMENTWISE_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_walk.h"
#include "op/elementwise/elementwise_gradients.h"
#include "op/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows of elementwise.def and the kernels of their gradients */
#define ELEMENT(context, kept, name, ns, expression) HKI_CUDA_ROW_##name,
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    HKI_CUDA_ROW_##name, HKI_EACH_GRADIENT(ELEMENT, , name, gradient)
#define CHECKED ROW
typedef enum hki_cuda_row {
#include "op/elementwise/elementwise.def"
    HKI_CUDA_ROW_COUNT
} hki_cuda_row;
#undef ELEMENT
#undef ROW
#undef CHECKED

/* HKI_CUDA_ROW_COUNT: it is no row. */
hki_cuda_row hki_cuda_row_of(hki_op_id id);

/* Launches a row, with its numbers s and t: operand 0 is the output. The path's width is 1 or HKI_CUDA_PACK_BYTES by the bytes of T, the dtype of the
 * values (not of a condition). fault: of a row that may refuse an element, else NULL. */
typedef void (*hki_cuda_row_fn)(hki_cuda_stream *stream, const hki_cuda_path *path, double s,
                                double t, hki_cuda_fault *fault);

/* NULL where a row does not have the dtype. Those of bool are among those of uint8, but for results that are bools
 * because the inputs are. */
extern const hki_cuda_row_fn hki_cuda_rows_f32[HKI_CUDA_ROW_COUNT],
    hki_cuda_rows_f64[HKI_CUDA_ROW_COUNT], hki_cuda_rows_i32[HKI_CUDA_ROW_COUNT],
    hki_cuda_rows_i64[HKI_CUDA_ROW_COUNT], hki_cuda_rows_u8[HKI_CUDA_ROW_COUNT],
    hki_cuda_rows_bool[HKI_CUDA_ROW_COUNT];

#ifdef __cplusplus
}
#endif

#endif
