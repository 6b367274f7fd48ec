/* Cumulative sums, and the places of a mask, which they number. */
#include "op/cuda/cuda_scan.h"

#include "op/cuda/cuda_calls.h"
#include "op/operators/line.h"
#include "op/operators/selection.h"

#include <stdio.h>

void hki_cuda_call_cumulative_sum(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *x = &call->in[0];
    if (x->size == 0)
        return;
    const hki_lines lines = hki_lines_of(x->ndim, x->dims, *(const int64_t *)call->options);
    const hki_cuda_scan scan = {lines.size, lines.inner, lines.count,
                                call->op->id == HKI_OP_ID_reverse_cumulative_sum};
    void *workspace = hki_cuda_workspace(stream, hki_cuda_scan_workspace_bytes(&scan));
    if (workspace)
        hki_cuda_launch_scan(stream, &scan, x->dtype, x->data, call->out[0].data, workspace);
}

static void describe(const hki_cuda_fault *fault, int64_t count, char *text, size_t bytes)
{
    snprintf(text, bytes, HKI_MASK_CHANGED, hki_cuda_fault_value(fault), count);
}

void hki_cuda_call_mask_places(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *mask = &call->in[0], *places = &call->out[0];
    if (mask->size == 0)
        return;
    const hki_cuda_scan scan = {mask->size, 1, 1, false};
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe, places->size);
    int64_t *numbers = hki_cuda_workspace(stream, (size_t)mask->size * sizeof *numbers +
                                                      hki_cuda_scan_workspace_bytes(&scan));
    if (!fault || !numbers)
        return;
    hki_cuda_launch_scan(stream, &scan, HK_U8, mask->data, numbers, numbers + mask->size);
    hki_cuda_launch_places_of_mask(stream, mask->data, numbers, mask->size, places->size,
                                   places->size ? places->data : NULL, fault);
}
