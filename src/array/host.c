/* Values between host memory and arrays; waiting. */
#include "array/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- copying ------------------------------------------------------------------------------------------ */

/* Copies between the elements of a resolved tensor in the host's memory and `values` in C order, in
 * runs as long as the strides allow. */
static void copy_elements(const hki_tensor *tensor, char *values, bool to_values)
{
    int64_t element_bytes = (int64_t)hk_dtype_bytes(tensor->dtype), run = 1;
    int64_t runs = tensor->size, at[HK_MAX_NDIM] = {0};
    int outer = tensor->ndim; /* axes that are stepped over */
    char *array = tensor->data;
    if (!runs)
        return;
    for (; outer > 0 && (tensor->dims[outer - 1] == 1 || tensor->strides[outer - 1] == run);
         outer--)
        run *= tensor->dims[outer - 1];
    size_t run_bytes = (size_t)(run * element_bytes);
    for (runs /= run; runs > 0; runs--) {
        memcpy(to_values ? values : array, to_values ? array : values, run_bytes);
        values += run_bytes;
        for (int axis = outer - 1; axis >= 0; axis--) {
            int64_t step = tensor->strides[axis] * element_bytes;
            array += step;
            if (++at[axis] < tensor->dims[axis])
                break;
            array -= step * at[axis];
            at[axis] = 0;
        }
    }
}

/* Kernels rely on a bool being 0 or 1. */
static void copy_values(hk_dtype dtype, void *to, const void *from, size_t bytes)
{
    const uint8_t *source = from;
    uint8_t *values = to;
    if (bytes && dtype != HK_BOOL)
        memcpy(to, from, bytes);
    for (size_t i = 0; dtype == HK_BOOL && i < bytes; i++)
        values[i] = source[i] != 0;
}

/* Why a capture cannot note what is called. */
static const char from_outside[] = "its values come from outside; give them as a bound array",
                  to_outside[] =
                      "what the program reads is not in the graph; read it after replays";

/* ---- making -------------------------------------------------------------------------------------------- */

/* The values at `data` of hk_from_host and hk_write. */
typedef struct given_values {
    const void *data;
    hk_dtype dtype;
} given_values;

static hk_code fill_given(void *context, void *to, size_t bytes, char *why, size_t why_bytes)
{
    const given_values *self = context;
    (void)why;
    (void)why_bytes;
    copy_values(self->dtype, to, self->data, bytes);
    return HK_OK;
}

/* An array in the host's memory with the values that `fill` writes: on `home`, or, where the host cannot use
 * its memory, on the host's device beside it, for a copy. Nobody else can see it yet, so that the values go in without a
 * task. NULL with *code: there is no memory for it, or what fill said. */
static hk_array *filled_on_host(hki_fill_fn fill, void *context, hk_dims shape, hk_dtype dtype,
                                hki_device *home, hk_code *code, char *why, size_t why_bytes)
{
    hk_array *x = hki_device_is_host(home)
                      ? hki_array_create(home, shape, dtype)
                      : hki_array_create_pinned(hki_device_of_host(home), shape, dtype);
    if (x->failed)
        return x;
    char text[192];
    *code = hki_storage_materialise(x->storage) ? HK_OK : HK_OUT_OF_MEMORY;
    if (*code == HK_OK) {
        *code =
            fill(context, hki_storage_kernel_data(x->storage), x->storage->bytes, why, why_bytes);
    } else {
        hki_dims_describe(&shape, text, sizeof text);
        snprintf(why, why_bytes, "%s has no %" PRIu64 " bytes left for %s%s",
                 hki_device_is_host(home) ? home->name : "the host", x->storage->bytes,
                 hk_dtype_name(dtype), text);
    }
    if (*code == HK_OK)
        return x;
    hk_array_release(hk_take(x));
    return NULL;
}

/* A copy, on its way, of `values` (owned by the scope; dropped). */
static hk_array *sent(hk_array *values, hki_device *home, const char *operation)
{
    hk_array *x = hki_array_create(home, values->shape, values->dtype);
    if (!x->failed && hk_size(x))
        hki_hooks.transfer(x, values, operation, true);
    hk_array_release(hk_take(values));
    return x;
}

