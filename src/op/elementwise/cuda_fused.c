/* Calls of rows of elementwise.def, put into one kernel. */
#include "op/elementwise/cuda_fused.h"

#include "device/cuda/cuda_device.h"
#include "op/cuda/cuda_calls.h"
#include "op/cuda/run_call.h"
#include "op/elementwise/elementwise.h"

static bool is_operand(const hki_tensor *x, int64_t size)
{
    return x->dtype == HK_F32 && x->is_contiguous && (x->size == size || x->size == 1);
}

bool hki_cuda_can_fuse(const hki_kernel_call *call)
{
    const hki_tensor *out = &call->out[0];
    const hki_cuda_row row = hki_cuda_row_of(call->op->id);
    bool can = row != HKI_CUDA_ROW_COUNT && hki_cuda_is_fusable(row) && call->output_count == 1 &&
               call->input_count <= HKI_CUDA_FUSED_OPERANDS && out->size > 0 &&
               is_operand(out, out->size);
    for (int i = 0; can && i < call->input_count; i++)
        can = call->in[i].ndim >= 0 && is_operand(&call->in[i], out->size);
    return can;
}

/* The last step before `count` that has written there; -1: none. */
static int step_of(const hki_kernel_call *const *calls, int count, const void *data)
{
    for (int i = count - 1; i >= 0; i--)
        if (calls[i]->out[0].data == data)
            return i;
    return -1;
}

static bool is_aligned(const void *data)
{
    return (uintptr_t)data % HKI_CUDA_PACK_BYTES == 0;
}

static hki_cuda_fused_step step_for(const hki_kernel_call *const *calls, int index, bool is_kept,
                                    hki_cuda_guard guard, int32_t *is_wide)
{
    const hki_kernel_call *call = calls[index];
    const hki_numbers with = hki_element_numbers(call->op, call->options);
    hki_cuda_fused_step step = {.row = (int32_t)hki_cuda_row_of(call->op->id),
                                .out = is_kept ? call->out[0].data : NULL,
                                .guard = guard,
                                .s = (float)with.s,
                                .t = (float)with.t};
    *is_wide = *is_wide && (!is_kept || is_aligned(call->out[0].data));
    for (int i = 0; i < HKI_CUDA_FUSED_OPERANDS; i++) {
        hki_cuda_fused_operand *operand = &step.operands[i];
        operand->step = -1;
        if (i >= call->input_count)
            continue;
        const hki_tensor *x = &call->in[i];
        operand->step = step_of(calls, index, x->data);
        if (operand->step >= 0)
            continue;
        operand->data = x->data;
        operand->is_one = x->size == 1;
        *is_wide = *is_wide && (operand->is_one || is_aligned(x->data));
    }
    return step;
}

void hki_cuda_run_fused(hki_device *device, const hki_kernel_call *const *calls,
                        const bool *are_kept, const uint64_t *spares, int count)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    hki_cuda_fused program = {.size = calls[0]->out[0].size, .step_count = count};
    if (!stream)
        return;
    program.is_wide = program.size % (HKI_CUDA_PACK_BYTES / (int)sizeof(float)) == 0;
    for (int i = 0; i < count; i++)
        program.steps[i] = step_for(calls, i, are_kept[i],
                                    hki_cuda_recorder_guard(stream, spares[i]), &program.is_wide);
    hki_cuda_launch_fused(stream, &program);
}
