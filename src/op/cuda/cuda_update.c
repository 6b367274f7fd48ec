/* sgd_update and moving_average: one pass over what is updated, usually in place. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_elementwise.h"
#include "op/cuda/cuda_library_kernels.h"
#include "op/cuda/cuda_update_kernels.h"
#include "op/operators/moving_average.h"
#include "op/operators/sgd_update.h"

typedef struct update {
    void (*launch)(hki_cuda_stream *stream, const hki_cuda_path *path, bool f64, double first,
                   double second);
    bool f64;
    double first, second;
} update;

static void launch(hki_cuda_stream *stream, const hki_cuda_path *path, void *argument)
{
    const update *self = argument;
    self->launch(stream, path, self->f64, self->first, self->second);
}

static void run(const hki_kernel_call *call, hki_cuda_stream *stream, update *self)
{
    const hki_cuda_tensor out = hki_cuda_tensor_of(&call->out[0]);
    const hki_cuda_tensor x = hki_cuda_tensor_of(&call->in[0]);
    const hki_cuda_tensor other = hki_cuda_tensor_of(&call->in[1]);
    const int bytes = hki_cuda_item_bytes(out.dtype);
    hki_cuda_walk walk;
    self->f64 = out.dtype == HK_F64;
    hki_cuda_walk_over(&walk, (const hki_cuda_tensor *const[]){&out, &x, &other}, 3);
    hki_cuda_each_part(stream, &walk, HKI_CUDA_PACK_BYTES / bytes,
                       (const int[]){bytes, bytes, bytes}, launch, self);
}

void hki_cuda_sgd_update(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_sgd_update_options *options = call->options;
    update self = {.launch = hki_cuda_launch_sgd_update,
                   .first = options->lr / (options->batch > 0 ? options->batch : 1),
                   .second = options->lr * options->weight_decay};
    run(call, stream, &self);
}

void hki_cuda_moving_average(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_moving_average_options *options = call->options;
    update self = {.launch = hki_cuda_launch_moving_average,
                   .first = 1 - options->weight,
                   .second = options->weight * options->factor};
    run(call, stream, &self);
}
