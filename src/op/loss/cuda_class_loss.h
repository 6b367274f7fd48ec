/* Within the plug-in: losses of class labels, in C and CUDA C++. Arrays are contiguous; exponentials are those of the
 * processor's kernels, sums are in double, in an order that follows from the shapes. */
#ifndef HOCKET_OP_CUDA_CLASS_LOSS_H
#define HOCKET_OP_CUDA_CLASS_LOSS_H

#include "device/cuda/cuda_stream.h"

#include <hocket/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/* See CLASS_LOSS_ARGUMENTS. */
typedef struct hki_cuda_class_loss {
    int64_t rows, classes; /* at least 1 */
    hk_dtype label_dtype;  /* int32, int64 or uint8 */
    bool are_logs, ignores;
    double smoothing;
    int64_t ignored;
} hki_cuda_class_loss;

/* x: rows x classes, of float32 or float64 as all but the labels; weight: of classes, or NULL. Labels that are no class are
 * reported: the index is that of the row. The loss of each row, and the weight of its label. */
void hki_cuda_launch_class_loss(hki_cuda_stream *stream, bool f64, const hki_cuda_class_loss *call,
                                const void *x, const void *labels, const void *weight, void *terms,
                                void *weights, hki_cuda_fault *fault);
/* The gradient by x, for that of the losses, dy. */
void hki_cuda_launch_class_loss_backward(hki_cuda_stream *stream, bool f64,
                                         const hki_cuda_class_loss *call, const void *x,
                                         const void *labels, const void *weight, const void *dy,
                                         void *dx, hki_cuda_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
