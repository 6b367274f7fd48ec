/* What a call is to the engine: a task whose pieces run the operator's kernel. */
#include "op/call.h"

#include "base/sync.h"
#include "op/copy.h"
#include "op/plan.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

/* True for one call in eight, scattered so that a loop over a few calls measures all of them. */
static bool is_measured(uint64_t sequence)
{
    return sequence * UINT64_C(0x9E3779B97F4A7C15) >> 61 == 0;
}

typedef struct call_payload {
    hki_kernel_call call;
    hki_kernel_fn kernel;
    double work_ns;
    bool measured, staged;
    hki_call_staging staging; /* set where `staged` is, as are the next three */
    void *input_copies[HKI_MAX_INPUTS], *output_copy;
    hki_tensor real_output;
    alignas(16) char options[];
} call_payload;

static size_t piece_stride(size_t partial_bytes)
{
    return (partial_bytes + 63) & ~(size_t)63;
}

static void fail_for_memory(hki_task *task, uint64_t bytes, hk_device_memory memory)
{
    hki_device *device = hki_task_get_spec(task)->device;
    char limit[64] = "no limit";
    if (memory.limit_bytes)
        snprintf(limit, sizeof limit, "limit %" PRIu64, memory.limit_bytes);
    hki_task_fail(task, 0, HK_OUT_OF_MEMORY,
                  "%s has no room for %" PRIu64 " bytes: %" PRIu64 " in use, %s; release arrays or "
                  "raise memory_bytes (HOCKET_MEMORY)",
                  device->name, bytes, memory.used_bytes, limit);
}

static size_t tensor_bytes(const hki_tensor *tensor)
{
    size_t bytes = (size_t)hki_tensor_size(tensor) * hk_dtype_bytes(tensor->dtype);
    return bytes > 0 ? bytes : 1;
}

/* Memory of the device, where its kernels find it; NULL after failing the task. */
static void *scratch(hki_task *task, size_t bytes)
{
    hki_device *device = hki_task_get_spec(task)->device;
    char *data = hki_device_allocate(device, bytes);
    if (data)
        return data + device->kernel_offset;
    fail_for_memory(task, bytes, hki_memory_pool_get(device->memory));
    return NULL;
}

static void scratch_release(hki_task *task, void *data, size_t bytes)
{
    hki_device *device = hki_task_get_spec(task)->device;
    if (data)
        hki_device_release(device, (char *)data - device->kernel_offset, bytes);
}

/* Turns a tensor into a contiguous one at `data`. */
static void move_tensor(hki_tensor *tensor, void *data)
{
    hk_dims shape = {.ndim = tensor->ndim};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    hki_dims_strides(&shape, tensor->strides);
    tensor->data = data;
}

/* Tensors of one shape and dtype. */
static void copy_tensor(const hki_tensor *from, const hki_tensor *to)
{
    hki_kernel_call copy;
    copy.input_count = copy.output_count = 1;
    copy.in[0] = *from;
    copy.out[0] = *to;
    hki_copy_elements(&copy, 0, hki_tensor_size(to));
}

/* Copies are made by one thread: they are rare, and not worth a second task. */
static bool stage(hki_task *task, call_payload *self)
{
    hki_kernel_call *call = &self->call;
    for (int i = 0; i < call->input_count; i++) {
        if (!(self->staging.copy_inputs >> i & 1))
            continue;
        self->input_copies[i] = scratch(task, tensor_bytes(&call->in[i]));
        if (!self->input_copies[i])
            return false;
        hki_tensor from = call->in[i];
        move_tensor(&call->in[i], self->input_copies[i]);
        copy_tensor(&from, &call->in[i]);
    }
    if (self->staging.copy_output) {
        self->output_copy = scratch(task, tensor_bytes(&call->out[0]));
        if (!self->output_copy)
            return false;
        self->real_output = call->out[0];
        move_tensor(&call->out[0], self->output_copy);
    }
    return true;
}

static void unstage(hki_task *task, const call_payload *self)
{
    const hki_kernel_call *call = &self->call;
    for (int i = 0; i < call->input_count; i++) {
        if (self->input_copies[i])
            scratch_release(task, self->input_copies[i], tensor_bytes(&call->in[i]));
    }
    if (self->output_copy)
        scratch_release(task, self->output_copy, tensor_bytes(&call->out[0]));
}

