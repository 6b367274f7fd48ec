/* Calling an operator: checks, outputs, the tape. Issuing is in call_task.c. */
#include "base/source.h"
#include "op/call/capture.h"

#include "array/axis.h"
#include "base/text.h"
#include "op/call/transfer.h"

#include <hocket/call.h>
#include <hocket/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Alignas(16) const char default_options[HKI_MAX_OPTIONS_BYTES];

bool hki_call_refuse(hki_call *call, hk_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    call->code = code;
    hki_format_va(call->message, sizeof call->message, format, args);
    va_end(args);
    return false;
}

bool hki_call_take_axis(hki_call *call, const char *name, int64_t *axis, int ndim)
{
    char text[224];
    if (hki_axis_exists(*axis, ndim)) {
        *axis = hki_axis_from_front(*axis, ndim);
        return true;
    }
    hki_shape_view_describe(call->inputs[0], text, sizeof text);
    if (ndim == 0)
        return hki_call_refuse(call, HK_OUT_OF_RANGE, "%s is %lld, but x, %s, has no axes", name,
                               (long long)*axis, text);
    return hki_call_refuse(call, HK_OUT_OF_RANGE, "%s is %lld, but must be from %d to %d: x is %s",
                           name, (long long)*axis, -ndim, ndim - 1, text);
}

/* The operator that this thread is composing, the outermost one; NULL: none. */
static _Thread_local const char *composed;

/* Returns the dtypes of its inputs, as hki_call_set_inputs; where there is none, the call follows no array's device. */
static inline unsigned call_init(hki_call *call, const hk_op *op, hk_array *const *inputs,
                                 int input_count, const void *options)
{
    const unsigned dtypes = hki_call_set_inputs(call, inputs, input_count);
    call->op = HKI_USUALLY(!(dtypes & HKI_COMPLEX)) ? op : hki_op_for(op, inputs, input_count);
    call->operation = op->is_part && composed ? composed : op->name;
    call->device = NULL;
    call->options = !op->options_bytes ? NULL : options ? options : default_options;
    call->like = NULL;
    call->is_gradient = false;
    call->code = HK_OK;
    call->message[0] = '\0';
    return dtypes;
}

static bool refuse_devices(hki_call *call, int index, const hki_device *first)
{
    char name[64];
    hki_op_input_name(call->op, index, name, sizeof name);
    return hki_call_refuse(
        call, HK_INVALID_ARGUMENT,
        "%s is on %s, the inputs before it on %s; hk_to_device copies an array to "
        "another device",
        name, call->arrays[index]->storage->device->name, first->name);
}

static bool refuse_dtype(hki_call *call, int index)
{
    char name[64], allowed[192] = "";
    size_t used = 0;
    hki_op_input_name(call->op, index, name, sizeof name);
    for (int i = 0; i < HK_DTYPE_COUNT; i++) {
        if (call->op->dtypes >> i & 1)
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s",
                                     used ? ", " : "", hk_dtype_name((hk_dtype)i));
    }
    const hk_dtype dtype = call->inputs[index]->dtype;
    const bool is_complex = hki_dtype_is_complex(dtype);
    const char *remedy =
        !is_complex ? "hk_cast converts"
        : call->op->dtypes >> HK_I32 & 1
            ? "complex numbers have no order; take hk_abs, hk_real or hk_imag of them"
            : "hk_abs, hk_real and hk_imag give real numbers";
    return hki_call_refuse(call, HK_UNSUPPORTED, "%s is %s, but may be %s; %s", name,
                           hk_dtype_name(dtype), allowed, remedy);
}

/* Input `index` is NULL: fine where it is optional. */
static __attribute__((noinline)) bool check_left_out(hki_call *call, int index)
{
    char name[64];
    return hki_op_input_name(call->op, index, name, sizeof name) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is NULL", name);
}

static __attribute__((noinline)) bool refuse_gone(hki_call *call, const hk_array *x)
{
    hk_status_release(hki_array_gone(x));
    return hki_call_refuse(call, HK_CANCELLED, "an input's runtime has ended");
}