/* Why nothing can be made there; HK_OK where it can. */
static hk_code refuse_making(const hki_device *home, const hk_dims *shape, hk_dtype dtype,
                             const void *data, char *why, size_t why_bytes)
{
    uint64_t bytes;
    char text[192];
    if (!home->class || !hki_runtime_alive(home->runtime)) {
        snprintf(why, why_bytes, "the device has failed");
    } else if (hki_dtype_is_complex(dtype) && hki_device_class_has_own_kernels(home->class)) {
        snprintf(why, why_bytes, "%s takes no %s yet; CPU devices do", home->name,
                 hk_dtype_name(dtype));
        return HK_UNSUPPORTED;
    } else if (hki_dims_bytes(shape, dtype, &bytes, why, why_bytes)) {
        if (data || !bytes)
            return HK_OK;
        hki_dims_describe(shape, text, sizeof text);
        snprintf(why, why_bytes, "argument data is NULL, but %s%s takes %" PRIu64 " bytes",
                 hk_dtype_name(dtype), text, bytes);
    }
    return HK_INVALID_ARGUMENT;
}

/* data: not NULL, where it is not the program's that may be wrong. */
static hk_array *create_filled(const char *operation, hk_dims shape, hk_dtype dtype,
                               hk_device device, const void *data, hki_fill_fn fill, void *context)
{
    char why[HKI_FILL_WHY_BYTES];
    why[0] = '\0'; /* no more: to clear it all takes longer than the rest */
    HKI_HOLD(held);
    hki_device *home = hki_device_hold(device, &held);
    hki_array_uncapturable(operation, from_outside);
    hk_code code = refuse_making(home, &shape, dtype, data, why, sizeof why);
    hk_array *x = code == HK_OK
                      ? filled_on_host(fill, context, shape, dtype, home, &code, why, sizeof why)
                      : NULL;
    if (!x)
        return hki_array_create_failed(home, operation, NULL, 0, code, "%s", why);
    return x->failed || hki_device_is_host(home) ? x : sent(x, home, operation);
}

hk_array *hki_array_create_filled(const char *operation, hk_dims shape, hk_dtype dtype,
                                  hk_device device, hki_fill_fn fill, void *context)
{
    return create_filled(operation, shape, dtype, device, &fill, fill, context);
}

static hk_array *create_given(const char *operation, const void *data, hk_dims shape,
                              hk_dtype dtype, hk_device device)
{
    given_values values = {data, dtype};
    return create_filled(operation, shape, dtype, device, data, fill_given, &values);
}

hk_array *(hk_from_host)(const void *data, hk_dims shape, hk_dtype dtype, hk_device device)
{
    return create_given("from_host", data, shape, dtype, device);
}

hk_array *(hk_scalar)(hk_number value, hk_dtype dtype, hk_device device)
{
    _Alignas(16) char element[HKI_ELEMENT_BYTES] = {0};
    char text[96];
    hki_number_describe(value, text, sizeof text);
    /* An invalid dtype is left to the common checks. */
    if (!hki_number_store(dtype, element, value) && hk_dtype_bytes(dtype))
        return hki_array_create_failed(device.handle, "scalar", NULL, 0, HK_OUT_OF_RANGE,
                                       "value is %s, which does not fit %s", text,
                                       hk_dtype_name(dtype));
    return create_given("scalar", element, (hk_dims){0}, dtype, device);
}

/* ---- waiting and reading ------------------------------------------------------------------------------ */

/* Fails a call that returns a status; lent. */
static const hk_status *refuse(hk_array *x, const char *operation, hk_code code, const char *format,
                               ...) HK_PRINTF(4, 5);
static const hk_status *refuse(hk_array *x, const char *operation, hk_code code, const char *format,
                               ...)
{
    char inputs[224] = "";
    hk_source source = hki_source_get();
    if (x)
        hki_array_describe(x, inputs, sizeof inputs);
    const hki_status_facts facts = {.operation = operation,
                                    .device = x ? x->storage->device->name : NULL,
                                    .inputs = inputs,
                                    .file = source.file,
                                    .line = source.line};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return hki_status_lend(status);
}

