/* Updates of parameters and averages: one pass over what is updated, usually in place. */
#include "op/cuda/cuda_calls.h"
#include "op/op.h"
#include "op/elementwise/cuda_elementwise.h"
#include "op/softmax_norm/moving_average.h"
#include "op/update/cuda_update_kernels.h"
#include "op/update/sgd_update.h"
#include "op/update/update.h"

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
    const hki_tensor out = call->out[0];
    const hki_tensor x = call->in[0];
    const hki_tensor other = call->in[1];
    const int bytes = hki_cuda_item_bytes(out.dtype);
    hki_cuda_walk walk;
    self->f64 = out.dtype == HK_F64;
    hki_cuda_walk_over(&walk, (const hki_tensor *const[]){&out, &x, &other}, 3);
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

/* ---- the rows of update.def */

typedef void (*state_update_fn)(hki_cuda_stream *stream, const hki_cuda_update *call, bool f64);

static state_update_fn state_update_of(hki_op_id id)
{
    switch (id) {
#define UPDATE(name, slots, setup, body, formula, doc)                                             \
    case HKI_OP_ID_##name:                                                                         \
        return hki_cuda_launch_##name;
#include "op/update/update.def"
#undef UPDATE
    default:
        return NULL;
    }
}

void hki_cuda_state_update(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_update_options *o = call->options;
    const hki_cuda_update all = {
        .options = {o->batch, o->weight_decay, o->beta1, o->beta2, o->epsilon, o->nesterov},
        .coefficients = call->in[3].data,
        .x = call->in[0].data,
        .grad = call->in[1].data,
        .state = call->in[2].data,
        .new_x = call->out[0].data,
        .new_state = call->out[1].data,
        .size = call->in[0].size,
    };
    if (all.size > 0)
        state_update_of(call->op->id)(stream, &all, call->in[0].dtype == HK_F64);
}