static bool check_runtime(hki_call *call, const hk_array *x)
{
    const hki_storage *storage = x->storage;
    return HKI_USUALLY(!storage->record && hki_runtime_alive(storage->var.runtime)) ||
           refuse_gone(call, x);
}

/* The first dtype is one that the operator takes; the last complex input is refused where it takes none. */
static bool check_dtypes(hki_call *call, unsigned dtypes)
{
    const unsigned allowed = call->op->dtypes;
    if (!allowed)
        return true;
    if (call->input_count > 0 && call->inputs[0] && !(allowed >> call->inputs[0]->dtype & 1))
        return refuse_dtype(call, 0);
    if (HKI_USUALLY(!(dtypes & HKI_COMPLEX)) || allowed & HKI_COMPLEX)
        return true;
    int complex = call->input_count - 1;
    while (!call->inputs[complex] || !hki_dtype_is_complex(call->inputs[complex]->dtype))
        complex--;
    return refuse_dtype(call, complex);
}

static __attribute__((noinline)) bool refuse_kernel(hki_call *call)
{
    return call->op->host_only && hki_device_class_has_own_kernels(call->device->class)
               ? hki_call_refuse(call, HK_UNSUPPORTED,
                                 "%s has no kernel for GPUs yet; hk_to_device brings its inputs to "
                                 "a CPU device",
                                 call->op->name)
               : hki_call_refuse(call, HK_UNSUPPORTED, "%s has no kernel for %s", call->op->name,
                                 call->device->name);
}

/* What holds for every operator; sets call->device, also on failure where there is one. dtypes: as call_init gave them. */
static bool check_inputs(hki_call *call, unsigned dtypes, hki_device *device)
{
    const hk_op *op = call->op;
    hki_device *first = NULL;
    bool failed = false;
    call->device = device;
    for (int i = 0; i < call->input_count; i++) {
        const hk_array *x = call->arrays[i];
        if (!HKI_USUALLY(x)) {
            if (!check_left_out(call, i))
                return false;
            continue;
        }
        const hki_storage *storage = x->storage;
        failed |= x->failed;
        if (storage->device == first && HKI_USUALLY(!storage->record))
            continue; /* the same runtime */
        if (!check_runtime(call, x))
            return false;
        if (!first) {
            first = storage->device;
            if (!call->device)
                call->device = first;
        } else if (storage->device != first && !op->any_device && !failed) {
            return refuse_devices(call, i, first);
        }
    }
    if (!HKI_USUALLY(!failed))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "an input has failed");
    if (!HKI_USUALLY(call->options != hki_options_unknown))
        return hki_call_refuse(call, HK_UNSUPPORTED,
                               "the options say something that this library, " HK_VERSION_STRING
                               ", does not know: the program was compiled with a newer version");
    if (!HKI_USUALLY(call->device && call->device->class))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "no such device");
    if (!check_dtypes(call, dtypes))
        return false;
    const hki_device_class *class = call->device->class;
    if (op->host_only && hki_device_class_has_own_kernels(class))
        return refuse_kernel(call);
    return HKI_USUALLY(op->kernel[class->kernels]) || op->compose || class->run_call ||
           refuse_kernel(call);
}

bool hki_call_gpus_take(const hki_call *call, hk_dtype *lacks)
{
    const unsigned taken = call->op->gpu_dtypes ? call->op->gpu_dtypes : (unsigned)HKI_GPU_DTYPES;
    *lacks = call->out_dtype[0];
    if (taken & HKI_GPU_COPIES && call->inputs[0]->dtype == *lacks)
        return !hki_dtype_is_complex(*lacks);
    const bool is_sum = taken & HKI_GPU_SUMS && *lacks == HK_U64;
    for (int i = 0; (i == 0 && is_sum) || taken >> *lacks & 1; i++) {
        if (i == call->input_count)
            return true;
        if (call->inputs[i])
            *lacks = call->inputs[i]->dtype;
    }
    return false;
}

