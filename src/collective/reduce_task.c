#include "collective/reduce_task.h"

#include "base/all_reduce_sizes.h"
#include "base/integer.h"
#include "collective/sum_kernel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 256 << 10, /* of each array; a pure function of size says how a task is cut */
    MAX_PIECES = 64
};
/* Bytes that a core moves, roughly: it decides where a task runs, never how it is cut. */
static const double bytes_per_ns = 8;

typedef struct operand {
    hki_storage *storage; /* a use of it */
    int64_t offset;       /* elements, of the part's begin */
} operand;

typedef struct payload {
    hk_dtype dtype;
    hk_dims shape;            /* of the arrays, for error records */
    int64_t size, piece_size; /* elements */
    int input_count, output_count;
    int device_count;   /* 0: it is no library's */
    operand operands[]; /* inputs, then outputs; a library's alone, which are both */
} payload;

/* Those of a library's. */
static int64_t size_of(const payload *self, int array)
{
    const size_t *sizes = (const size_t *)(const void *)(self->operands + self->output_count);
    return (int64_t)sizes[array];
}

static bool prepare(hki_task *task, void *argument)
{
    const payload *self = argument;
    for (int i = 0; i < self->input_count + self->output_count; i++) {
        hki_storage *storage = self->operands[i].storage;
        if (!hki_storage_materialise(storage)) {
            hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "%s has no room for %llu bytes",
                          storage->device->name, (unsigned long long)storage->bytes);
            return false;
        }
    }
    return true;
}

enum { FEW = 16 };

static void run_library(hki_task *task, const payload *self)
{
    const hki_device_class *class = hki_task_get_spec(task)->device->class;
    const int count = self->output_count;
    hki_device *few_devices[FEW], **devices = few_devices;
    void *few[FEW], **arrays = few, *many = NULL;
    if (count > FEW) {
        many = malloc((size_t)count * (sizeof *devices + sizeof *arrays));
        if (!many) {
            hki_task_fail(task, 0, HK_OUT_OF_MEMORY, "out of host memory");
            return;
        }
        devices = many;
        arrays = (void **)(devices + count);
    }
    for (int i = 0; i < count; i++) {
        const operand *its = &self->operands[i];
        devices[i] = its->storage->device;
        arrays[i] = hki_storage_kernel_data(its->storage) +
                    its->offset * (int64_t)hk_dtype_bytes(self->dtype);
    }
    class->all_reduce(devices, self->device_count, self->dtype, arrays,
                      (const size_t *)(const void *)(self->operands + count),
                      count / self->device_count);
    free(many);
}

static void run(hki_task *task, void *argument, int64_t piece)
{
    const payload *self = argument;
    hki_device *device = hki_task_get_spec(task)->device;
    int count = self->input_count + self->output_count;
    void *few[FEW], **blocks = few;
    if (self->device_count) {
        run_library(task, self);
        return;
    }
    int64_t begin = piece * self->piece_size;
    int64_t size = self->size - begin < self->piece_size ? self->size - begin : self->piece_size;
    int64_t element_bytes = (int64_t)hk_dtype_bytes(self->dtype);
    if (count > FEW && !(blocks = malloc((size_t)count * sizeof *blocks))) {
        hki_task_fail(task, piece, HK_OUT_OF_MEMORY, "out of host memory");
        return;
    }
    for (int i = 0; i < count; i++) {
        const operand *its = &self->operands[i];
        blocks[i] = hki_storage_kernel_data(its->storage) + (its->offset + begin) * element_bytes;
    }
    if (device->class->sum)
        device->class->sum(device, self->dtype, (const void *const *)blocks, self->input_count,
                           blocks + self->input_count, self->output_count, (size_t)size);
    else
        hki_sum_kernel(self->dtype, (const void *const *)blocks, self->input_count,
                       blocks + self->input_count, self->output_count, (size_t)size);
    if (blocks != few)
        free(blocks);
}

static void finish(hki_task *task, void *argument)
{
    (void)task;
    const payload *self = argument;
    for (int i = 0; i < self->input_count + self->output_count; i++)
        hki_storage_release_use(self->operands[i].storage);
}

static void describe(const void *argument, char *text, size_t bytes)
{
    const payload *self = argument;
    char shape[192];
    size_t used = 0;
    hki_dims_describe(&self->shape, shape, sizeof shape);
    const int count = self->device_count ? self->device_count : self->input_count;
    for (int i = 0; i < count && used < bytes; i++) {
        int written = snprintf(text + used, bytes - used, "%s%s%s", i ? ", " : "",
                               hk_dtype_name(self->dtype), shape);
        used += written > 0 ? (size_t)written : bytes;
    }
}

/* Of the part that is summed. */
static int operands(const void *argument, hki_trace_operand *operands, int limit)
{
    const payload *self = argument;
    int count = self->input_count + self->output_count;
    count = count < limit ? count : limit;
    for (int i = 0; i < count; i++)
        operands[i] = (hki_trace_operand){
            .dtype = (uint8_t)self->dtype,
            .ndim = 1,
            .is_output = i >= self->input_count,
            .dims = {self->device_count ? size_of(self, i / self->device_count) : self->size}};
    return count;
}

static const hki_task_class reduce_class = {.enqueues = true,
                                            .prepare = prepare,
                                            .run = run,
                                            .finish = finish,
                                            .describe = describe,
                                            .operands = operands};