static bool prepare(hki_task *task, void *payload)
{
    call_payload *self = payload;
    hki_kernel_call *call = &self->call;
    call->task = task;
    for (int i = 0; i < call->output_count; i++) {
        if (!hki_storage_materialise(call->out[i].storage)) {
            fail_for_memory(task, call->out[i].storage->bytes,
                            hki_storage_memory(call->out[i].storage));
            return false;
        }
        hki_tensor_resolve(&call->out[i]);
    }
    for (int i = 0; i < call->input_count; i++) {
        if (call->in[i].ndim >= 0)
            hki_tensor_resolve(&call->in[i]);
    }
    if (self->staged && !stage(task, self))
        return false;
    if (call->partial_bytes) {
        call->partials = scratch(task, call->partial_bytes * (size_t)call->piece_count);
        if (!call->partials)
            return false;
    }
    self->measured = is_measured(hki_task_sequence(task));
    return true;
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    (void)task;
    const call_payload *self = payload;
    const hki_kernel_call *call = &self->call;
    int64_t begin, end;
    hki_piece_range(call, piece, &begin, &end);
    if (begin >= end && !call->op->join)
        return;
    if (!self->measured || piece != 0) {
        self->kernel(call, piece, begin, end);
        return;
    }
    int64_t start_ns = hki_clock_ns();
    self->kernel(call, piece, begin, end);
    double share = call->extent ? (double)(end - begin) / (double)call->extent : 1;
    hki_plan_learn(call->op, self->work_ns * share, hki_clock_ns() - start_ns);
}

static void join(hki_task *task, void *payload)
{
    (void)task;
    const call_payload *self = payload;
    const hki_kernel_call *call = &self->call;
    if (call->op->join)
        call->op->join(call);
    if (self->staged && self->output_copy)
        copy_tensor(&call->out[0], &self->real_output);
}

static void finish(hki_task *task, void *payload)
{
    const call_payload *self = payload;
    const hki_kernel_call *call = &self->call;
    if (self->staged)
        unstage(task, self);
    if (call->partials)
        scratch_release(task, call->partials, call->partial_bytes * (size_t)call->piece_count);
    for (int i = 0; i < call->input_count; i++) {
        if (call->in[i].ndim >= 0)
            hki_storage_release_use(call->in[i].storage);
    }
    for (int i = 0; i < call->output_count; i++)
        hki_storage_release_use(call->out[i].storage);
}

static void describe(const void *payload, char *text, size_t bytes)
{
    const hki_kernel_call *call = &((const call_payload *)payload)->call;
    size_t used = 0;
    if (bytes)
        text[0] = '\0';
    for (int i = 0; i < call->input_count && used < bytes; i++) {
        const hki_tensor *tensor = &call->in[i];
        hk_dims shape = {.ndim = tensor->ndim};
        char dims[256] = "";
        if (tensor->ndim >= 0) {
            memcpy(shape.dims, tensor->dims, sizeof shape.dims);
            hki_dims_describe(&shape, dims, sizeof dims);
        }
        int written = snprintf(text + used, bytes - used, "%s%s%s", i ? ", " : "",
                               tensor->ndim < 0 ? "NULL" : hk_dtype_name(tensor->dtype), dims);
        if (written < 0)
            break;
        used += (size_t)written;
    }
}

static int operands(const void *payload, hki_trace_operand *operands, int limit)
{
    const hki_kernel_call *call = &((const call_payload *)payload)->call;
    int count = 0;
    for (int i = 0; i < call->input_count && count < limit; i++) {
        if (call->in[i].ndim >= 0)
            operands[count++] = hki_tensor_operand(&call->in[i], false);
    }
    for (int i = 0; i < call->output_count && count < limit; i++)
        operands[count++] = hki_tensor_operand(&call->out[i], true);
    return count;
}

static const hki_task_class call_class = {.leaf = true,
                                          .prepare = prepare,
                                          .run = run,
                                          .join = join,
                                          .finish = finish,
                                          .describe = describe,
                                          .operands = operands};

