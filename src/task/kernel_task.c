/* The task of a call of a program's kernel, and what the kernel's functions ask about it. */
#include "task/kernel_call.h"

#include "base/config.h"
#include "base/integer.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

enum { RANGES_OF_CORE = 4, RANGE_NS = 30000, MOST_RANGES = 64 };

typedef struct payload {
    hk_kernel kernel;
    int64_t extent, range_count;
    size_t scratch_bytes;
    double moved_bytes;
    hk_promise *promise;
    void *args; /* behind all else; NULL: none */
    int count;
    bool is_checked;            /* HOCKET_CHECK */
    uint64_t read_sum;          /* of the bytes that are read only */
    const unsigned char *modes; /* hk_access_mode */
    alignas(16) hki_tensor tensors[];
} payload;
_Static_assert(sizeof(hki_tensor) % 16 == 0, "arguments are aligned");

struct hk_task_call {
    const payload *payload;
    hki_task *task; /* NULL: the kernel is asked about a call that is not issued yet */
    int64_t range, begin, end;
    void *scratch, *stream;
};

/* ---- what kernels ask ----------------------------------------------------------------------- */

hk_task_view hki_kernel_view(const void *argument, int index)
{
    const payload *self = argument;
    hk_task_view view = {.shape = {.ndim = -1}};
    if (index < 0 || index >= self->count)
        return view;
    const hki_tensor *tensor = &self->tensors[index];
    view.data = tensor->size > 0 ? tensor->data : NULL;
    view.dtype = tensor->dtype;
    view.shape.ndim = tensor->ndim;
    memcpy(view.shape.dims, tensor->dims, sizeof view.shape.dims);
    memcpy(view.strides, tensor->strides, sizeof view.strides);
    return view;
}

hk_task_view hk_task_view_of(const hk_task_call *call, int index)
{
    return hki_kernel_view(call->payload, index);
}

int hk_task_view_count(const hk_task_call *call)
{
    return call->payload->count;
}

const void *hk_task_args(const hk_task_call *call)
{
    return call->payload->args;
}

int64_t hk_task_begin(const hk_task_call *call)
{
    return call->begin;
}

int64_t hk_task_end(const hk_task_call *call)
{
    return call->end;
}

void *hk_task_scratch(const hk_task_call *call)
{
    return call->scratch;
}

void *hk_task_stream(const hk_task_call *call)
{
    return call->stream;
}

bool hk_task_is_cancelled(const hk_task_call *call)
{
    return call->task && hki_runtime_is_ending(hki_task_get_spec(call->task)->device->runtime);
}

void hk_task_refuse(hk_task_call *call, const char *format, ...)
{
    char message[512];
    va_list args;
    if (!call->task)
        return;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    hki_task_fail(call->task, call->range, HK_INVALID_ARGUMENT, "%s", message);
}

/* ---- the task ------------------------------------------------------------------------------- */

/* FNV-1a of the elements that the kernel may only read. */
static uint64_t sum_read(const payload *self)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (int i = 0; i < self->count; i++) {
        const hki_tensor *tensor = &self->tensors[i];
        const hki_span span = hki_tensor_span(tensor);
        if (self->modes[i] != HK_READS || tensor->size == 0 || !span.fills)
            continue;
        const unsigned char *bytes =
            (const unsigned char *)hki_storage_kernel_data(tensor->storage) + span.begin;
        const uint64_t size = span.end - span.begin, row = span.pitch ? span.pitch : size;
        const uint64_t width = span.pitch ? size % row : size;
        for (uint64_t at = 0; at < size; at += row)
            for (uint64_t byte = at; byte < at + width; byte++)
                sum = (sum ^ bytes[byte]) * UINT64_C(1099511628211);
    }
    return sum;
}

static bool prepare(hki_task *task, void *argument)
{
    payload *self = argument;
    for (int i = 0; i < self->count; i++) {
        hki_storage *storage = self->tensors[i].storage;
        if (self->modes[i] != HK_READS && !hki_storage_materialise(storage)) {
            hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "%s has no room for %" PRIu64 " bytes",
                          storage->device->name, storage->bytes);
            return false;
        }
        hki_tensor_resolve(&self->tensors[i]);
    }
    self->is_checked = atomic_load_explicit(&hki_config_checks, memory_order_relaxed) &&
                       hki_device_is_host(hki_task_get_spec(task)->device);
    if (self->is_checked)
        self->read_sum = sum_read(self);
    return true;
}

static int64_t begin_of(const payload *self, int64_t range)
{
    const int64_t each = self->extent / self->range_count,
                  longer = self->extent % self->range_count;
    return range * each + (range < longer ? range : longer);
}

