/* What a call is to the engine: a task whose pieces run the operator's kernel. */
#include "op/call/capture.h"

#include "base/integer.h"
#include "base/sync.h"
#include "op/call/payload.h"
#include "op/call/plan.h"
#include "op/shape/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* True for one call in eight, scattered so that a loop over a few calls measures all of them. */
static bool is_measured(uint64_t sequence)
{
    return sequence * UINT64_C(0x9E3779B97F4A7C15) >> 61 == 0;
}

static size_t piece_stride(size_t partial_bytes)
{
    return hki_round_up_bytes(partial_bytes, HKI_CACHE_LINE);
}

static void fail_for_memory(hki_task *task, uint64_t bytes, hk_device_memory memory)
{
    hki_device *device = hki_task_get_spec(task)->device;
    char limit[128] = "no limit; release arrays";
    if (memory.limit_bytes)
        snprintf(limit, sizeof limit, "limit %" PRIu64 "; release arrays or raise %s",
                 memory.limit_bytes, device->class->memory_option);
    hki_task_fail(task, 0, HK_OUT_OF_MEMORY,
                  "%s has no room for %" PRIu64 " bytes: %" PRIu64 " in use, %" PRIu64
                  " cached, %s",
                  device->name, bytes, memory.used_bytes, memory.cached_bytes, limit);
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
    tensor->is_contiguous = true;
    tensor->data = data;
}

/* Tensors of one shape and dtype. */
static void copy_tensor(hki_device *device, const hki_tensor *from, const hki_tensor *to)
{
    if (device->class->copy_tensor) {
        device->class->copy_tensor(device, from, to);
        return;
    }
    hki_tensor in = *from, out = *to;
    hki_kernel_call copy;
    copy.input_count = copy.output_count = 1;
    copy.in = &in;
    copy.out = &out;
    hki_copy_elements(&copy, 0, to->size);
}

void hki_call_stage(hki_device *device, hki_kernel_call *call, hki_staged *self)
{
    for (int i = 0; i < call->input_count; i++) {
        if (!self->input_copies[i])
            continue;
        hki_tensor from = call->in[i];
        move_tensor(&call->in[i], self->input_copies[i]);
        copy_tensor(device, &from, &call->in[i]);
    }
    if (self->staging.copy_output) {
        self->real_output = call->out[0];
        move_tensor(&call->out[0], self->output_copy);
    }
}

/* Copies are made by one thread: they are rare, and not worth a second task. */
static bool stage(hki_task *task, hki_call_payload *payload)
{
    hki_kernel_call *call = &payload->call;
    hki_staged *self = payload->staged;
    for (int i = 0; i < call->input_count; i++)
        if (self->staging.copy_inputs >> i & 1 &&
            !(self->input_copies[i] = scratch(task, hki_tensor_bytes(&call->in[i]))))
            return false;
    if (self->staging.copy_output &&
        !(self->output_copy = scratch(task, hki_tensor_bytes(&call->out[0]))))
        return false;
    /* From here on a device may be at work: nothing fails that would give memory back before it is
     * done. */
    if (!payload->is_put_off)
        hki_call_stage(hki_task_get_spec(task)->device, call, self);
    return true;
}

static void unstage(hki_task *task, const hki_kernel_call *call, const hki_staged *self)
{
    for (int i = 0; i < call->input_count; i++) {
        if (self->input_copies[i])
            scratch_release(task, self->input_copies[i], hki_tensor_bytes(&call->in[i]));
    }
    if (self->output_copy)
        scratch_release(task, self->output_copy, hki_tensor_bytes(&call->out[0]));
}

/* Whether elements at one index of both may be in one place. */
static bool may_share_memory(const hki_tensor *in, const hki_tensor *out)
{
    return in->ndim >= 0 && in->dtype == out->dtype && in->size == out->size && in->is_contiguous &&
           in->offset == 0 && out->is_contiguous && out->offset == 0;
}

/* An elementwise call on what nobody will look at again works in its memory. The input's data are set then; returns which
 * one it is, or -1. Where the device is at work after the task's end, memory stays where it is. */
static int take_memory(hki_call_payload *self)
{
    hki_kernel_call *call = &self->call;
    if (!call->op->elementwise || call->op->split != HKI_SPLIT_ELEMENTS ||
        call->output_count != 1 || self->staged ||
        !hki_device_is_host(call->out[0].storage->device))
        return -1;
    for (int i = 0; i < call->input_count; i++) {
        if (!may_share_memory(&call->in[i], &call->out[0]))
            continue;
        hki_tensor_resolve(&call->in[i]);
        if (hki_storage_pass_on(call->in[i].storage, call->out[0].storage))
            return i;
    }
    return -1;
}

