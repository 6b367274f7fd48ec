/* hk_run: what is checked, the tape, captured steps. The task is in kernel_task.c. */
#include "base/source.h"
#include "op/call/capture.h"
#include "task/kernel_call.h"

#include "base/integer.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *name_of(const hk_kernel *kernel)
{
    return kernel && kernel->name ? kernel->name : "kernel";
}

static bool writes(const hk_access *access)
{
    return access->mode != HK_READS;
}

/* Why a call cannot be made. */
typedef struct refusal {
    hk_code code; /* HK_OK: there is none */
    char message[512];
} refusal;

HK_PRINTF(3, 4) static bool refuse(refusal *self, hk_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hki_format_va(self->message, sizeof self->message, format, args);
    va_end(args);
    self->code = code;
    return false;
}

/* ---- checks --------------------------------------------------------------------------------- */

static bool check_kernel(refusal *self, const hk_kernel *kernel, const hk_access *accesses,
                         int count, int least, const void *args, size_t args_bytes)
{
    if (!kernel)
        return refuse(self, HK_INVALID_ARGUMENT, "argument kernel is NULL");
    if (!kernel->cpu && !kernel->cuda)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "the kernel has no function: its cpu and cuda are NULL");
    if (count < least || count > HK_MAX_ACCESSES)
        return refuse(self, HK_INVALID_ARGUMENT, "count is %d, but must be from %d to %d", count,
                      least, HK_MAX_ACCESSES);
    if (!accesses && count)
        return refuse(self, HK_INVALID_ARGUMENT, "argument accesses is NULL");
    if (!args && args_bytes)
        return refuse(self, HK_INVALID_ARGUMENT, "argument args is NULL, but has %zu bytes",
                      args_bytes);
    if (kernel->gradient && kernel->release)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "the kernel has a gradient, which keeps a copy of its arguments, and a "
                      "release, which ends them; it may have one of both");
    return true;
}

/* The call will not run. */
static void let_go(const hk_kernel *kernel, const void *args)
{
    if (kernel && kernel->release)
        kernel->release((void *)(uintptr_t)args);
}

/* While recording: nothing of the tape is overwritten, and nothing that wants a gradient goes
 * where the tape would lose it. */
static bool check_tape(refusal *self, const hki_kernel_run *run, int written)
{
    hk_array *x = run->accesses[written].x;
    hki_call call = {.op = &hki_op_copy, .code = HK_OK};
    for (int i = 0; i < run->count; i++) {
        hk_array *input = run->accesses[i].x;
        hki_call_set_inputs(&call, &input, run->accesses[i].mode & HK_READS ? 1 : 0);
        if (!hki_hooks.tape_allow_overwrite(&call, x))
            return refuse(self, call.code, "array %d: %s", written, call.message);
    }
    return true;
}

static bool check_access(refusal *self, const hki_kernel_run *run, int index)
{
    const hk_access *access = &run->accesses[index];
    const hk_array *x = access->x;
    if (access->mode < HK_READS || access->mode > HK_ACCUMULATES)
        return refuse(self, HK_INVALID_ARGUMENT, "the mode of array %d is %d, which is no mode",
                      index, (int)access->mode);
    const hk_status *gone = hki_array_gone(x);
    if (gone) {
        refuse(self, x ? hk_status_code(gone) : HK_INVALID_ARGUMENT, "array %d %s", index,
               x ? "cannot be used: its runtime has ended" : "is NULL");
        hk_status_release(gone);
        return false;
    }
    if (x->failed)
        return refuse(self, HK_INVALID_ARGUMENT, "array %d has failed", index);
    if (access->mode == HK_ACCUMULATES && x->dtype == HK_BOOL)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "array %d is to be added to, but its dtype is bool; hk_updates is for it",
                      index);
    if (writes(access) && x->read_only)
        return refuse(self, HK_INVALID_ARGUMENT,
                      "array %d is to be written, but is a broadcast view or memory for reading; "
                      "hk_contiguous copies it",
                      index);
    return true;
}