static void keep_storage(void *storage)
{
    hki_storage_retain_use(storage);
}

static void drop_storage(void *storage)
{
    hki_storage_release_use(storage);
}

hki_waiting hki_array_waiting(hk_array *x)
{
    hki_waiting waiting = {
        .var = &x->storage->var, .keep = keep_storage, .drop = drop_storage, .owner = x->storage};
    waiting.range = hki_array_range(x);
    return waiting;
}

const hk_status *hki_array_read(hk_array *x, void (*body)(void *), void *argument)
{
    const hk_status *gone = hki_array_gone(x);
    if (gone)
        return gone;
    hki_waiting waiting = hki_array_waiting(x);
    waiting.body = body;
    waiting.argument = argument;
    const hk_status *status = hki_wait_with(&waiting);
    if (x->failed && hk_ok(status)) /* there was no memory to note the failure in */
        return hk_status_retain(hki_array_no_memory()->storage->record);
    return status;
}

/* See hki_direct_look. */
static bool look(hk_array *x)
{
    return !x->failed && !x->storage->record && hki_direct_look(&x->storage->var);
}

const hk_status *hk_wait(hk_array *x)
{
    if (!x)
        return refuse(NULL, "wait", HK_INVALID_ARGUMENT, "argument x is NULL");
    if (look(x)) {
        hki_direct_end(x->storage->var.runtime);
        return hki_status_lend(hki_status_ok());
    }
    return hki_status_lend(hki_array_read(x, NULL, NULL));
}

const hk_status *hk_wait_for(hk_array *x, int64_t timeout_ns)
{
    if (!x)
        return refuse(NULL, "wait_for", HK_INVALID_ARGUMENT, "argument x is NULL");
    const hk_status *gone = hki_array_gone(x);
    if (gone)
        return hki_status_lend(gone);
    const hki_waiting waiting = hki_array_waiting(x);
    return hki_status_lend(hki_wait_for(&waiting, timeout_ns));
}

bool hk_is_ready(hk_array *x)
{
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    hk_status_release(gone);
    if (!x || gone || hki_in_task())
        return !hki_in_task();
    const hki_waiting waiting = hki_array_waiting(x);
    return hki_range_has_come(&waiting);
}

const hk_status *hk_error_now(hk_array *x)
{
    if (!x)
        return refuse(NULL, "error_now", HK_INVALID_ARGUMENT, "argument x is NULL");
    const hk_status *gone = hki_array_gone(x);
    if (gone)
        return hki_status_lend(gone);
    const hki_waiting waiting = hki_array_waiting(x);
    return hki_status_lend(hki_range_error_now(&waiting));
}

hk_array *hki_array_readable(hk_array *x, const char *operation)
{
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    bool stays = !x || gone || x->failed || !hk_size(x) || hki_in_task() ||
                 hki_device_is_host(x->storage->device);
    hk_status_release(gone);
    if (stays)
        return hk_array_retain(x);
    hk_array *copy = hk_take(
        hki_array_create_pinned(hki_device_of_host(x->storage->device), x->shape, x->dtype));
    if (!copy->failed && !hki_storage_materialise(copy->storage)) {
        hk_array_release(copy);
        return hki_array_no_memory();
    }
    if (!copy->failed)
        hki_hooks.transfer(copy, x, operation, true);
    return copy;
}

typedef struct reading {
    const hk_array *x;
    void *out;
    bool unset; /* no task has ever written to x, nor failed to */
} reading;

static void read_values(void *argument)
{
    reading *self = argument;
    hki_tensor tensor;
    hki_tensor_init(&tensor, self->x);
    bool made = atomic_load_explicit(&tensor.storage->data, memory_order_acquire);
    self->unset = !made && tensor.size > 0;
    if (!made)
        return;
    hki_tensor_resolve(&tensor);
    copy_elements(&tensor, self->out, true);
}

