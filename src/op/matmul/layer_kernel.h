/* Fully connected layers on rows: samples one after another in C order, as programs have them. Where nothing but such
   layers follows one another, there is nothing to gain from samples that lie in lanes: outputs fill the lanes, inputs are
   read one by one where they are, and no value is ever laid out anew. Weights are packed once for all samples of a step.

   Every function is reentrant and allocates nothing. Results are a pure function of the elements and the instruction set
   (kernel_isa.h): those of a sample do not depend on which others there are. */
#ifndef HOCKET_OP_KERNELS_LAYER_KERNEL_H
#define HOCKET_OP_KERNELS_LAYER_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hki_layer {
    int64_t inputs, outputs; /* 1 and more each */
    bool relu;               /* y = a < 0 ? 0 : a */
    int64_t x_row;           /* elements from a sample of x to the next; 0: inputs */
} hki_layer;

/* Bytes of packed weights, and of the workspace for so many samples; multiples of 64, and so are the addresses. */
size_t hki_layer_packed_bytes(const hki_layer *layer, bool f64);
size_t hki_layer_scratch_bytes(const hki_layer *layer, bool f64, int64_t samples);

/* Elements from sample to sample in the workspace, where a run leaves a copy of x for other layers; 0: it reads x in place. */
int64_t hki_layer_copied_row(const hki_layer *layer, bool f64);

/* weight (outputs, inputs), C order, contiguous; transposed: (inputs, outputs), for the gradient of x. */
void hki_layer_pack(const hki_layer *layer, bool f64, const void *weight, bool transposed,
                    void *packed);

/* y (samples, outputs) = relu(x (samples, inputs), as far apart as x_row says, times the weights + bias (outputs)); bias may
   be NULL. Each sum goes through the inputs in their order. y overlaps nothing. */
void hki_layer_run(const hki_layer *layer, bool f64, const void *x, int64_t samples,
                   const void *packed, const void *bias, void *y, void *scratch);

#endif
