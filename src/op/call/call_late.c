/* Calls on simulated devices that are put off: what is kept of one, which are equal, and how it is
 * computed after all. */
#include "op/call/payload.h"

#include "base/integer.h"
#include "op/libraries.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of a call, besides its payload, which follows. */
typedef struct late_call {
    alignas(16) uint64_t versions[HKI_MAX_INPUTS]; /* of what the inputs view */
    const void *from[HKI_MAX_OUTPUTS];             /* the outputs of an equal call */
} late_call;

static late_call *late_of(const void *kept)
{
    return (late_call *)(void *)kept - 1;
}

static const hki_kernel_call *call_of(const void *kept)
{
    return &((const hki_call_payload *)kept)->call;
}

bool hki_call_may_refuse(const hki_kernel_call *call)
{
    const hk_op *op = call->op;
    const hk_dtype to = call->out[0].dtype;
    const bool is_inexact = (HKI_REALS | HKI_COMPLEX) >> to & 1;
    if (!op->is_listed) /* nothing is known of it */
        return true;
    if (op->id == HKI_OP_ID_cast || op->id == HKI_OP_ID_assign)
        return call->in[0].dtype != to && to != HK_BOOL && !is_inexact;
    return op->refuses || (op->elementwise && !op->infallible && !is_inexact);
}

