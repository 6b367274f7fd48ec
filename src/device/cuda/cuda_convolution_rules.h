/* Within the plug-in: which algorithm a convolution is done by where nothing was measured (HOCKET_TUNE). cuDNN's own estimate
 * counts on tensor cores, which float32 does not get here: by it, a step of ResNet-18 takes twice as long. A pure
 * function. docs/measurements/gpu.md has what it was drawn from. */
#ifndef HOCKET_DEVICE_CUDA_CONVOLUTION_RULES_H
#define HOCKET_DEVICE_CUDA_CONVOLUTION_RULES_H

#include "device/cuda/cuda_convolutions.h"

/* An algorithm of the kind's enumeration; or one of these. */
enum { HKI_CUDA_BY_ESTIMATE = -1, HKI_CUDA_BY_OWN_KERNEL = -2 };

/* tf32: factors may be rounded to that. What cuDNN does not offer for the problem is done by its estimate. */
int hki_cuda_convolution_rule(const hki_cuda_convolution *problem, bool tf32);

/* A forward convolution of float32 with so few results that tiles of them do not fill a GPU: own kernels cut its sums, too. */
bool hki_cuda_convolution_is_brief(const hki_cuda_convolution *problem);

#endif
