#include "op/reduce/cuda_sum.h"

#include "op/cuda/cuda_calls.h"

void hki_cuda_sum(hki_cuda_stream *stream, hk_dtype dtype, const void *const *inputs,
                  int input_count, void *const *outputs, int output_count, size_t size)
{
    hki_cuda_buffers buffers = {.input_count = input_count, .output_count = output_count};
    if (input_count > HKI_CUDA_MAX_BUFFERS || output_count > HKI_CUDA_MAX_BUFFERS) {
        hki_cuda_note(stream, "sum", "of more than 64 buffers, which no kernel takes");
        return;
    }
    for (int i = 0; i < input_count; i++)
        buffers.inputs[i] = inputs[i];
    for (int i = 0; i < output_count; i++)
        buffers.outputs[i] = outputs[i];
    if (size > 0)
        hki_cuda_launch_sum(stream, &buffers, dtype, (int64_t)size);
}
