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

/* ---- the rows of update.def: hki_cuda_launch_<name> */

/* hki_update_options, for C++ too. */
typedef struct hki_cuda_update_options {
    double batch, weight_decay, beta1, beta2, epsilon;
    bool nesterov;
} hki_cuda_update_options;

/* All are contiguous; what is new may be where the old is. */
typedef struct hki_cuda_update {
    hki_cuda_update_options options;
    const double *coefficients; /* of the device: HKI_UPDATE_LR, HKI_UPDATE_STEP */
    const void *x, *grad, *state;
    void *new_x, *new_state;
    int64_t size; /* of x */
} hki_cuda_update;

#define UPDATE(name, slots, setup, body, formula, doc)                                             \
    void hki_cuda_launch_##name(hki_cuda_stream *stream, const hki_cuda_update *call, bool f64);
#include "op/update/update.def"
#undef UPDATE

#ifdef __cplusplus
}
#endif

#endif
