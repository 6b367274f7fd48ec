/* Updates of parameters and averages, element by element, of float32 or float64. C and CUDA C++. */
#ifndef HOCKET_OP_CUDA_UPDATE_KERNELS_H
#define HOCKET_OP_CUDA_UPDATE_KERNELS_H

#include "device/cuda/cuda_stream.h"
#include "op/cuda/cuda_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operand 0 becomes x - (step * grad + decay * x) of operands 1 and 2. */
void hki_cuda_launch_sgd_update(hki_cuda_stream *stream, const hki_cuda_path *path, bool f64,
                                double step, double decay);
/* Operand 0 becomes keep * average + add * sample of operands 1 and 2. */
void hki_cuda_launch_moving_average(hki_cuda_stream *stream, const hki_cuda_path *path, bool f64,
                                    double keep, double add);

#ifdef __cplusplus
}
#endif

#endif