static void run(hki_task *task, void *argument, int64_t range)
{
    const payload *self = argument;
    hki_device *device = hki_task_get_spec(task)->device;
    hk_task_call call = {.payload = self,
                         .task = task,
                         .range = range,
                         .begin = begin_of(self, range),
                         .end = begin_of(self, range + 1)};
    if (self->scratch_bytes && !(call.scratch = hki_device_allocate(device, self->scratch_bytes))) {
        hki_task_fail(task, range, HK_OUT_OF_MEMORY, "%s has no room for %zu bytes of scratch",
                      device->name, self->scratch_bytes);
        return;
    }
    const int64_t begin_ns = hki_clock_ns();
    self->kernel.cpu(&call);
    if (range == 0 && !self->kernel.waits)
        hki_kernel_time_learn(self->kernel.cpu, self->moved_bytes,
                              (double)(hki_clock_ns() - begin_ns) * (double)self->range_count);
    if (call.scratch)
        hki_device_release(device, call.scratch, self->scratch_bytes);
}

static void join(hki_task *task, void *argument)
{
    const payload *self = argument;
    if (self->is_checked && self->read_sum != sum_read(self))
        hki_task_fail(task, 0, HK_INVALID_ARGUMENT,
                      "the kernel has written into an array that it only reads; hk_updates is for "
                      "arrays that are read and written");
}

static void finish(hki_task *task, void *argument)
{
    const payload *self = argument;
    for (int i = 0; i < self->count; i++)
        hki_storage_release_use(self->tensors[i].storage);
    if (self->promise)
        hki_runtime_count_promises(hki_task_get_spec(task)->device->runtime, -1);
    if (self->kernel.release)
        self->kernel.release(self->args);
}

static void describe(const void *argument, char *text, size_t bytes)
{
    const payload *self = argument;
    hki_tensors_describe(self->tensors, self->count, text, bytes);
}

static int operands(const void *argument, hki_trace_operand *list, int limit)
{
    const payload *self = argument;
    const int count = self->count < limit ? self->count : limit;
    for (int i = 0; i < count; i++)
        list[i] = hki_tensor_operand(&self->tensors[i], self->modes[i] != HK_READS);
    return count;
}

/* ---- kernels that wait ---------------------------------------------------------------------- */

/* The runtime may end as soon as the task has, which this thread is still about to tell. */
static void run_beside(hki_task *task, void *argument)
{
    hki_runtime *runtime = hki_task_get_spec(task)->device->runtime;
    const hki_outside_end end = {.has_begun = true, .begin_ticks = hki_ticks()};
    hki_runtime_retain(runtime);
    run(task, argument, 0);
    if (!hki_task_has_failed(task))
        join(task, argument);
    hki_task_end(task, &end);
    hki_runtime_release(runtime);
}

static void hand_over(hki_task *task, void *argument, int64_t range)
{
    (void)range;
    if (!prepare(task, argument))
        hki_task_end(task, &(const hki_outside_end){.begin_ticks = hki_ticks()});
    else if (hki_runtime_is_serial(hki_task_get_spec(task)->device->runtime) ||
             !hki_kernel_thread_run(run_beside, task, argument))
        run_beside(task, argument); /* for want of threads it takes a core */
}

static const hki_task_class waiting_class = {.is_outside = true,
                                             .run = hand_over,
                                             .finish = finish,
                                             .describe = describe,
                                             .operands = operands};

/* ---- on a GPU ------------------------------------------------------------------------------- */

typedef struct launch {
    hki_task *task;
    const payload *payload;
} launch;

static void put_on_stream(void *argument, void *stream, void *workspace)
{
    const launch *self = argument;
    hk_task_call call = {.payload = self->payload,
                         .task = self->task,
                         .end = self->payload->extent,
                         .scratch = workspace,
                         .stream = stream};
    self->payload->kernel.cuda(&call);
}

static void run_on_stream(hki_task *task, void *argument, int64_t range)
{
    const payload *self = argument;
    hki_device *device = hki_task_get_spec(task)->device;
    (void)range;
    device->class->run_own(device, self->scratch_bytes, put_on_stream, &(launch){task, self});
}

static const hki_task_class stream_class = {.enqueues = true,
                                            .prepare = prepare,
                                            .run = run_on_stream,
                                            .finish = finish,
                                            .describe = describe,
                                            .operands = operands};

/* ---- promises ------------------------------------------------------------------------------- */

static void begin_promise(hki_task *task, void *argument, int64_t range)
{
    const payload *self = argument;
    (void)range;
    if (prepare(task, argument))
        hki_promise_begin(self->promise, task, argument);
    else
        hki_task_end(task, &(const hki_outside_end){.begin_ticks = hki_ticks()});
}