static bool prepare(hki_task *task, void *payload)
{
    hki_call_payload *self = payload;
    hki_kernel_call *call = &self->call;
    call->task = task;
    const int taken = take_memory(self);
    for (int i = 0; i < call->output_count; i++) {
        if (!hki_storage_materialise(call->out[i].storage)) {
            fail_for_memory(task, call->out[i].storage->bytes,
                            hki_storage_memory(call->out[i].storage));
            return false;
        }
        hki_tensor_resolve(&call->out[i]);
    }
    for (int i = 0; i < call->input_count; i++) {
        if (call->in[i].ndim >= 0 && i != taken)
            hki_tensor_resolve(&call->in[i]);
    }
    if (call->partial_bytes) {
        call->partials = scratch(task, call->partial_bytes * (size_t)call->piece_count);
        if (!call->partials)
            return false;
    }
    if (self->staged && !stage(task, self))
        return false;
    self->measured = is_measured(hki_task_sequence(task));
    return true;
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    const hki_call_payload *self = payload;
    const hki_kernel_call *call = &self->call;
    hki_device *device = hki_task_get_spec(task)->device;
    int64_t begin, end;
    if (device->class->run_call) {
        device->class->run_call(device, call);
        return;
    }
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
    const hki_call_payload *self = payload;
    const hki_kernel_call *call = &self->call;
    hki_device *device = hki_task_get_spec(task)->device;
    if (call->op->join && !device->class->run_call)
        call->op->join(call);
    if (self->staged && self->staged->output_copy)
        copy_tensor(device, &call->out[0], &self->staged->real_output);
}

static void finish(hki_task *task, void *payload)
{
    const hki_call_payload *self = payload;
    const hki_kernel_call *call = &self->call;
    if (self->staged)
        unstage(task, call, self->staged);
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
    const hki_kernel_call *call = &((const hki_call_payload *)payload)->call;
    hki_tensors_describe(call->in, call->input_count, text, bytes);
}

static int operands(const void *payload, hki_trace_operand *operands, int limit)
{
    const hki_kernel_call *call = &((const hki_call_payload *)payload)->call;
    int count = 0;
    for (int i = 0; i < call->input_count && count < limit; i++) {
        if (call->in[i].ndim >= 0)
            operands[count++] = hki_tensor_operand(&call->in[i], false);
    }
    for (int i = 0; i < call->output_count && count < limit; i++)
        operands[count++] = hki_tensor_operand(&call->out[i], true);
    return count;
}

/* Any access to the variable has its version. */
bool hki_call_is_prechecked(const hki_task_spec *spec, const void *payload)
{
    const hki_kernel_call *call = &((const hki_call_payload *)payload)->call;
    const hk_op *op = call->op;
    if (!op->index_input || !spec->versions)
        return false;
    const hki_tensor *indices = &call->in[op->index_input];
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *access = &spec->accesses[i];
        if (access->var == &indices->storage->var && access->mode == HKI_READ)
            return hki_known_values_are_within(&spec->device->known, spec->versions[i],
                                               access->begin, access->end,
                                               call->in[0].dims[op->index_axis]);
    }
    return false;
}

/* Copies are spared by all devices that can. */
static bool can_spare(const hki_task_spec *spec, const void *payload)
{
    const hki_call_payload *self = payload;
    bool overwrites = false;
    for (int i = 0; i < spec->access_count; i++)
        overwrites = overwrites ||
                     (spec->accesses[i].mode & HKI_WRITE && !(spec->accesses[i].mode & HKI_FRESH));
    return !overwrites || (self->staged && self->staged->staging.copy_output) ||
           (spec->device->class->can_spare && spec->device->class->can_spare(&self->call));
}

static const hki_task_class call_class = {.leaf = true,
                                          .enqueues = true,
                                          .prepare = prepare,
                                          .run = run,
                                          .join = join,
                                          .finish = finish,
                                          .describe = describe,
                                          .operands = operands,
                                          .is_prechecked = hki_call_is_prechecked,
                                          .can_spare = can_spare,
                                          .later = &hki_call_later};

static int tensors_of_inputs(const hki_call_parts *parts)
{
    return parts->input_count > HKI_NAMED_INPUTS ? parts->input_count : HKI_NAMED_INPUTS;
}

/* The fields that the kernel sees but for tensors. */
static void payload_init(hki_call_payload *payload, const hki_call_parts *parts)
{
    const hk_op *op = parts->op;
    hki_kernel_call *call = &payload->call;
    payload->kernel = op->kernel[parts->device->class->kernels];
    payload->work_ns = parts->plan->work_ns;
    payload->measured = payload->is_put_off = false;
    call->op = op;
    call->in = payload->tensors;
    call->out = payload->tensors + tensors_of_inputs(parts);
    call->options = NULL;
    if (op->options_bytes) {
        call->options = &call->out[parts->output_count];
        memcpy((void *)(call->out + parts->output_count), parts->options, op->options_bytes);
    }
    call->input_count = parts->input_count;
    call->output_count = parts->output_count;
    call->extent = parts->plan->extent;
    call->piece_count = parts->piece_count;
    call->grain = parts->plan->grain;
    call->method = parts->plan->method;
    call->partial_bytes = piece_stride(parts->plan->partial_bytes);
    call->partials = NULL;
    call->packed = NULL;
    call->first_piece = call->first_index = 0;
    for (int i = 0; i < tensors_of_inputs(parts); i++) {
        call->in[i].data = NULL;
        call->in[i].ndim = -1;
    }
}