/* Reading one array twice is one access. */
static int add_access(hki_access *accesses, int count, const hk_array *x, unsigned mode)
{
    hki_access access = hki_array_access(x, mode);
    for (int i = 0; i < count; i++) {
        const hki_access *other = &accesses[i];
        if (other->var == access.var && other->begin == access.begin && other->end == access.end &&
            other->mode == access.mode)
            return count;
    }
    accesses[count] = access;
    return count + 1;
}

/* The fields that the kernel sees but for tensors. */
static void payload_init(call_payload *payload, const hki_call *call, const hki_plan *plan,
                         int64_t piece_count, int output_count)
{
    const hk_op *op = call->op;
    hki_kernel_call *kernel_call = &payload->call;
    payload->kernel = op->kernel[call->device->class->kernels];
    payload->work_ns = plan->work_ns;
    payload->measured = false;
    kernel_call->op = op;
    kernel_call->options = NULL;
    if (op->options_bytes) {
        memcpy(payload->options, call->options, op->options_bytes);
        kernel_call->options = payload->options;
    }
    kernel_call->input_count = call->input_count;
    kernel_call->output_count = output_count;
    kernel_call->extent = plan->extent;
    kernel_call->piece_count = piece_count;
    kernel_call->grain = plan->grain;
    kernel_call->partial_bytes = piece_stride(plan->partial_bytes);
    kernel_call->partials = NULL;
}

static void staging_init(call_payload *payload, hki_call_staging staging)
{
    payload->staged = staging.copy_inputs || staging.copy_output;
    if (!payload->staged)
        return;
    payload->staging = staging;
    payload->output_copy = NULL;
    memset(payload->input_copies, 0, sizeof payload->input_copies);
}

/* That a kernel must move: of a broadcast view, what it shows; of one with gaps, its elements. */
static double bytes_of(const hk_array *x)
{
    uint64_t begin, end, bytes = (uint64_t)hk_size(x) * hk_dtype_bytes(x->dtype);
    hki_array_range(x, &begin, &end);
    return (double)(end - begin < bytes ? end - begin : bytes);
}

bool hki_call_issue(const hki_call *call, hk_array *const *outputs, uint64_t new_bytes,
                    hki_call_staging staging)
{
    const hk_op *op = call->op;
    int output_count = op->output_count > 1 ? op->output_count : 1;
    hki_plan plan;
    int64_t piece_count = hki_plan_make(call, &plan);
    hki_task *task = hki_task_begin(call->device->runtime, sizeof(call_payload) + op->options_bytes,
                                    call->input_count + output_count, new_bytes);
    if (!task)
        return false;
    hki_task_spec *spec = hki_task_get_spec(task);
    call_payload *payload = hki_task_payload(task);
    hki_kernel_call *kernel_call = &payload->call;
    payload_init(payload, call, &plan, piece_count, output_count);
    staging_init(payload, staging);

    int access_count = 0;
    for (int i = 0; i < HKI_MAX_INPUTS; i++) {
        hk_array *x = i < call->input_count ? call->inputs[i] : NULL;
        if (x) {
            hki_tensor_init(&kernel_call->in[i], x);
            hki_storage_retain_use(x->storage);
            access_count = add_access(spec->accesses, access_count, x, HKI_READ);
            spec->cost.memory_bytes += bytes_of(x);
        } else {
            kernel_call->in[i].data = NULL;
            kernel_call->in[i].ndim = -1;
        }
    }
    for (int i = 0; i < output_count; i++) {
        hki_tensor_init(&kernel_call->out[i], outputs[i]);
        hki_storage_retain_use(outputs[i]->storage);
        access_count = add_access(spec->accesses, access_count, outputs[i],
                                  HKI_WRITE | HKI_HEAL | (new_bytes ? HKI_FRESH : 0u));
        spec->cost.memory_bytes += bytes_of(outputs[i]);
    }
    spec->class = &call_class;
    spec->device = call->device;
    spec->operation = call->operation;
    spec->cost.flops = plan.flops;
    spec->piece_count = piece_count;
    spec->expected_ns = hki_plan_expect(op, plan.work_ns);
    spec->collective = false;
    spec->access_count = access_count;
    hki_task_submit(task);
    return true;
}