static int find(hk_array *const *arrays, int count, const hk_array *x)
{
    for (int i = 0; i < count; i++)
        if (arrays[i] == x)
            return i;
    return -1;
}

static hki_access access_part(const hk_array *x, unsigned mode, int64_t begin, int64_t end)
{
    uint64_t element_bytes = hk_dtype_bytes(x->dtype);
    return (hki_access){.var = &x->storage->var,
                        .begin = (uint64_t)(x->offset + begin) * element_bytes,
                        .end = (uint64_t)(x->offset + end) * element_bytes,
                        .mode = mode};
}

static void fail_outputs(const char *operation, hk_array *const *outputs, int output_count)
{
    for (int i = 0; i < output_count; i++)
        hki_array_fail_in_place(outputs[i], operation, NULL, 0, HK_OUT_OF_MEMORY,
                                "out of host memory");
}

bool hki_reduce_issue(hki_device *device, const char *operation, hk_array *const *inputs,
                      int input_count, hk_array *const *outputs, int output_count, int64_t begin,
                      int64_t end)
{
    assert(begin < end && input_count > 0 && output_count > 0);
    int count = input_count + output_count;
    hki_task *task = hki_task_begin(device->runtime,
                                    sizeof(payload) + (size_t)count * sizeof(operand), count, 0);
    if (!task) {
        fail_outputs(operation, outputs, output_count);
        return false;
    }
    hki_task_spec *spec = hki_task_get_spec(task);
    payload *self = hki_task_payload(task);
    self->dtype = inputs[0]->dtype;
    self->shape = inputs[0]->shape;
    self->input_count = input_count;
    self->output_count = output_count;
    self->device_count = 0;
    spec->access_count = 0;
    for (int i = 0; i < count; i++) {
        bool is_input = i < input_count;
        hk_array *x = is_input ? inputs[i] : outputs[i - input_count];
        hki_storage_retain_use(x->storage);
        self->operands[i] = (operand){x->storage, x->offset + begin};
        /* Its old bytes are read: only whole new ones would end a failure. */
        if (is_input)
            spec->accesses[spec->access_count++] =
                access_part(x, find(outputs, output_count, x) < 0 ? HKI_READ : HKI_READ | HKI_WRITE,
                            begin, end);
        else if (find(inputs, input_count, x) < 0)
            spec->accesses[spec->access_count++] = access_part(x, HKI_WRITE | HKI_HEAL, begin, end);
    }
    int64_t element_bytes = (int64_t)hk_dtype_bytes(self->dtype),
            line = HKI_ALL_REDUCE_LINE_BYTES / element_bytes;
    int64_t bytes = (end - begin) * element_bytes;
    int64_t pieces = hki_divide_up(bytes, PIECE_BYTES);
    pieces = device->class->sum ? 1 : pieces < MAX_PIECES ? pieces : MAX_PIECES;
    self->size = end - begin;
    self->piece_size = hki_round_up(hki_divide_up(self->size, pieces), line);
    spec->class = &reduce_class;
    spec->device = device;
    spec->operation = operation;
    spec->piece_count = hki_divide_up(self->size, self->piece_size);
    spec->expected_ns = (int64_t)((double)(bytes * count) / bytes_per_ns);
    spec->cost.flops = (double)(end - begin) * (input_count - 1);
    spec->cost.memory_bytes = (double)(bytes * count);
    spec->collective = true;
    spec->queue = (uint8_t)hki_device_sum_queue(device);
    hki_task_submit(task);
    return true;
}

void hki_reduce_issue_library(const char *operation, hk_array *const *arrays, int count,
                              int array_count)
{
    const int all = count * array_count;
    hki_device *device = arrays[0]->storage->device;
    hki_task *task = hki_task_begin(device->runtime,
                                    sizeof(payload) + (size_t)all * sizeof(operand) +
                                        (size_t)array_count * sizeof(size_t),
                                    all, 0);
    if (!task) {
        fail_outputs(operation, arrays, all);
        return;
    }
    hki_task_spec *spec = hki_task_get_spec(task);
    payload *self = hki_task_payload(task);
    size_t *sizes = (size_t *)(void *)(self->operands + all);
    uint64_t bytes = 0;
    *self = (payload){.dtype = arrays[0]->dtype,
                      .shape = arrays[0]->shape,
                      .output_count = all,
                      .device_count = count};
    for (int i = 0; i < all; i++) {
        hk_array *x = arrays[i];
        hki_storage_retain_use(x->storage);
        self->operands[i] = (operand){x->storage, x->offset};
        spec->accesses[i] = access_part(x, HKI_READ | HKI_WRITE, 0, x->size);
        sizes[i / count] = (size_t)x->size;
        bytes += (uint64_t)x->size * hk_dtype_bytes(x->dtype);
    }
    spec->access_count = all;
    spec->class = &reduce_class;
    spec->device = device;
    spec->operation = operation;
    spec->piece_count = 1;
    spec->expected_ns = (int64_t)((double)bytes * 2 / bytes_per_ns);
    spec->cost.flops = (double)bytes / (double)hk_dtype_bytes(arrays[0]->dtype);
    spec->cost.memory_bytes = (double)bytes * 2;
    spec->collective = true;
    spec->queue = (uint8_t)hki_device_sum_queue(device);
    hki_task_submit(task);
}
