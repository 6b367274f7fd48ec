/* What layer_kernel.c asks of the kernels of one instruction set and type. Internal to layer_*.

   A panel is the weights of so many outputs as two vectors have, [input][output]; the last one may have one vector, and
   zeros where there are no outputs. */
#ifndef HOCKET_OP_KERNELS_LAYER_TILES_H
#define HOCKET_OP_KERNELS_LAYER_TILES_H

#include "base/integer.h"
#include "op/kernels/layer/layer_kernel.h"

enum { HKI_LAYER_PANEL_VECTORS = 2 };

typedef struct hki_layer_call {
    const hki_layer *layer;
    const void *x;
    int64_t samples, x_row; /* elements from sample to sample */
    const void *packed, *bias;
    void *y;
} hki_layer_call;

typedef struct hki_layer_kernels {
    int64_t lanes;
    void (*pack)(const hki_layer *layer, const void *weight, bool transposed, void *packed);
    void (*run)(const hki_layer_call *call);
} hki_layer_kernels;

extern const hki_layer_kernels hki_layer_kernels_portable_f32;
extern const hki_layer_kernels hki_layer_kernels_portable_f64;
extern const hki_layer_kernels hki_layer_kernels_avx2_f32;
extern const hki_layer_kernels hki_layer_kernels_avx2_f64;
extern const hki_layer_kernels hki_layer_kernels_avx512_f32;
extern const hki_layer_kernels hki_layer_kernels_avx512_f64;

#endif