/* A few elements that nobody is going to write. */
static bool read_at_once(hk_array *x, void *out)
{
    reading self = {.x = x, .out = out, .unset = true};
    if (x->size > HKI_DIRECT_ELEMENTS || !hki_device_is_host(x->storage->device) || !look(x))
        return false;
    read_values(&self);
    hki_direct_end(x->storage->var.runtime);
    return !self.unset;
}

/* As hk_to_host, when out and its size are right. */
static const hk_status *read_out(hk_array *x, void *out, const char *operation)
{
    if (read_at_once(x, out))
        return hki_status_lend(hki_status_ok());
    hk_array *readable = hki_array_readable(x, operation);
    reading self = {.x = readable, .out = out};
    const hk_status *status = hki_array_read(readable, read_values, &self);
    hk_array_release(readable);
    if (hk_ok(status) && self.unset)
        return refuse(x, operation, HK_INVALID_ARGUMENT, "the array was never written");
    return hki_status_lend(status);
}

static uint64_t bytes_of(const hk_array *x)
{
    return (uint64_t)hk_size(x) * hk_dtype_bytes(x->dtype);
}

const hk_status *(hk_to_host)(hk_array *x, void *out, size_t bytes)
{
    char text[224];
    if (!x)
        return refuse(NULL, "to_host", HK_INVALID_ARGUMENT, "argument x is NULL");
    uint64_t expected = bytes_of(x);
    hki_array_uncapturable("to_host", to_outside);
    bool right = bytes == expected && (out || !bytes);
    const hk_status *status = right ? read_out(x, out, "to_host") : hk_wait(x);
    if (right || !hk_ok(status))
        return status;
    hki_array_describe(x, text, sizeof text);
    if (bytes != expected)
        return refuse(x, "to_host", HK_INVALID_ARGUMENT, "bytes is %zu, but %s has %" PRIu64, bytes,
                      text, expected);
    return refuse(x, "to_host", HK_INVALID_ARGUMENT,
                  "argument out is NULL, but %s has %" PRIu64 " bytes", text, expected);
}

/* The record; of x in *value, where that is ok. */
static const hk_status *read_item(hk_array *x, bool may_be_complex, hk_complex *value)
{
    _Alignas(16) char element[HKI_ELEMENT_BYTES];
    char text[224];
    const hk_status *result;
    hki_array_uncapturable("item", to_outside);
    if (!x)
        return refuse(NULL, "item", HK_INVALID_ARGUMENT, "argument x is NULL");
    if (!may_be_complex && hki_dtype_is_complex(x->dtype) && hk_ok(result = hk_wait(x)))
        return refuse(x, "item", HK_UNSUPPORTED,
                      "x is %s; hk_item_complex gives its value, hk_real and hk_imag parts",
                      hk_dtype_name(x->dtype));
    if (hk_size(x) == 1) {
        result = read_out(x, element, "item");
    } else if (hk_ok(result = hk_wait(x))) {
        hki_array_describe(x, text, sizeof text);
        result = refuse(x, "item", HK_INVALID_ARGUMENT,
                        "%s has %" PRId64 " elements, but must have one", text, hk_size(x));
    }
    if (hk_ok(result))
        *value = hki_complex_load(x->dtype, element);
    return result;
}

hk_complex(hk_item_complex)(hk_array *x, const hk_status **status)
{
    hk_complex value = {NAN, NAN};
    const hk_status *result = read_item(x, true, &value);
    if (status)
        *status = result;
    return value;
}

double(hk_item)(hk_array *x, const hk_status **status)
{
    hk_complex value = {NAN, NAN};
    const hk_status *result = read_item(x, false, &value);
    if (status)
        *status = result;
    return value.real;
}

/* ---- writing --------------------------------------------------------------------------------------------- */

/* The payload ends with a copy of the values. */
typedef struct writing {
    hki_tensor to;
    uint64_t bytes;
    _Alignas(16) char data[];
} writing;

static bool writing_prepare(hki_task *task, void *payload)
{
    writing *self = payload;
    if (hki_storage_materialise(self->to.storage))
        return true;
    hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "%s has no %" PRIu64 " bytes left",
                  self->to.storage->device->name, self->to.storage->bytes);
    return false;
}

