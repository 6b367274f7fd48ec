#include "data/slice.h"

#include <inttypes.h>
#include <string.h>

/* Where a task is cut follows from them, no value does. */
enum { MAX_PIECES = 64, PIECE_NS = 30000 };

typedef struct filling {
    hk_data_set *set; /* counted */
    int field_count;
    int64_t rows, piece_count;
    int64_t *indices; /* in the payload, behind the tensors */
    hki_data_batch batch;
    hki_tensor fields[]; /* a use of each storage */
} filling;

static bool filling_prepare(hki_task *task, void *payload)
{
    filling *self = payload;
    uint64_t bytes = 0;
    bool is_there = true;
    for (int i = 0; i < self->field_count; i++)
        bytes += self->fields[i].storage->bytes;
    for (int i = 0; i < self->field_count && is_there; i++)
        is_there = hki_storage_materialise(self->fields[i].storage);
    if (!is_there) {
        hki_task_fail(task, 0, HK_OUT_OF_MEMORY,
                      "%s has no %" PRIu64 " bytes left for a batch of %" PRId64
                      " samples; make batch_size smaller, or release arrays",
                      self->fields[0].storage->device->name, bytes, self->rows);
        return false;
    }
    for (int i = 0; i < self->field_count; i++) {
        hki_tensor_resolve(&self->fields[i]);
        self->batch.fields[i] = self->fields[i].data;
    }
    return true;
}

static void filling_run(hki_task *task, void *payload, int64_t piece)
{
    const filling *self = payload;
    const hk_data_set *set = self->set;
    char message[HKI_DATA_MESSAGE_BYTES];
    int64_t size = self->rows / self->piece_count, longer = self->rows % self->piece_count;
    int64_t begin = piece * size + (piece < longer ? piece : longer);
    int64_t end = begin + size + (piece < longer);
    const hk_code code = set->class->fill(set, &self->batch, begin, end, message);
    if (code != HK_OK)
        hki_task_fail(task, piece, code, "%s", message);
}

static void filling_finish(hki_task *task, void *payload)
{
    filling *self = payload;
    (void)task;
    for (int i = 0; i < self->field_count; i++)
        hki_storage_release_use(self->fields[i].storage);
    hk_data_set_release(self->set);
}

static int filling_operands(const void *payload, hki_trace_operand *operands, int limit)
{
    const filling *self = payload;
    int count = 0;
    for (int i = 0; i < self->field_count && count < limit; i++)
        operands[count++] = hki_tensor_operand(&self->fields[i], true);
    return count;
}

static const hki_task_class filling_class = {.prepare = filling_prepare,
                                             .run = filling_run,
                                             .finish = filling_finish,
                                             .operands = filling_operands};

static void take_indices(const hki_sampling *from, int64_t first, int64_t rows, int64_t *indices)
{
    if (from->order)
        memcpy(indices, from->order + first, (size_t)rows * sizeof *indices);
    else
        for (int64_t i = 0; i < rows; i++)
            indices[i] = first + i;
}

static int64_t piece_count(double work_ns, int64_t rows)
{
    const double pieces = work_ns / PIECE_NS;
    const int64_t most = rows < MAX_PIECES ? rows : MAX_PIECES;
    return pieces < 1 ? 1 : pieces < (double)most ? (int64_t)pieces : most;
}

