/* Within the plug-in: rows of elementwise.def of float32 one after another in one kernel, in C and CUDA C++: what one makes for
 * the next does not go through memory. The kernel is given the rows as a program, which every thread interprets on elements of
 * its own: there is no code to be made, and each row is the expression that its own kernel has. */
#ifndef HOCKET_OP_CUDA_FUSED_H
#define HOCKET_OP_CUDA_FUSED_H

#include "op/elementwise/cuda_elementwise.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HKI_CUDA_FUSED_STEPS = 8, HKI_CUDA_FUSED_OPERANDS = 3 };

/* An operand: the result of an earlier step, or an array of so many elements, or of one. */
typedef struct hki_cuda_fused_operand {
    const float *data; /* NULL: that of `step` */
    int32_t step;      /* -1: there is no such operand */
    int32_t is_one;
} hki_cuda_fused_operand;

typedef struct hki_cuda_fused_step {
    hki_cuda_fused_operand operands[HKI_CUDA_FUSED_OPERANDS];
    float *out;           /* NULL: nobody else wants it */
    hki_cuda_guard guard; /* where it says so `out` stays as it is */
    float s, t;
    int32_t row, unused; /* hki_cuda_row */
} hki_cuda_fused_step;

/* Arrays that are written are no other ones' parts, but may be the same. */
typedef struct hki_cuda_fused {
    hki_cuda_fused_step steps[HKI_CUDA_FUSED_STEPS];
    int64_t size; /* elements */
    int32_t step_count;
    int32_t is_wide; /* all arrays begin where packs do, and are multiples of them */
} hki_cuda_fused;

bool hki_cuda_is_fusable(hki_cuda_row row);
void hki_cuda_launch_fused(hki_cuda_stream *stream, const hki_cuda_fused *program);

#ifdef __cplusplus
}
#endif

#endif