static bool check_pairs(refusal *self, const hki_kernel_run *run, int written)
{
    for (int i = 0; i < run->count; i++)
        if (i != written && hki_arrays_overlap(run->accesses[i].x, run->accesses[written].x))
            return refuse(
                self, HK_INVALID_ARGUMENT,
                "arrays %d and %d share memory, and array %d is written; what is read and "
                "written is one access, hk_updates",
                i < written ? i : written, i < written ? written : i, written);
    return true;
}

static bool check_device(refusal *self, const hki_kernel_run *run)
{
    for (int i = 0; i < run->count; i++) {
        const hki_device *device = run->accesses[i].x->storage->device;
        if (device != run->device)
            return refuse(self, HK_INVALID_ARGUMENT,
                          "array %d is on %s, but the kernel runs on %s; hk_to_device copies an "
                          "array to another device",
                          i, device->name, run->device->name);
    }
    if (run->device->class->kind != HKI_CPU && run->kernel.waits)
        return refuse(self, HK_UNSUPPORTED,
                      "%s is of arrays on CPU devices, not on %s; hk_to_device brings arrays there",
                      run->promise ? "a promise" : "a kernel that waits", run->device->name);
    const bool is_gpu = run->device->class->run_own;
    if (!(is_gpu ? run->kernel.cuda : run->kernel.cpu))
        return refuse(self, HK_UNSUPPORTED,
                      "the kernel has no function for %s: its %s is NULL; hk_to_device brings "
                      "arrays to another device",
                      run->device->name, is_gpu ? "cuda" : "cpu");
    if (run->device->class->kind == HKI_SIM && !run->kernel.cost_ns)
        return refuse(self, HK_UNSUPPORTED,
                      "%s is a simulated device, which needs to know how long the kernel takes; "
                      "give it a cost_ns",
                      run->device->name);
    return true;
}

static bool check(refusal *self, const hki_kernel_run *run)
{
    for (int i = 0; i < run->count; i++)
        if (!check_access(self, run, i))
            return false;
    if (!check_device(self, run))
        return false;
    for (int i = 0; i < run->count; i++)
        if (writes(&run->accesses[i]) && !(run->has_result && i == run->count - 1) &&
            (!check_pairs(self, run, i) || !check_tape(self, run, i)))
            return false;
    return true;
}

/* What would be written fails. */
static void fail(const refusal *self, const hk_kernel *kernel, const hk_access *accesses, int count)
{
    hk_array *arrays[HK_MAX_ACCESSES + 1];
    bool any = false;
    count = !accesses || count < 0 ? 0 : count > HK_MAX_ACCESSES + 1 ? HK_MAX_ACCESSES + 1 : count;
    for (int i = 0; i < count; i++)
        arrays[i] = accesses[i].x;
    for (int i = 0; i < count; i++)
        if (writes(&accesses[i]) && arrays[i]) {
            hki_array_fail_in_place(arrays[i], name_of(kernel), arrays, count, self->code, "%s",
                                    self->message);
            any = true;
        }
    if (!any)
        hki_array_fail_in_place(NULL, name_of(kernel), arrays, count, self->code, "%s",
                                self->message);
}

/* ---- captured steps ------------------------------------------------------------------------- */

/* What a replay calls again; behind it are the modes, and the arguments. */
typedef struct noted {
    hk_kernel kernel;
    bool has_result;
    uint8_t priority;
    size_t args_bytes;
} noted;

static size_t modes_bytes(int count)
{
    return hki_round_up_bytes((size_t)count, _Alignof(max_align_t));
}

static void again(hk_array *const *arrays, int count, const void *options)
{
    const noted *self = options;
    const unsigned char *modes = (const unsigned char *)(self + 1);
    hk_access accesses[HK_MAX_ACCESSES + 1];
    for (int i = 0; i < count; i++)
        accesses[i] = hk_access_of(arrays[i], (hk_access_mode)modes[i]);
    const hki_kernel_run run = {.kernel = self->kernel,
                                .device = arrays[0]->storage->device,
                                .accesses = accesses,
                                .count = count,
                                .has_result = self->has_result,
                                .priority = self->priority,
                                .args = modes + modes_bytes(count),
                                .args_bytes = self->args_bytes};
    if (!hki_kernel_issue(&run))
        fail(&(const refusal){HK_OUT_OF_MEMORY, "out of host memory"}, &run.kernel, accesses,
             count);
}