/* Issues the task that fills arrays in the host's memory. False when host memory is short. */
static bool filling_issue(const hki_sampling *from, const hki_batch_slice *to, int64_t first,
                          int64_t rows)
{
    const int count = from->set->field_count;
    hki_device *device = to->fields[0]->storage->device;
    const size_t head = sizeof(filling) + (size_t)count * sizeof(hki_tensor);
    const double work_ns = from->set->sample_ns * (double)rows;
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += to->fields[i]->storage->bytes;
    hki_task *task =
        hki_task_begin(device->runtime, head + (size_t)rows * sizeof(int64_t), count, bytes);
    if (!task)
        return false;
    filling *payload = hki_task_payload(task);
    hki_task_spec *spec = hki_task_get_spec(task);
    *payload = (filling){.set = hk_data_set_retain(from->set),
                         .field_count = count,
                         .rows = rows,
                         .piece_count = piece_count(work_ns, rows),
                         .indices = (int64_t *)(void *)((char *)payload + head)};
    payload->batch =
        (hki_data_batch){.indices = payload->indices, .seed = from->seed, .epoch = from->epoch};
    take_indices(from, first, rows, payload->indices);
    for (int i = 0; i < count; i++) {
        hki_tensor_init(&payload->fields[i], to->fields[i]);
        hki_storage_retain_use(to->fields[i]->storage);
        spec->accesses[i] = hki_array_access(to->fields[i], HKI_WRITE | HKI_HEAL | HKI_FRESH);
    }
    spec->class = &filling_class;
    spec->device = device;
    spec->operation = "loader_next";
    spec->piece_count = payload->piece_count;
    spec->expected_ns = work_ns < 1e15 ? (int64_t)work_ns : (int64_t)1e15;
    hki_task_submit(task);
    return true;
}

void hki_slice_drop(hki_batch_slice *self)
{
    for (int i = 0; i < HK_DATA_MOST_FIELDS; i++)
        hk_array_release(self->fields[i]);
    *self = (hki_batch_slice){{0}};
}

/* Arrays for so many samples, nothing written yet. */
static hki_batch_slice create(const hk_data_set *set, hki_device *device, int64_t rows,
                              hk_array *(*create_array)(hki_device *, hk_dims, hk_dtype))
{
    hki_batch_slice self = {{0}};
    for (int i = 0; i < set->field_count; i++) {
        const hki_data_field *field = &set->fields[i];
        hk_dims shape = {.ndim = field->shape.ndim + 1, .dims = {rows}};
        for (int axis = 0; axis < field->shape.ndim; axis++)
            shape.dims[axis + 1] = field->shape.dims[axis];
        self.fields[i] = hk_take(create_array(device, shape, field->dtype));
    }
    return self;
}

static bool is_usable(const hki_batch_slice *self, int count)
{
    for (int i = 0; i < count; i++)
        if (self->fields[i]->failed)
            return false;
    return true;
}

/* What an accelerator gets is filled in pinned memory by the host's device, and copied. False when
 * host memory is short. */
static bool fill_remote(const hki_sampling *from, hki_batch_slice *to, int64_t first, int64_t rows)
{
    const int count = from->set->field_count;
    hki_batch_slice filled = create(from->set, hki_device_of_host(to->fields[0]->storage->device),
                                    rows, hki_array_create_pinned);
    const bool issued = is_usable(&filled, count) && filling_issue(from, &filled, first, rows);
    for (int i = 0; i < count && issued; i++)
        hki_hooks.transfer(to->fields[i], filled.fields[i], "loader_next", true);
    hki_slice_drop(&filled);
    return issued;
}

static bool fill(const hki_sampling *from, hki_batch_slice *to, hki_device *device, int64_t first,
                 int64_t rows)
{
    return !rows || (hki_device_is_host(device) ? filling_issue(from, to, first, rows)
                                                : fill_remote(from, to, first, rows));
}

hki_batch_slice hki_slice_make(const hki_sampling *from, hki_device *device, int64_t first,
                               int64_t rows)
{
    const int count = from->set->field_count;
    hki_batch_slice self = create(from->set, device, rows, hki_array_create);
    if (is_usable(&self, count) && fill(from, &self, device, first, rows))
        return self;
    hki_slice_drop(&self);
    self.fields[0] =
        hk_take(hki_array_create_failed(device, "loader_next", NULL, 0, HK_OUT_OF_MEMORY,
                                        "no host memory for a batch of %" PRId64 " samples", rows));
    for (int i = 1; i < count; i++)
        self.fields[i] = hk_array_retain(self.fields[0]);
    return self;
}