/* GPUs have kernels of fewer dtypes. */
static __attribute__((noinline)) bool check_gpu(hki_call *call)
{
    hk_dtype lacks;
    if (call->op->compose)
        return true;
    if (!hki_call_gpus_take(call, &lacks))
        return hki_call_refuse(call, HK_UNSUPPORTED,
                               "%s has no kernel of %s for GPUs yet; hk_cast converts, and "
                               "hk_to_device brings arrays to a CPU device",
                               call->op->name, hk_dtype_name(lacks));
    /* Those of several dtypes are called again, converted. */
    return !hki_call_mixes(call) ||
           hki_call_refuse(call, HK_UNSUPPORTED,
                           "kernels for GPUs do not mix dtypes; hk_cast converts");
}

static __attribute__((noinline)) bool count_bytes(hki_call *call, uint64_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i == 0 || i < call->op->output_count; i++) {
        char why[256];
        if (!hki_dims_bytes(&call->out_shape[i], call->out_dtype[i], &call->out_bytes[i], why,
                            sizeof why))
            return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the result: %s", why);
        *bytes += call->out_bytes[i];
    }
    return true;
}

/* Infers and checks what comes out; *bytes of all outputs. */
static bool infer(hki_call *call, uint64_t *bytes)
{
    const hk_op *op = call->op;
    if (!op->infer(call) ||
        (hki_device_class_has_own_kernels(call->device->class) && !check_gpu(call)))
        return false;
    /* As many elements as an array that is there, unless it is a view that shows some of its own very often. */
    const hki_shape_view *like = call->like;
    if (!like || op->output_count > 1 ||
        (uint64_t)like->size - 1 >= HKI_MAX_BYTES / HKI_ELEMENT_BYTES)
        return count_bytes(call, bytes);
    *bytes = call->out_bytes[0] = (uint64_t)like->size * hki_dtype_bytes(call->out_dtype[0]);
    return true;
}

/* ---- making results -------------------------------------------------------------------------------- */

/* Inputs that the operator wants contiguous and that are not. */
static unsigned gaps(const hki_call *call)
{
    unsigned inputs = 0;
    for (int i = 0; call->op->contiguous && i < call->input_count; i++) {
        if (call->inputs[i] && !call->inputs[i]->is_contiguous)
            inputs |= 1u << i;
    }
    return inputs;
}

/* The values come from another memory than the result's, so that they are copied, not computed. */
static bool is_transfer(const hki_call *call)
{
    return call->op->any_device && call->input_count == 1 &&
           hki_transfer_is_needed(call->device, call->arrays[0]->storage->device);
}

static int count_outputs(const hk_op *op)
{
    return op->output_count > 1 ? op->output_count : 1;
}

static void drop(hk_array *x)
{
    hk_array_release(hk_take(x));
}

/* Failed arrays for what is public, of one record; NULL for the rest. */
static void refuse_outputs(const hki_call *call, hk_array **outputs)
{
    outputs[0] = hki_array_create_failed(call->device, call->operation, call->arrays,
                                         call->input_count, call->code, "%s", call->message);
    const int count = count_outputs(call->op),
              public_count = count > 1 ? hki_op_output_count(call->op) : 1;
    for (int i = 1; i < count; i++)
        outputs[i] = i < public_count
                         ? hki_array_create_failed(call->device, call->operation, outputs, 1,
                                                   call->code, "%s", call->message)
                         : NULL;
}

/* Creates the outputs and issues the task. */
static void make(hki_call *call, uint64_t bytes, hk_array **outputs)
{
    hki_call_staging staging = {.copy_inputs = gaps(call)};
    const int output_count = count_outputs(call->op);
    int made = 0;
    bool ok = true, transfers = is_transfer(call);
    for (; ok && made < output_count; made++) {
        outputs[made] =
            hki_array_create_sized(call->device, &call->out_shape[made], call->out_dtype[made],
                                   call->out_bytes[made], call->op->pinned || transfers);
        ok = !outputs[made]->failed;
    }
    if (ok && transfers)
        hki_transfer(outputs[0], call->arrays[0], call->operation,
                     HKI_TRANSFER_FRESH | HKI_TRANSFER_LATE);
    else
        ok = ok && ((!hki_capturing && hki_call_run_direct(call, bytes, outputs[0])) ||
                    hki_call_issue(call, outputs, true, staging));
    if (!ok) {
        while (made > 0)
            drop(outputs[--made]);
        hki_call_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
        refuse_outputs(call, outputs);
    }
}