static void note(hki_capture *capture, const hki_kernel_run *run)
{
    const size_t bytes = sizeof(noted) + modes_bytes(run->count) + run->args_bytes;
    noted *self = malloc(bytes);
    hk_array *arrays[HK_MAX_ACCESSES + 1];
    if (!self) {
        hki_array_uncapturable(run->kernel.name, "host memory is short");
        return;
    }
    unsigned char *modes = (unsigned char *)(self + 1);
    *self = (noted){run->kernel, run->has_result, run->priority, run->args_bytes};
    for (int i = 0; i < run->count; i++) {
        arrays[i] = run->accesses[i].x;
        modes[i] = (unsigned char)run->accesses[i].mode;
    }
    if (run->args_bytes)
        memcpy(modes + modes_bytes(run->count), run->args, run->args_bytes);
    hki_hooks.capture->compound_begin(capture, run->kernel.name, again, arrays, run->count, self,
                                      bytes, 0);
    free(self);
}

/* Beside the call, which goes on as without. */
static bool issue(refusal *self, const hki_kernel_run *run)
{
    hki_capture *capture = hki_capturing;
    if (capture && run->kernel.release) {
        hki_array_uncapturable(run->kernel.name, run->promise ? "a promise is kept once"
                                                              : "its arguments end with the call");
        capture = NULL;
    }
    if (capture)
        note(capture, run);
    const bool issued =
        hki_kernel_issue(run) || refuse(self, HK_OUT_OF_MEMORY, "out of host memory");
    if (capture)
        hki_hooks.capture->compound_end(capture);
    return issued;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static hki_kernel_run run_of(const hk_kernel *kernel, const hk_access *accesses, int count,
                             const void *args, size_t args_bytes, const hk_run_options *options)
{
    hki_kernel_run run = {.kernel = *kernel,
                          .accesses = accesses,
                          .count = count,
                          .args = args,
                          .args_bytes = args_bytes,
                          .priority = hki_priority_of(options ? options->priority : 0)};
    run.kernel.name = name_of(kernel);
    return run;
}

/* The one that is asked for, or that the first array is on, or the other one. */
static hki_device *device_of(const hk_run_options *options, const hk_access *accesses, int count,
                             hki_device *other)
{
    if (options && options->device.handle)
        return options->device.handle;
    return count > 0 && accesses[0].x && accesses[0].x->storage ? accesses[0].x->storage->device
                                                                : other;
}

static void run_or_fail(const hk_kernel *kernel, const hk_access *accesses, int count,
                        const void *args, size_t args_bytes, const hk_run_options *options,
                        hk_promise *promise)
{
    refusal problem = {.code = HK_OK};
    if (check_kernel(&problem, kernel, accesses, count, 1, args, args_bytes)) {
        hki_kernel_run run = run_of(kernel, accesses, count, args, args_bytes, options);
        run.device = device_of(options, accesses, count, NULL);
        run.promise = promise;
        if (check(&problem, &run) && issue(&problem, &run))
            return;
    }
    let_go(kernel, args);
    fail(&problem, kernel, accesses, count);
}

void(hk_run)(const hk_kernel *kernel, const hk_access *accesses, int count, const void *args,
             size_t args_bytes, const hk_run_options *options)
{
    HKI_TAKE_OPTIONS(hk_run_options, options);
    run_or_fail(kernel, accesses, count, args, args_bytes, options, NULL);
}

void hki_kernel_run_promise(const hk_kernel *kernel, const hk_access *accesses, int count,
                            hk_promise *promise)
{
    if (promise)
        run_or_fail(kernel, accesses, count, &promise, sizeof promise, NULL, promise);
    else
        fail(&(const refusal){HK_OUT_OF_MEMORY, "out of host memory"}, kernel, accesses, count);
}

/* ---- new results ---------------------------------------------------------------------------- */

static hk_array *failed_result(const refusal *self, const hk_kernel *kernel,
                               const hk_access *accesses, int count, hki_device *device)
{
    hk_array *arrays[HK_MAX_ACCESSES];
    count = !accesses || count < 0 ? 0 : count > HK_MAX_ACCESSES ? HK_MAX_ACCESSES : count;
    for (int i = 0; i < count; i++)
        arrays[i] = accesses[i].x;
    return hki_array_create_failed(device, name_of(kernel), arrays, count, self->code, "%s",
                                   self->message);
}

static void no_gradient(hk_function_call *call)
{
    snprintf(call->error, sizeof call->error,
             "the kernel %s has no gradient; give it one, or hk_detach what it reads",
             (const char *)call->context);
}

/* On the tape, if it records. A gradient that is missing fails when it is wanted. */
static hk_array *record(const hki_kernel_run *run, int input_count, hk_array *result)
{
    hk_array *inputs[HK_MAX_ACCESSES];
    hk_function_options options = {.name = run->kernel.name,
                                   .backward = run->kernel.gradient,
                                   .reads_inputs = run->kernel.gradient_reads,
                                   .reads_outputs = run->kernel.gradient_reads_result};
    if (!hk_is_recording() || result->failed || !hki_dtype_is_inexact(result->dtype))
        return result;
    for (int i = 0; i < input_count; i++)
        inputs[i] = run->accesses[i].mode == HK_READS ? run->accesses[i].x : NULL;
    if (!options.backward) {
        options.backward = no_gradient;
        options.context = (void *)(uintptr_t)run->kernel.name;
    } else if (run->args_bytes) {
        options.context = malloc(run->args_bytes);
        options.release = free;
        if (!options.context)
            return hki_array_create_failed(run->device, run->kernel.name, NULL, 0, HK_OUT_OF_MEMORY,
                                           "out of host memory");
        memcpy(options.context, run->args, run->args_bytes);
    }
    (hk_function)(inputs, input_count, &result, 1, &options);
    return result;
}

/* The result's handle is made here, so that it and the call are noted in order. */
static hk_array *make(refusal *self, hki_kernel_run *run, hk_access *accesses, hk_dims shape,
                      hk_dtype dtype)
{
    const int inputs = run->count;
    char why[256];
    uint64_t bytes;
    if (!hki_dims_bytes(&shape, dtype, &bytes, why, sizeof why)) {
        refuse(self, HK_INVALID_ARGUMENT, "the result: %s", why);
        return NULL;
    }
    hk_array *result = hki_array_create(run->device, shape, dtype);
    if (result->failed) {
        refuse(self, HK_OUT_OF_MEMORY, "out of host memory");
        hk_array_release(hk_take(result));
        return NULL;
    }
    if (hki_capturing)
        hki_hooks.capture->made(hki_capturing, run->kernel.name, result);
    accesses[run->count++] = hk_writes(result);
    run->has_result = true;
    if (check(self, run) && issue(self, run))
        return record(run, inputs, result);
    hk_array_release(hk_take(result));
    return NULL;
}

hk_array *(hk_run_new)(const hk_kernel *kernel, hk_dims shape, hk_dtype dtype,
                       const hk_access *accesses, int count, const void *args, size_t args_bytes,
                       const hk_run_options *options)
{
    HKI_TAKE_OPTIONS(hk_run_options, options);
    refusal problem = {.code = HK_OK};
    hk_access all[HK_MAX_ACCESSES + 1];
    HKI_HOLD(held);
    hki_device *device = hki_device_hold(options ? options->device : (hk_device){NULL}, &held);
    if (check_kernel(&problem, kernel, accesses, count, 0, args, args_bytes)) {
        if (count > 0)
            memcpy(all, accesses, (size_t)count * sizeof *all);
        hki_kernel_run run = run_of(kernel, all, count, args, args_bytes, options);
        run.device = device = device_of(options, accesses, count, device);
        hk_array *result = device->class ? make(&problem, &run, all, shape, dtype) : NULL;
        if (result)
            return result;
        /* What it updates beside the result fails, too. */
        for (int i = 0; i < count; i++)
            if (writes(&accesses[i])) {
                fail(&problem, kernel, accesses, count);
                break;
            }
    }
    let_go(kernel, args);
    return failed_result(&problem, kernel, accesses, count, device);
}