hki_task *hki_call_task_begin(const hki_call_parts *parts, uint64_t new_bytes)
{
    const hk_op *op = parts->op;
    const size_t tensors = (size_t)tensors_of_inputs(parts) + (size_t)parts->output_count;
    const size_t accesses = (size_t)(parts->input_count + parts->output_count);
    const bool is_versioned =
        (op->index_input && parts->device->class->wait_for) || hki_device_puts_off(parts->device);
    const bool is_staged = parts->staging.copy_inputs || parts->staging.copy_output;
    const size_t head = hki_round_up_bytes(sizeof(hki_call_payload) + tensors * sizeof(hki_tensor) +
                                               op->options_bytes,
                                           sizeof(uint64_t));
    const size_t copies = is_staged ? sizeof(hki_staged) : 0;
    const size_t versions = is_versioned ? accesses * sizeof(uint64_t) : 0;
    hki_task *task =
        hki_task_begin(parts->device->runtime, head + copies + versions, (int)accesses, new_bytes);
    if (!task)
        return NULL;
    hki_task_spec *spec = hki_task_get_spec(task);
    hki_call_payload *payload = hki_task_payload(task);
    payload_init(payload, parts);
    payload->staged = is_staged ? (void *)((char *)payload + head) : NULL;
    if (is_staged)
        *payload->staged = (hki_staged){.staging = parts->staging};
    spec->class = &call_class;
    if (is_versioned)
        spec->versions = (uint64_t *)(void *)((char *)payload + head + copies);
    spec->device = parts->device;
    spec->operation = parts->operation;
    spec->cost.flops = parts->plan->flops;
    spec->piece_count = parts->piece_count;
    spec->expected_ns = hki_plan_expect(op, parts->plan->work_ns);
    spec->collective = false;
    spec->updates = op->updates;
    spec->access_count = 0;
    return task;
}

hki_tensor *hki_call_task_tensor(hki_task *task, int index)
{
    hki_kernel_call *call = &((hki_call_payload *)hki_task_payload(task))->call;
    return index < call->input_count ? &call->in[index] : &call->out[index - call->input_count];
}

/* Reading one array twice is one access. */
static void add_access(hki_task_spec *spec, hki_access access)
{
    for (int i = 0; i < spec->access_count; i++) {
        const hki_access *other = &spec->accesses[i];
        if (other->var == access.var && other->mode == access.mode &&
            hki_ranges_equal(hki_access_range(other), hki_access_range(&access)))
            return;
    }
    spec->accesses[spec->access_count++] = access;
}

void hki_call_task_access(hki_task *task, const hki_tensor *tensor, const hki_span *span,
                          unsigned mode)
{
    hki_task_spec *spec = hki_task_get_spec(task);
    hki_storage_retain_use(tensor->storage);
    add_access(spec, hki_span_access(span, tensor->storage, mode));
    spec->cost.memory_bytes += (double)span->moved_bytes;
}

static void add_array(hki_task *task, int index, const hk_array *x, unsigned mode)
{
    hki_tensor *tensor = hki_call_task_tensor(task, index);
    hki_tensor_init(tensor, x);
    hki_span span = hki_tensor_span(tensor);
    hki_call_task_access(task, tensor, &span, mode);
}

bool hki_call_issue(const hki_call *call, hk_array *const *outputs, bool is_new,
                    hki_call_staging staging)
{
    const hk_op *op = call->op;
    uint64_t new_bytes = 0;
    hki_plan plan;
    if (hki_capturing)
        hki_hooks.capture->call(hki_capturing, call, outputs, is_new, staging);
    hki_call_parts parts = {.op = op,
                            .operation = call->operation,
                            .device = call->device,
                            .options = call->options,
                            .plan = &plan,
                            .piece_count = hki_plan_make(call, &plan),
                            .staging = staging,
                            .input_count = call->input_count,
                            .output_count = op->output_count > 1 ? op->output_count : 1};
    const bool counts = is_new && !hki_device_puts_off(call->device);
    for (int i = 0; counts && i < parts.output_count; i++)
        new_bytes += outputs[i]->storage->bytes;
    hki_task *task = hki_call_task_begin(&parts, new_bytes);
    if (!task)
        return false;
    for (int i = 0; i < call->input_count; i++)
        if (call->arrays[i])
            add_array(task, i, call->arrays[i], HKI_READ);
    for (int i = 0; i < parts.output_count; i++)
        add_array(task, call->input_count + i, outputs[i],
                  HKI_WRITE | HKI_HEAL | (is_new ? HKI_FRESH : 0u));
    hki_task_submit(task);
    return true;
}