/* Calls of parts have its name. */
static hk_array *composition(hki_call *call)
{
    const char *const outer = composed;
    composed = outer ? outer : call->operation;
    hk_array *result = call->op->compose(call);
    composed = outer;
    return result;
}

/* What it makes on the way goes before it returns. Apart from calls of kernels, which need no
 * scope. False: there is a kernel for this call. */
static __attribute__((noinline)) bool compose(hki_call *call, hk_array **outputs)
{
    const hk_op *op = call->op;
    const int count = count_outputs(op);
    const bool pauses = op->grad, before = pauses && hki_hooks.tape_set_recording(false);
    {
        HK_SCOPE;
        call->more = outputs + 1;
        outputs[0] = composition(call);
        for (int i = 0; outputs[0] && i < count; i++)
            hk_take(outputs[i]);
    }
    if (pauses)
        hki_hooks.tape_set_recording(before);
    for (int i = 0; outputs[0] && i < count; i++)
        outputs[i] = hki_scope_add(outputs[i]);
    return outputs[0];
}

static __attribute__((noinline)) hk_array *joined(const hk_op *op, hk_array *const *inputs,
                                                  int count, const void *options)
{
    hk_array *result;
    {
        HK_SCOPE;
        result = hk_take(op->variadic(inputs, count, options));
    }
    return hki_scope_add(result);
}

/* outputs: room for all that the operator has. */
static void call_op(const hk_op *op, hk_array *const *inputs, int input_count, const void *options,
                    hk_device device, hk_array **outputs)
{
    hki_call call;
    uint64_t bytes;
    if (op->variadic) {
        outputs[0] = joined(op, inputs, input_count, options);
        return;
    }
    const unsigned dtypes = call_init(&call, op, inputs, input_count, options);
    op = call.op;
    HKI_HOLD(held);
    if (!HKI_USUALLY(dtypes))
        device.handle = hki_device_hold(device, &held);
    else if (!op->any_device)
        device.handle = NULL;
    if (!check_inputs(&call, dtypes, device.handle) || !infer(&call, &bytes)) {
        if (call.code == HK_UNSUPPORTED && hki_call_mixes(&call)) {
            outputs[0] = hki_hooks.call_promoted(&call, NULL);
            return;
        }
        refuse_outputs(&call, outputs);
    } else if (op->compose && compose(&call, outputs)) {
        if (!op->grad)
            return;
        /* The tape notes views by itself. */
    } else if (op->view && (outputs[0] = op->view(&call))) {
        return;
    } else {
        make(&call, bytes, outputs);
    }
    hki_hooks.tape_record(&call, outputs);
}

hk_array *hki_op_call(const hk_op *op, hk_array *const *inputs, int input_count,
                      const void *options, hk_device device, hk_array **out_extra)
{
    hk_array *outputs[HKI_MAX_OUTPUTS];
    call_op(op, inputs, input_count, options, device, outputs);
    if (out_extra)
        *out_extra = op->output_count > 1 ? outputs[1] : NULL;
    for (int i = out_extra ? 2 : 1; i < op->output_count; i++)
        hki_op_give(outputs[i], NULL);
    return outputs[0];
}

void hki_op_call_all(const hk_op *op, hk_array *const *inputs, int input_count, const void *options,
                     hk_device device, hk_array **outputs, int count)
{
    hk_array *all[HKI_MAX_OUTPUTS];
    call_op(op, inputs, input_count, options, device, all);
    for (int i = 0; i < count_outputs(op); i++)
        hki_op_give(all[i], i < count ? &outputs[i] : NULL);
}

void hki_op_give(hk_array *output, hk_array **to)
{
    if (to)
        *to = output;
    else if (output)
        drop(output);
}

hk_array *hki_op_call1(const hk_op *op, hk_array *x, const void *options)
{
    return hki_op_call(op, (hk_array *const[]){x}, 1, options, (hk_device){NULL}, NULL);
}

hk_array *hki_op_call2(const hk_op *op, hk_array *x, hk_array *y, const void *options)
{
    return hki_op_call(op, (hk_array *const[]){x, y}, 2, options, (hk_device){NULL}, NULL);
}