static void writing_run(hki_task *task, void *payload, int64_t piece)
{
    writing *self = payload;
    (void)task;
    (void)piece;
    hki_tensor_resolve(&self->to);
    copy_elements(&self->to, self->data, false);
}

static void writing_finish(hki_task *task, void *payload)
{
    writing *self = payload;
    (void)task;
    hki_window_remove(self->to.storage->var.runtime, self->bytes);
    hki_storage_release_use(self->to.storage);
}

static const hki_task_class writing_class = {
    .prepare = writing_prepare, .run = writing_run, .finish = writing_finish};

static void writing_issue(hk_array *x, const void *data, size_t bytes)
{
    hki_runtime *runtime = x->storage->var.runtime;
    hki_task *task = hki_task_begin(runtime, sizeof(writing) + bytes, 1, bytes);
    if (!task) {
        hki_array_fail_in_place(x, "write", NULL, 0, HK_OUT_OF_MEMORY,
                                "no host memory for a copy of %zu bytes", bytes);
        return;
    }
    writing *payload = hki_task_payload(task);
    hki_tensor_init(&payload->to, x);
    payload->bytes = bytes;
    copy_values(x->dtype, payload->data, data, bytes);
    hki_storage_retain_use(x->storage);
    hki_window_add(runtime, bytes);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = &writing_class;
    spec->device = x->storage->device;
    spec->operation = "write";
    spec->expected_ns = 200 + (int64_t)bytes / 8;
    spec->accesses[0] = hki_array_access(x, HKI_WRITE | HKI_HEAL);
    hki_task_submit(task);
}

/* To memory that the host cannot use, by way of its own. */
static void send(hk_array *x, const void *data)
{
    HK_SCOPE;
    given_values given = {data, x->dtype};
    char why[HKI_FILL_WHY_BYTES];
    hk_code code;
    hk_array *values = filled_on_host(fill_given, &given, x->shape, x->dtype, x->storage->device,
                                      &code, why, sizeof why);
    if (values && !values->failed)
        hki_hooks.transfer(x, values, "write", false);
    else
        hki_array_fail_in_place(x, "write", NULL, 0, HK_OUT_OF_MEMORY,
                                "the host has no memory for a copy of %" PRIu64 " bytes",
                                bytes_of(x));
}

void(hk_write)(hk_array *x, const void *data, size_t bytes)
{
    char text[224];
    hki_array_uncapturable("write", from_outside);
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    if (gone || (x && x->failed)) {
        hk_status_release(gone);
        return;
    }
    const bool is_result = x && hki_hooks.tape_is_result(x);
    if (x && !x->read_only && !is_result && bytes == bytes_of(x) && (data || !bytes)) {
        if (hki_device_is_host(x->storage->device))
            writing_issue(x, data, bytes);
        else
            send(x, data);
        return;
    }
    hki_array_describe(x, text, sizeof text);
    if (!x)
        hki_array_fail_in_place(NULL, "write", NULL, 0, HK_INVALID_ARGUMENT, "argument x is NULL");
    else if (x->read_only)
        hki_array_fail_in_place(x, "write", &x, 1, HK_INVALID_ARGUMENT,
                                "x is a broadcast view or memory for reading, %s; write to what "
                                "it was made from",
                                text);
    else if (is_result)
        hki_array_fail_in_place(
            x, "write", &x, 1, HK_INVALID_ARGUMENT,
            "while recording, what a call gave that wants a gradient cannot be written into; do "
            "it between hk_pause_begin and hk_pause_end");
    else if (bytes != bytes_of(x))
        hki_array_fail_in_place(x, "write", &x, 1, HK_INVALID_ARGUMENT,
                                "bytes is %zu, but %s has %" PRIu64, bytes, text, bytes_of(x));
    else
        hki_array_fail_in_place(x, "write", &x, 1, HK_INVALID_ARGUMENT,
                                "argument data is NULL, but %s has %zu bytes", text, bytes);
}