static const hki_task_class promise_class = {.is_outside = true,
                                             .is_promise = true,
                                             .run = begin_promise,
                                             .finish = finish,
                                             .describe = describe,
                                             .operands = operands};

static const hki_task_class kernel_class = {.prepare = prepare,
                                            .run = run,
                                            .join = join,
                                            .finish = finish,
                                            .describe = describe,
                                            .operands = operands};

/* ---- issuing -------------------------------------------------------------------------------- */

static unsigned engine_mode(const hki_kernel_run *run, int index)
{
    switch (run->accesses[index].mode) {
    case HK_READS:
        return HKI_READ;
    case HK_UPDATES:
        return HKI_READ | HKI_WRITE;
    default:
        return HKI_WRITE | HKI_HEAL | (run->has_result && index == run->count - 1 ? HKI_FRESH : 0u);
    }
}

/* In how many ranges: follows from the call and the device's cores alone. cost_ns 0: not known. */
static int64_t count_ranges(int64_t extent, double cost_ns, int core_count)
{
    int64_t most = (int64_t)RANGES_OF_CORE * core_count;
    most = core_count <= 1 ? 1 : most > MOST_RANGES ? MOST_RANGES : most;
    if (cost_ns > 0 && cost_ns / RANGE_NS < (double)most)
        most = (int64_t)(cost_ns / RANGE_NS);
    most = extent < most ? extent : most;
    return most < 1 ? 1 : most;
}

/* What the kernel says of the call. */
static void ask(payload *self, hki_task_spec *spec)
{
    const hk_kernel *kernel = &self->kernel;
    hk_task_call call = {.payload = self, .end = 1};
    const int64_t extent = kernel->extent && !kernel->waits ? kernel->extent(&call) : 1;
    self->extent = call.end = extent < 0 ? 0 : extent;
    double cost_ns = kernel->cost_ns ? kernel->cost_ns(&call) : 0;
    cost_ns = cost_ns > 0 && cost_ns < 1e15 ? cost_ns : 0;
    self->scratch_bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&call) : 0;
    self->range_count = spec->class == &kernel_class
                            ? count_ranges(self->extent, cost_ns, spec->device->core_count)
                            : 1;
    spec->piece_count = self->range_count;
    spec->cost.time_ns = cost_ns;
    spec->cost.memory_bytes = self->moved_bytes;
    spec->expected_ns =
        (int64_t)(cost_ns > 0 ? cost_ns : hki_kernel_time_expect(kernel->cpu, self->moved_bytes));
}

bool hki_kernel_submit(const hki_kernel_run *run)
{
    const size_t tensors = sizeof(payload) + (size_t)run->count * sizeof(hki_tensor);
    const size_t modes = hki_round_up_bytes((size_t)run->count, alignof(max_align_t));
    const hk_array *result = run->has_result ? run->accesses[run->count - 1].x : NULL;
    hki_task *task = hki_task_begin(run->device->runtime, tensors + modes + run->args_bytes,
                                    run->count, result ? result->storage->bytes : 0);
    if (!task)
        return false;
    payload *self = hki_task_payload(task);
    hki_task_spec *spec = hki_task_get_spec(task);
    unsigned char *mode = (unsigned char *)self + tensors;
    *self = (payload){
        .kernel = run->kernel, .count = run->count, .promise = run->promise, .modes = mode};
    if (run->args_bytes) {
        self->args = mode + modes;
        memcpy(mode + modes, run->args, run->args_bytes);
    }
    for (int i = 0; i < run->count; i++) {
        hki_tensor *tensor = &self->tensors[i];
        mode[i] = (unsigned char)run->accesses[i].mode;
        hki_tensor_init(tensor, run->accesses[i].x);
        hki_storage_retain_use(tensor->storage);
        const hki_span span = hki_tensor_span(tensor);
        spec->accesses[i] = hki_span_access(&span, tensor->storage, engine_mode(run, i));
        self->moved_bytes += (double)span.moved_bytes;
    }
    spec->access_count = run->count;
    spec->class = run->promise                  ? &promise_class
                  : run->device->class->run_own ? &stream_class
                  : run->kernel.waits           ? &waiting_class
                                                : &kernel_class;
    spec->device = run->device;
    spec->operation = run->kernel.name;
    if (run->priority)
        spec->priority = run->priority;
    ask(self, spec);
    if (run->promise)
        hki_runtime_count_promises(run->device->runtime, 1);
    hki_task_submit(task);
    return true;
}
