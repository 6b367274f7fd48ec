/* Failures travel as tasks, so that they take their place in the order of calls: the task reads the
 * inputs, whose failures then win, and writes the range that is to be failed. */
#include "array/handle.h"
#include "base/text.h"

#include <hocket/runtime.h>

#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048, INPUTS_BYTES = 512, FAILING_NS = 500 };

static atomic_bool refusals_are_raised; /* hk_wait_all need not tell of them */

void hk_refusals_are_raised(bool raised)
{
    atomic_store_explicit(&refusals_are_raised, raised, memory_order_relaxed);
}

typedef struct failing {
    const hk_status *record; /* counted; NULL: make one of code and message */
    hk_code code;
    bool is_raised; /* the program is told at the call */
    int storage_count;
    hki_storage **storages; /* a use of each; in the payload, like the texts */
    char *message, *inputs;
} failing;

static bool failing_prepare(hki_task *task, void *payload)
{
    const failing *self = payload;
    if (self->record)
        hki_task_fail_with(task, hk_status_retain(self->record));
    else if (self->is_raised)
        hki_task_fail_with(task, hki_task_record(task, NULL, self->code, "%s", self->message));
    else
        hki_task_fail(task, 0, self->code, "%s", self->message);
    return false;
}

static void failing_finish(hki_task *task, void *payload)
{
    failing *self = payload;
    (void)task;
    for (int i = 0; i < self->storage_count; i++)
        hki_storage_release_use(self->storages[i]);
    hk_status_release(self->record);
}

static void failing_describe(const void *payload, char *text, size_t bytes)
{
    const failing *self = payload;
    snprintf(text, bytes, "%s", self->inputs);
}

static const hki_task_class failing_class = {
    .prepare = failing_prepare, .finish = failing_finish, .describe = failing_describe};

/* A call that cannot be made. */
typedef struct refusal {
    const char *operation;
    hk_array *const *inputs;
    int input_count;
    const hk_status
        *record;        /* counted: why an input must not be named by a task; NULL in general */
    hki_device *device; /* that input's */
    hk_code code;
    char message[MESSAGE_BYTES];
} refusal;

static void refusal_init(refusal *self, const char *operation, hk_array *const *inputs,
                         int input_count, hk_code code, const char *format, va_list args)
{
    self->operation = operation;
    self->inputs = inputs;
    self->input_count = input_count;
    self->code = code;
    self->record = NULL;
    self->device = NULL;
    for (int i = 0; i < input_count && !self->record; i++)
        if (inputs[i] && (self->record = hki_array_gone(inputs[i])))
            self->device = inputs[i]->storage->device;
    if (hki_format_va(self->message, sizeof self->message, format, args) < 0)
        self->message[0] = '\0';
    const size_t length = strlen(self->message);
    hki_hooks.describe_layer(self->message + length, sizeof self->message - length);
    hki_hooks.capture_refuse(code, operation, self->message);
}

/* Fails the range of `out`, which tasks may name, by a task of `device`. False when host memory is short. */
static bool refusal_issue(const refusal *self, hki_device *device, hk_array *out)
{
    char inputs[INPUTS_BYTES];
    int count = 0, input_count = self->record ? 0 : self->input_count;
    hki_arrays_describe(self->inputs, self->input_count, inputs, sizeof inputs);
    size_t message_bytes = strlen(self->message) + 1, inputs_bytes = strlen(inputs) + 1;
    for (int i = 0; i < input_count; i++)
        count += self->inputs[i] != NULL;
    size_t storages_bytes = (size_t)(count + 1) * sizeof(hki_storage *);
    hki_task *task = hki_task_begin(device->runtime,
                                    sizeof(failing) + storages_bytes + message_bytes + inputs_bytes,
                                    count + 1, 0);
    if (!task)
        return false;
    failing *payload = hki_task_payload(task);
    hki_task_spec *spec = hki_task_get_spec(task);
    payload->record = hk_status_retain(self->record);
    payload->code = self->code;
    payload->is_raised =
        out->failed && atomic_load_explicit(&refusals_are_raised, memory_order_relaxed);
    payload->storage_count = 0;
    payload->storages = (hki_storage **)(void *)(payload + 1);
    payload->message = (char *)(payload->storages + count + 1);
    payload->inputs = payload->message + message_bytes;
    memcpy(payload->message, self->message, message_bytes);
    memcpy(payload->inputs, inputs, inputs_bytes);
    spec->class = &failing_class;
    spec->device = device;
    spec->operation = self->operation;
    spec->expected_ns = FAILING_NS;
    for (int i = -1; i < input_count; i++) {
        hk_array *x = i < 0 ? out : self->inputs[i];
        if (!x)
            continue;
        hki_storage_retain_use(x->storage);
        spec->accesses[payload->storage_count] =
            hki_array_access(x, i < 0 ? HKI_READ | HKI_WRITE : HKI_READ);
        payload->storages[payload->storage_count++] = x->storage;
    }
    hki_task_submit(task);
    return true;
}

static hk_array *create_failed(refusal *self, hki_device *device)
{
    HKI_HOLD(held);
    if (!device) /* handles of what is gone start no runtime */
        device = hki_device_hold((hk_device){self->device}, &held);
    if (!device->runtime) { /* there was no memory to start one */
        hk_status_release(self->record);
        return hki_array_no_memory();
    }
    if (!device->class) {
        self->code = hk_status_code(device->status);
        snprintf(self->message, sizeof self->message, "%s", hk_status_message(device->status));
    }
    if (!self->record && !hki_runtime_alive(device->runtime))
        self->record = hki_runtime_gone(device->runtime);
    hki_storage *storage = self->record ? hki_storage_create_detached(device, self->record)
                                        : hki_storage_create(device, 0);
    hk_array *x = hki_array_first(storage, &(hk_dims){0}, HK_F32);
    if (x) {
        x->failed = true;
        x->size = 0;
    }
    if (x && !self->record && !refusal_issue(self, device, x)) {
        hki_array_free(x);
        x = NULL;
    }
    hk_status_release(self->record);
    return hki_scope_add(x);
}

hk_array *hki_array_create_failed(hki_device *device, const char *operation,
                                  hk_array *const *inputs, int input_count, hk_code code,
                                  const char *format, ...)
{
    refusal self;
    va_list args;
    va_start(args, format);
    refusal_init(&self, operation, inputs, input_count, code, format, args);
    va_end(args);
    return create_failed(&self, device);
}

void hki_array_fail_in_place(hk_array *out, const char *operation, hk_array *const *inputs,
                             int input_count, hk_code code, const char *format, ...)
{
    refusal self;
    va_list args;
    va_start(args, format);
    refusal_init(&self, operation, inputs, input_count, code, format, args);
    va_end(args);
    if (!out) { /* noted as a root failure, dropped at once */
        hk_array_release(hk_take(create_failed(&self, NULL)));
        return;
    }
    const hk_status *gone = hki_array_gone(out);
    if (!gone && !out->failed && !refusal_issue(&self, out->storage->device, out)) {
        hki_var_fail_at_once(&out->storage->var, hki_array_range(out));
    }
    hk_status_release(gone);
    hk_status_release(self.record);
}

void hki_array_withhold(hk_array *x, const char *operation, const hk_status *record)
{
    const refusal self = {.operation = operation, .record = record};
    if (!refusal_issue(&self, x->storage->device, x))
        hki_var_fail_at_once(&x->storage->var, hki_array_range(x));
}