hk_array *hki_op_call3(const hk_op *op, hk_array *x, hk_array *y, hk_array *z, const void *options)
{
    return hki_op_call(op, (hk_array *const[]){x, y, z}, 3, options, (hk_device){NULL}, NULL);
}

hk_array *hki_op_call_number(const hk_op *op, hk_array *x, double value)
{
    return hki_op_call1(op, x, &value);
}

void hki_op_call_number_into(const hk_op *op, hk_array *x, double value, hk_array *out)
{
    hki_op_call_into(op, &x, 1, &value, out);
}

/* ---- writing into an array --------------------------------------------------------------------------- */

static bool check_output(hki_call *call, hk_array *out, int count)
{
    const hki_device *device = out->storage->device;
    const int output_count = count_outputs(call->op);
    if (call->device != device)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the array to write is on %s, the inputs on %s", device->name,
                               call->device->name);
    if (out->read_only)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "the array to write is a broadcast view or memory for reading; "
                               "hk_contiguous copies it");
    if (output_count != count)
        return hki_call_refuse(call, HK_UNSUPPORTED, "%s cannot write into an array",
                               call->op->name);
    return true;
}

static bool check_result(hki_call *call, const hk_array *out, int index)
{
    if (out->dtype == call->out_dtype[index] &&
        hki_dims_equal(&out->shape, &call->out_shape[index]))
        return true;
    char has[256], needs[256];
    hki_array_describe(out, has, sizeof has);
    hki_dims_describe(&call->out_shape[index], needs, sizeof needs);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the array to write is %s, the result %s%s",
                           has, hk_dtype_name(call->out_dtype[index]), needs);
}

static bool allows_overwrite(hki_call *call, hk_array *out)
{
    return hki_hooks.tape_allow_overwrite(call, out);
}

/* Whether the task may read input `index` while it writes out. */
static bool reads_safely(const hk_op *op, int index, const hk_array *x, const hk_array *out)
{
    return !hki_arrays_overlap(x, out) ||
           ((op->elementwise || op->in_place >> index & 1) && x->offset == out->offset &&
            x->dtype == out->dtype && hki_dims_equal(&x->shape, &out->shape) &&
            memcmp(x->strides, out->strides, sizeof x->strides[0] * (size_t)x->shape.ndim) == 0);
}

