/* Tiny calls, of a few elements, without a task: see engine/direct.c. */
#include "op/call/call.h"

/* A kernel that may fail needs a task to say so. */
static bool may_fail(const hki_call *call)
{
    if (call->op->infallible)
        return false;
    if (call->input_count == 0)
        return true;
    hk_dtype dtype = call->inputs[call->input_count - 1]->dtype;
    return dtype != HK_F32 && dtype != HK_F64;
}

bool hki_call_may_be_direct(const hki_call *call)
{
    const hk_op *op = call->op;
    return op->elementwise && op->split == HKI_SPLIT_ELEMENTS && !op->any_device && !op->pinned &&
           call->device->class->kind == HKI_CPU && !may_fail(call);
}

static bool is_small(const hki_call *call, uint64_t bytes)
{
    return bytes > 0 && bytes <= HKI_DIRECT_ELEMENTS * hki_dtype_bytes(call->out_dtype[0]) &&
           hki_call_may_be_direct(call);
}

void hki_kernel_run_here(hki_kernel_call *call)
{
    call->piece_count = call->grain = 1;
    call->method = 0;
    call->partial_bytes = 0;
    call->partials = NULL;
    call->packed = NULL;
    call->first_piece = call->first_index = 0;
    call->task = NULL;
    for (int i = 0; i < call->input_count; i++)
        hki_tensor_resolve(&call->in[i]);
    hki_tensor_resolve(&call->out[0]);
    call->op->kernel[HKI_CPU](call, 0, 0, call->extent);
}

static void run_kernel(const hki_call *call, const hk_array *output)
{
    hki_tensor in[HKI_MAX_INPUTS], out;
    hki_kernel_call kernel_call;
    kernel_call.in = in;
    kernel_call.out = &out;
    kernel_call.op = call->op;
    kernel_call.options = call->options;
    kernel_call.input_count = call->input_count;
    kernel_call.output_count = 1;
    kernel_call.extent = output->size;
    for (int i = 0; i < call->input_count; i++)
        hki_tensor_init(&kernel_call.in[i], call->arrays[i]);
    hki_tensor_init(&kernel_call.out[0], output);
    hki_kernel_run_here(&kernel_call);
}

bool hki_call_run_direct(const hki_call *call, uint64_t bytes, hk_array *output)
{
    hki_var *reads[HKI_MAX_INPUTS];
    hki_runtime *runtime = call->device->runtime;
    if (!is_small(call, bytes) || !hki_storage_materialise(output->storage))
        return false;
    for (int i = 0; i < call->input_count; i++) {
        if (!call->inputs[i])
            return false;
        reads[i] = &call->arrays[i]->storage->var;
    }
    if (!hki_direct_begin(runtime, reads, call->input_count, NULL))
        return false;
    if (!call->op->run_dense || !call->op->run_dense(call, output))
        run_kernel(call, output);
    hki_direct_end(runtime);
    return true;
}