static bool may(const hki_task_spec *spec, void *payload, bool is_issued)
{
    hki_call_payload *self = payload;
    self->is_put_off =
        (!hki_call_may_refuse(&self->call) || (is_issued && self->call.op->index_input) ||
         hki_call_is_prechecked(spec, payload)) &&
        !hki_libraries_problem();
    return self->is_put_off;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void *moved(void *copy, const void *payload, const void *within)
{
    return within ? (char *)copy + ((const char *)within - (const char *)payload) : NULL;
}

static void note_versions(void *kept, const hki_task_spec *spec)
{
    const hki_kernel_call *call = call_of(kept);
    for (int i = 0; i < call->input_count; i++)
        for (int j = 0; j < spec->access_count && call->in[i].ndim >= 0; j++)
            if (spec->accesses[j].var == &call->in[i].storage->var)
                late_of(kept)->versions[i] = spec->versions[j];
}

static void *keep(const hki_task_spec *spec, const void *payload)
{
    const hki_call_payload *its = payload;
    const int tensors = hki_call_tensor_count(&its->call);
    const size_t head = hki_round_up_bytes(sizeof *its + (size_t)tensors * sizeof(hki_tensor) +
                                               its->call.op->options_bytes,
                                           sizeof(uint64_t));
    const size_t bytes = head + (its->staged ? sizeof(hki_staged) : 0);
    late_call *self = malloc(sizeof *self + bytes);
    if (!self)
        return NULL;
    *self = (late_call){0};
    hki_call_payload *copy = (void *)(self + 1);
    memcpy((void *)copy, payload, bytes);
    copy->call.in = moved(copy, payload, its->call.in);
    copy->call.out = moved(copy, payload, its->call.out);
    copy->call.options = moved(copy, payload, its->call.options);
    copy->staged = moved(copy, payload, its->staged);
    copy->call.partials = NULL;
    copy->call.task = NULL;
    if (copy->staged)
        *copy->staged = (hki_staged){.staging = its->staged->staging};
    for (int i = 0; i < tensors; i++)
        if (copy->tensors[i].ndim >= 0)
            hki_storage_retain_name(copy->tensors[i].storage);
    note_versions(copy, spec);
    return copy;
}

static void drop(void *kept)
{
    hki_call_payload *self = kept;
    const int tensors = hki_call_tensor_count(&self->call);
    for (int i = 0; i < tensors; i++)
        if (self->tensors[i].ndim >= 0)
            hki_storage_release_name(self->tensors[i].storage);
    free(late_of(kept));
}

/* ---- computing ------------------------------------------------------------------------------- */

static void *borrow(hki_device *device, size_t bytes)
{
    char *data = hki_memory_pool_borrow(device->memory, bytes);
    return data ? data + device->kernel_offset : NULL;
}

static void give_back(hki_device *device, void *data, size_t bytes)
{
    if (data)
        hki_memory_pool_return(device->memory, (char *)data - device->kernel_offset, bytes);
}

static size_t bytes_of_partials(const hki_kernel_call *call)
{
    return call->partial_bytes * (size_t)call->piece_count;
}

/* False: no memory. */
static bool stage(hki_device *device, hki_call_payload *payload)
{
    hki_kernel_call *call = &payload->call;
    hki_staged *self = payload->staged;
    for (int i = 0; i < call->input_count; i++)
        if (self->staging.copy_inputs >> i & 1 &&
            !(self->input_copies[i] = borrow(device, hki_tensor_bytes(&call->in[i]))))
            return false;
    if (self->staging.copy_output &&
        !(self->output_copy = borrow(device, hki_tensor_bytes(&call->out[0]))))
        return false;
    hki_call_stage(device, call, self);
    return true;
}

static bool begin(hki_task *as, void *kept)
{
    hki_call_payload *self = kept;
    hki_kernel_call *call = &self->call;
    hki_device *device = hki_task_get_spec(as)->device;
    call->task = as;
    call->partials = call->partial_bytes ? borrow(device, bytes_of_partials(call)) : NULL;
    const bool has_room =
        (call->partials || !call->partial_bytes) && (!self->staged || stage(device, self));
    if (!has_room)
        hki_task_fail(as, 0, HK_OUT_OF_MEMORY, "no addresses are left for the workspace on %s",
                      device->name);
    return has_room;
}

static void end(void *kept)
{
    hki_call_payload *self = kept;
    hki_kernel_call *call = &self->call;
    hki_device *device = call->out[0].storage->device;
    give_back(device, call->partials, bytes_of_partials(call));
    call->partials = NULL;
    if (!self->staged)
        return;
    for (int i = 0; i < call->input_count; i++)
        give_back(device, self->staged->input_copies[i], hki_tensor_bytes(&call->in[i]));
    give_back(device, self->staged->output_copy, hki_tensor_bytes(&call->out[0]));
}

/* ---- equal calls ----------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = mix(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

static uint64_t mix_tensor(uint64_t hash, const hki_tensor *tensor)
{
    const int ndim = tensor->ndim < 0 ? 0 : tensor->ndim;
    hash = mix(mix(hash, (uint64_t)tensor->ndim), tensor->dtype);
    for (int i = 0; i < ndim; i++)
        hash = mix(mix(hash, (uint64_t)tensor->dims[i]), (uint64_t)tensor->strides[i]);
    return hash;
}

/* Of calls that read something: what is drawn at random has no inputs. */
static uint64_t hash(const void *kept)
{
    const hki_kernel_call *call = call_of(kept);
    const late_call *self = late_of(kept);
    uint64_t value = mix_bytes(call->op->id, call->options, call->op->options_bytes);
    bool reads = false;
    for (int i = 0; i < call->input_count; i++) {
        const hki_tensor *in = &call->in[i];
        value = mix_tensor(value, in);
        if (in->ndim < 0)
            continue;
        value =
            mix(mix(mix(value, (uintptr_t)in->storage), self->versions[i]), (uint64_t)in->offset);
        reads = true;
    }
    return reads ? value | 1 : 0;
}

static bool have_one_form(const hki_tensor *a, const hki_tensor *b)
{
    const size_t bytes = (a->ndim < 0 ? 0 : (size_t)a->ndim) * sizeof *a->dims;
    return a->ndim == b->ndim && a->dtype == b->dtype && !memcmp(a->dims, b->dims, bytes) &&
           !memcmp(a->strides, b->strides, bytes);
}

static bool is_equal(const void *kept, const void *other)
{
    const hki_kernel_call *a = call_of(kept), *b = call_of(other);
    bool equal =
        a->op == b->op && a->input_count == b->input_count && a->output_count == b->output_count &&
        a->method == b->method &&
        !memcmp(a->options ? a->options : "", b->options ? b->options : "", a->op->options_bytes);
    for (int i = 0; i < a->input_count && equal; i++) {
        const hki_tensor *x = &a->in[i], *y = &b->in[i];
        equal = have_one_form(x, y) &&
                (x->ndim < 0 || (x->storage == y->storage && x->offset == y->offset &&
                                 late_of(kept)->versions[i] == late_of(other)->versions[i]));
    }
    for (int i = 0; i < a->output_count && equal; i++)
        equal = have_one_form(&a->out[i], &b->out[i]);
    return equal;
}

static intptr_t share(void *kept, const void *from)
{
    const hki_kernel_call *call = call_of(kept), *other = call_of(from);
    for (int i = 0; i < call->output_count; i++)
        late_of(kept)->from[i] = other->out[i].data;
    return call->output_count == 1 ? (intptr_t)other->out[0].data - (intptr_t)call->out[0].data : 0;
}

static void copy(void *kept)
{
    const hki_kernel_call *call = call_of(kept);
    for (int i = 0; i < call->output_count; i++) {
        const hki_tensor *out = &call->out[i];
        if (out->size)
            memcpy(out->data, late_of(kept)->from[i], hki_tensor_bytes(out));
    }
}

const hki_later hki_call_later = {.may = may,
                                  .keep = keep,
                                  .drop = drop,
                                  .begin = begin,
                                  .end = end,
                                  .hash = hash,
                                  .is_equal = is_equal,
                                  .share = share,
                                  .copy = copy};