static bool issue_into(hki_call *call, hk_array *out)
{
    const hk_op *op = call->op;
    if (op->compose) {
        HK_SCOPE;
        hk_array *result = composition(call);
        if (result) {
            hki_op_call_into(&hki_op_copy, &result, 1, NULL, out);
            return true;
        }
    }
    if (is_transfer(call)) {
        hki_transfer(out, call->arrays[0], call->operation, 0);
        return true;
    }
    hki_call_staging staging = {
        .copy_inputs = gaps(call),
        .copy_output = !op->elementwise && !op->strided_output && !hk_is_contiguous(out),
    };
    for (int i = 0; i < call->input_count; i++) {
        const hk_array *x = call->arrays[i];
        if (x && !staging.copy_output && !reads_safely(op, i, x, out))
            staging.copy_inputs |= 1u << i;
    }
    return hki_call_issue(call, &out, false, staging) ||
           hki_call_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

/* Everything of *call but what follows from its inputs is set. */
static void call_into(hki_call *call, unsigned dtypes, hk_array *out, bool asks_tape)
{
    uint64_t bytes;
    if (!out) {
        hki_array_fail_in_place(NULL, call->operation, call->arrays, call->input_count,
                                HK_INVALID_ARGUMENT, "the array to write is NULL");
        return;
    }
    const hk_status *gone = hki_array_gone(out);
    if (gone || out->failed) { /* there is nothing to write */
        if (gone)
            hk_status_release(gone);
        return;
    }
    bool chooses = call->op->any_device || !dtypes;
    if (!check_inputs(call, dtypes, chooses ? out->storage->device : NULL) ||
        !check_output(call, out, 1) || !infer(call, &bytes) || !check_result(call, out, 0) ||
        (asks_tape && !allows_overwrite(call, out)) || !issue_into(call, out)) {
        if (call->code == HK_UNSUPPORTED && hki_call_mixes(call))
            hki_hooks.call_promoted(call, out);
        else
            hki_array_fail_in_place(out, call->operation, call->arrays, call->input_count,
                                    call->code, "%s", call->message);
    }
}

void hki_op_call_into(const hk_op *op, hk_array *const *inputs, int input_count,
                      const void *options, hk_array *out)
{
    hki_call call;
    if (op->variadic) {
        hk_array *result = joined(op, inputs, input_count, options);
        hki_op_call_into(&hki_op_copy, &result, 1, NULL, out);
        drop(result);
        return;
    }
    const unsigned dtypes = call_init(&call, op, inputs, input_count, options);
    call_into(&call, dtypes, out, true);
}

void hki_op_call_gradient_into(const hk_op *op, hk_array *const *inputs, int input_count,
                               const void *options, hk_array *out)
{
    hki_call call;
    const unsigned dtypes = call_init(&call, op, inputs, input_count, options);
    call.is_gradient = true;
    call_into(&call, dtypes, out, true);
}

void hki_call_into_unasked(const hk_op *op, const char *operation, hk_array *x, const void *options,
                           hk_array *out)
{
    hki_call call;
    const unsigned dtypes = call_init(&call, op, &x, 1, options);
    call.operation = operation;
    call_into(&call, dtypes, out, false);
}

/* ---- updating several arrays in place ------------------------------------------------------------------ */

static bool check_updated(hki_call *call, hk_array *const *updated, int count)
{
    for (int i = 0; i < count; i++) {
        const hk_status *gone = hki_array_gone(updated[i]);
        if (gone) {
            hk_status_release(gone);
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "output %d cannot be written: it is NULL, or its runtime has "
                                   "ended",
                                   i);
        }
        if (!check_output(call, updated[i], count) || !check_result(call, updated[i], i) ||
            !allows_overwrite(call, updated[i]))
            return false;
        if (!updated[i]->is_contiguous && !call->op->strided_output)
            return hki_call_refuse(call, HK_UNSUPPORTED,
                                   "an array to update has gaps or another order of axes; "
                                   "hk_contiguous copies it");
        for (int j = 0; j < i; j++)
            if (hki_arrays_overlap(updated[i], updated[j]))
                return hki_call_refuse(call, HK_INVALID_ARGUMENT, "outputs %d and %d share memory",
                                       j, i);
    }
    return true;
}

static bool compose_update(hki_call *call, hk_array *const *updated, int count)
{
    HK_SCOPE;
    hk_array *results[HKI_MAX_OUTPUTS];
    call->more = results + 1;
    results[0] = composition(call);
    for (int i = 0; results[0] && i < count; i++)
        hki_op_call_into(&hki_op_copy, &results[i], 1, NULL, updated[i]);
    return results[0];
}

static bool issue_update(hki_call *call, hk_array *const *updated, int count)
{
    hki_call_staging staging = {.copy_inputs = gaps(call)};
    if (call->op->compose && compose_update(call, updated, count))
        return true;
    for (int i = 0; call->op->strided_output && i < call->input_count; i++)
        for (int j = 0; j < count; j++)
            if (call->arrays[i] && hki_arrays_overlap(call->arrays[i], updated[j]) &&
                (j > 0 || !reads_safely(call->op, i, call->arrays[i], updated[j])))
                staging.copy_inputs |= 1u << i;
    return hki_call_issue(call, updated, false, staging) ||
           hki_call_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

void hki_op_call_update(const hk_op *op, hk_array *const *inputs, int input_count,
                        const void *options, hk_array *const *updated, int count)
{
    hki_call call;
    uint64_t bytes;
    const unsigned dtypes = call_init(&call, op, inputs, input_count, options);
    if (!check_inputs(&call, dtypes, NULL) || !infer(&call, &bytes) ||
        !check_updated(&call, updated, count) || !issue_update(&call, updated, count))
        for (int i = 0; i < count; i++)
            hki_array_fail_in_place(updated[i], call.operation, call.arrays, call.input_count,
                                    call.code, "%s", call.message);
}
