#include "op/random/cuda_random.h"

#include "op/cuda/cuda_calls.h"
#include "op/op.h"
#include "op/random/random.h"

static void set_distribution(hki_cuda_draw *draw, const hki_kernel_call *call)
{
    if (call->op->id == HKI_OP_ID_random_uniform) {
        const hki_random_uniform_options *options = call->options;
        draw->distribution = HKI_CUDA_UNIFORM;
        draw->a = options->low;
        draw->b = options->high;
    } else if (call->op->id == HKI_OP_ID_random_normal) {
        const hki_random_normal_options *options = call->options;
        draw->distribution = HKI_CUDA_NORMAL;
        draw->a = options->mean;
        draw->b = options->std;
    } else if (call->op->id == HKI_OP_ID_random_gamma) {
        const hki_random_gamma_options *options = call->options;
        draw->distribution = HKI_CUDA_GAMMA;
        draw->a = options->concentration;
        draw->b = options->scale;
    } else {
        const hki_random_int_options *options = call->options;
        draw->distribution = HKI_CUDA_INTEGER;
        draw->low = (uint64_t)options->low;
        draw->range = (uint64_t)options->last - draw->low + 1;
    }
}

void hki_cuda_call_random(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_stream_options *options = call->options;
    const hki_tensor *out = &call->out[0];
    hki_cuda_draw draw = {.place = {options->seed, options->stream, options->position},
                          .recorded = hki_cuda_recorded_place(stream)};
    set_distribution(&draw, call);
    if (out->size > 0)
        hki_cuda_launch_random(stream, &draw, out->dtype, out->data, out->size);
}
