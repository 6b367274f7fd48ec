/* A ring of batches whose tasks have been issued: hk_loader_next hands the oldest over and issues
 * one. */
#include "array/array.h"
#include "data/data_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_AHEAD = 2, MAX_PIECES = 64, PIECE_NS = 30000 };

#define MAX_SHARE ((int64_t)1 << 30)
/* Measured: 0.6 ns on one core. Where a task runs and how it is cut follow from it, no value does.
 */
#define PIXEL_NS 0.6

/* What one device gets of a batch. */
typedef struct slice {
    hk_array *images, *labels; /* counted, in no scope */
} slice;

struct hk_loader {
    atomic_uint refs;
    hk_data_set *set;        /* counted */
    const hk_status *status; /* counted; a failed loader has one batch, of failed arrays */
    bool shuffle;
    uint64_t seed;
    int64_t batch_size, batch_count, sample_count, ahead;
    int device_count;
    hki_device **devices;           /* the runtime of each is retained */
    int64_t *full_rows, *last_rows; /* of each slice, in full batches and in the last one */
    slice *ring;                    /* slot_count batches of device_count slices */
    int64_t slot_count;
    int64_t *order; /* of this epoch; NULL when not shuffled */

    bool in_epoch;
    uint32_t next_epoch;
    int64_t issued, given; /* batches of this epoch */
    int64_t batch_samples;
};

/* For when memory is short; counting it is harmless, and it has no state. */
static hk_loader no_memory_loader = {.batch_count = 1};

/* ---- filling a slice ------------------------------------------------------------------------- */

typedef struct filling {
    hk_data_set *set;          /* counted */
    hki_tensor images, labels; /* a use of each storage */
    hki_image_batch batch;
    int64_t rows, piece_count;
    int64_t indices[];
} filling;

static bool filling_prepare(hki_task *task, void *payload)
{
    filling *self = payload;
    hki_storage *images = self->images.storage, *labels = self->labels.storage;
    if (!hki_storage_materialise(images) || !hki_storage_materialise(labels)) {
        hki_task_fail(task, 0, HK_OUT_OF_MEMORY,
                      "%s has no %" PRIu64 " bytes left for a batch of %" PRId64
                      " samples; make batch_size smaller, or release arrays",
                      images->device->name, images->bytes + labels->bytes, self->rows);
        return false;
    }
    hki_tensor_resolve(&self->images);
    hki_tensor_resolve(&self->labels);
    self->batch.indices = self->indices;
    self->batch.images = self->images.data;
    self->batch.labels_i64 = self->labels.data;
    return true;
}

static void filling_run(hki_task *task, void *payload, int64_t piece)
{
    const filling *self = payload;
    int64_t size = self->rows / self->piece_count, longer = self->rows % self->piece_count;
    int64_t begin = piece * size + (piece < longer ? piece : longer);
    int64_t end = begin + size + (piece < longer);
    int64_t done = hki_image_fill(self->set->part, &self->batch, begin, end);
    if (done != end)
        hki_task_fail(task, piece, HK_OUT_OF_RANGE, "sample %" PRId64 " is not in the data set",
                      self->indices[done]);
}

static void filling_finish(hki_task *task, void *payload)
{
    filling *self = payload;
    (void)task;
    hki_storage_release_use(self->images.storage);
    hki_storage_release_use(self->labels.storage);
    hk_data_set_release(self->set);
}

static int filling_operands(const void *payload, hki_trace_operand *operands, int limit)
{
    const filling *self = payload;
    int count = 0;
    if (count < limit)
        operands[count++] = hki_tensor_operand(&self->images, true);
    if (count < limit)
        operands[count++] = hki_tensor_operand(&self->labels, true);
    return count;
}

static const hki_task_class filling_class = {.prepare = filling_prepare,
                                             .run = filling_run,
                                             .finish = filling_finish,
                                             .operands = filling_operands};

/* Issues the task that fills the slice, which is in the host's memory, with the samples from `first`
 * on, in the epoch's order. False when host memory is short. */
static bool filling_issue(const hk_loader *self, const slice *to, int64_t first, int64_t rows)
{
    const hki_image_part *part = self->set->part;
    hki_storage *images = to->images->storage, *labels = to->labels->storage;
    hki_device *device = images->device;
    size_t indices_bytes = (size_t)rows * sizeof(int64_t);
    hki_task *task = hki_task_begin(device->runtime, sizeof(filling) + indices_bytes, 2,
                                    images->bytes + labels->bytes);
    if (!task)
        return false;
    filling *payload = hki_task_payload(task);
    hki_task_spec *spec = hki_task_get_spec(task);
    double work_ns = PIXEL_NS * (double)rows * (double)(part->height * part->width);
    double pieces = work_ns / PIECE_NS;
    int64_t most = rows < MAX_PIECES ? rows : MAX_PIECES;
    payload->set = hk_data_set_retain(self->set);
    hki_tensor_init(&payload->images, to->images);
    hki_tensor_init(&payload->labels, to->labels);
    payload->batch = (hki_image_batch){0};
    payload->rows = rows;
    payload->piece_count = pieces < 1 ? 1 : pieces < (double)most ? (int64_t)pieces : most;
    if (self->order)
        memcpy(payload->indices, self->order + first, indices_bytes);
    else
        for (int64_t i = 0; i < rows; i++)
            payload->indices[i] = first + i;
    hki_storage_retain_use(images);
    hki_storage_retain_use(labels);
    spec->class = &filling_class;
    spec->device = device;
    spec->operation = "loader_next";
    spec->piece_count = payload->piece_count;
    spec->expected_ns = work_ns < 1e15 ? (int64_t)work_ns : (int64_t)1e15;
    spec->accesses[0] = hki_array_access(to->images, HKI_WRITE | HKI_HEAL | HKI_FRESH);
    spec->accesses[1] = hki_array_access(to->labels, HKI_WRITE | HKI_HEAL | HKI_FRESH);
    hki_task_submit(task);
    return true;
}

static void slice_drop(slice *self)
{
    hk_array_release(self->images);
    hk_array_release(self->labels);
    *self = (slice){0};
}

/* Arrays for so many samples, nothing written yet. */
static slice slice_create(const hk_loader *loader, hki_device *device, int64_t rows,
                          hk_array *(*create)(hki_device *, hk_dims, hk_dtype))
{
    const hki_image_part *part = loader->set->part;
    const hk_dims images = {4,
                            {rows, hk_data_set_channels(loader->set), part->height, part->width}};
    return (slice){hk_take(create(device, images, HK_F32)),
                   hk_take(create(device, (hk_dims){1, {rows}}, HK_I64))};
}

static bool slice_is_usable(const slice *self)
{
    return !self->images->failed && !self->labels->failed;
}

/* What an accelerator gets is filled in pinned memory by the host's device, and copied. False when
 * host memory is short. */
static bool fill_remote(const hk_loader *loader, slice *to, int64_t first, int64_t rows)
{
    slice filled = slice_create(loader, hki_device_of_host(to->images->storage->device), rows,
                                hki_array_create_pinned);
    bool issued = slice_is_usable(&filled) && filling_issue(loader, &filled, first, rows);
    if (issued) {
        hki_array_transfer(to->images, filled.images, "loader_next", true);
        hki_array_transfer(to->labels, filled.labels, "loader_next", true);
    }
    slice_drop(&filled);
    return issued;
}

static slice slice_make(const hk_loader *loader, hki_device *device, int64_t first, int64_t rows)
{
    slice self = slice_create(loader, device, rows, hki_array_create);
    if (slice_is_usable(&self) &&
        (!rows || (hki_device_is_host(device) ? filling_issue(loader, &self, first, rows)
                                              : fill_remote(loader, &self, first, rows))))
        return self;
    slice_drop(&self);
    self.images =
        hk_take(hki_array_create_failed(device, "loader_next", NULL, 0, HK_OUT_OF_MEMORY,
                                        "no host memory for a batch of %" PRId64 " samples", rows));
    self.labels = hk_array_retain(self.images);
    return self;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static slice *slot_of(const hk_loader *self, int64_t batch)
{
    return self->ring + batch % self->slot_count * self->device_count;
}

static int64_t batch_samples(const hk_loader *self, int64_t batch)
{
    int64_t left = self->sample_count - batch * self->batch_size;
    return left < self->batch_size ? left : self->batch_size;
}

static void issue_batch(hk_loader *self)
{
    int64_t batch = self->issued++, first = batch * self->batch_size;
    const int64_t *rows = batch == self->batch_count - 1 ? self->last_rows : self->full_rows;
    slice *slot = slot_of(self, batch);
    for (int i = 0; i < self->device_count; i++) {
        slot[i] = slice_make(self, self->devices[i], first, rows[i]);
        first += rows[i];
    }
}

static void issue_ahead(hk_loader *self)
{
    while (self->issued < self->batch_count && self->issued < self->given + self->ahead)
        issue_batch(self);
}

static void drop_issued(hk_loader *self)
{
    for (; self->given < self->issued; self->given++)
        for (int i = 0; i < self->device_count; i++)
            slice_drop(&slot_of(self, self->given)[i]);
}

/* Gives an array (taken) to the scope, by way of a view that the scope owns. */
static void hand_over(hk_array *x, hk_array **out)
{
    if (out)
        *out = hki_array_view(x, x->shape, x->strides, x->offset);
    hk_array_release(x);
}

static void give_batch(hk_loader *self, hk_array **images, hk_array **labels)
{
    self->batch_samples = batch_samples(self, self->given);
    slice *slot = slot_of(self, self->given++);
    for (int i = 0; i < self->device_count; i++) {
        hand_over(slot[i].images, images ? &images[i] : NULL);
        hand_over(slot[i].labels, labels ? &labels[i] : NULL);
        slot[i] = (slice){0};
    }
}

/* The only batch of a failed loader: one failed array for each device. */
static void give_failed(hk_loader *self, hk_array **images, hk_array **labels)
{
    self->given++;
    for (int i = 0; i < self->device_count; i++) {
        hk_array *x = hki_array_create_failed(self->devices[i], "loader_next", NULL, 0,
                                              hk_status_code(self->status), "%s",
                                              hk_status_message(self->status));
        if (labels)
            labels[i] = hki_array_view(x, x->shape, x->strides, x->offset);
        if (images)
            images[i] = x;
        else
            hk_array_release(hk_take(x));
    }
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* Loaders hand out other batches each time. */
static const char why_uncapturable[] = "batches are others at each call; give them as bound arrays";

void(hk_loader_start_epoch)(hk_loader *self, int64_t epoch)
{
    hki_array_uncapturable("loader_start_epoch", why_uncapturable);
    if (!self || self == &no_memory_loader)
        return;
    drop_issued(self);
    self->issued = self->given = 0;
    self->batch_samples = 0;
    self->in_epoch = true;
    self->next_epoch = (uint32_t)epoch + 1;
    if (!hk_ok(self->status))
        return;
    if (self->order)
        hki_shuffle(self->seed, (uint32_t)epoch, hk_data_set_size(self->set), self->order);
    issue_ahead(self);
}

bool(hk_loader_next)(hk_loader *self, hk_array **images, hk_array **labels)
{
    hki_array_uncapturable("loader_next", why_uncapturable);
    if (!self || self == &no_memory_loader || !self->device_count) {
        /* There is no array to fail, so that the failure is only noted. */
        const hk_status *status = hk_loader_status(self);
        hki_array_fail_in_place(NULL, "loader_next", NULL, 0, hk_status_code(status), "%s",
                                hk_status_message(status));
        return false;
    }
    if (!self->in_epoch)
        (hk_loader_start_epoch)(self, self->next_epoch);
    if (self->given == self->batch_count) {
        self->in_epoch = false;
        return false;
    }
    if (!hk_ok(self->status)) {
        give_failed(self, images, labels);
        return true;
    }
    if (self->issued == self->given)
        issue_batch(self);
    give_batch(self, images, labels);
    issue_ahead(self);
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

static const hk_status *refusal(hk_code code, const char *format, ...) HK_PRINTF(2, 3);
static const hk_status *refusal(hk_code code, const char *format, ...)
{
    hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = "loader_create", .file = source.file, .line = source.line};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return status;
}

static const hk_status *no_memory(void)
{
    return refusal(HK_OUT_OF_MEMORY, "no host memory for a loader");
}

/* These return NULL, or the record of what is wrong, counted. */

static const hk_status *take_devices(hk_loader *self, const hk_loader_options *options)
{
    int count = options->device_count ? options->device_count : 1;
    if (count < 0)
        return refusal(HK_INVALID_ARGUMENT, "option device_count is %d; expected 0 or more", count);
    if (options->devices && !options->device_count)
        return refusal(HK_INVALID_ARGUMENT,
                       "option device_count is 0, but devices is given; say how many there are");
    self->devices = malloc((size_t)count * sizeof *self->devices);
    if (!self->devices)
        return no_memory();
    /* With the devices known, failed arrays can be made for each of them. */
    self->device_count = count;
    for (int i = 0; i < count; i++) {
        HKI_HOLD(held);
        self->devices[i] =
            hki_device_hold(options->devices ? options->devices[i] : (hk_device){NULL}, &held);
        if (self->devices[i]->runtime)
            hki_runtime_retain(self->devices[i]->runtime);
    }
    return NULL;
}

static const hk_status *check_devices(const hk_loader *self, const hk_loader_options *options)
{
    if (!options->devices && self->device_count > 1)
        return refusal(HK_INVALID_ARGUMENT,
                       "option devices is NULL, but device_count is %d; list the devices",
                       self->device_count);
    for (int i = 0; i < self->device_count; i++) {
        const hki_device *device = self->devices[i];
        if (!device->runtime)
            return no_memory();
        if (!device->class)
            return refusal(hk_status_code(device->status), "devices[%d], %s, has failed: %s", i,
                           device->name, hk_status_message(device->status));
        if (!hki_runtime_alive(device->runtime))
            return hki_runtime_gone(device->runtime);
    }
    return NULL;
}

static const hk_status *check_shares(const hk_loader_options *options)
{
    int64_t sum = 0;
    for (int i = 0; options->shares && i < options->device_count; i++) {
        if (options->shares[i] < 0 || options->shares[i] > MAX_SHARE)
            return refusal(HK_INVALID_ARGUMENT,
                           "option shares[%d] is %" PRId64 "; expected 0 to %" PRId64, i,
                           options->shares[i], MAX_SHARE);
        sum += options->shares[i];
    }
    if (options->shares && !options->device_count)
        return refusal(HK_INVALID_ARGUMENT,
                       "option shares is given, but device_count is 0; say how many there are");
    if (options->shares && !sum)
        return refusal(HK_INVALID_ARGUMENT,
                       "option shares gives nothing to any of %d devices; one must be above 0",
                       options->device_count);
    return NULL;
}

static const hk_status *check_batches(hk_loader *self, const hk_loader_options *options)
{
    int64_t size = hk_data_set_size(self->set);
    if (options->batch_size < 1)
        return refusal(HK_INVALID_ARGUMENT, "option batch_size is %" PRId64 "; expected 1 or more",
                       options->batch_size);
    if (options->ahead < -1)
        return refusal(HK_INVALID_ARGUMENT,
                       "option ahead is %d; expected -1 for none, 0 for the default of %d, or more",
                       options->ahead, DEFAULT_AHEAD);
    if (options->drop_last && options->batch_size > size)
        return refusal(HK_INVALID_ARGUMENT,
                       "option batch_size is %" PRId64 ", but the data set has %" PRId64
                       " samples, and drop_last leaves no batch; make batch_size smaller",
                       options->batch_size, size);
    self->batch_size = options->batch_size;
    self->batch_count =
        options->drop_last ? size / options->batch_size : (size - 1) / options->batch_size + 1;
    self->sample_count = options->drop_last ? self->batch_count * options->batch_size : size;
    self->ahead = options->ahead ? options->ahead : DEFAULT_AHEAD;
    if (self->ahead > self->batch_count)
        self->ahead = self->batch_count;
    if (self->ahead < 0)
        self->ahead = 0;
    self->slot_count = self->ahead ? self->ahead : 1;
    return NULL;
}

/* Cuts a batch: what each device's share comes to, rounded down, and what is left to the largest
 * remainders, the first of equal ones. */
static void apportion(int64_t samples, const int64_t *shares, int count, int64_t *remainders,
                      int64_t *rows)
{
    int64_t sum = 0, left = samples;
    for (int i = 0; i < count; i++)
        sum += shares ? shares[i] : 1;
    for (int i = 0; i < count; i++) {
        int64_t weighted = samples * (shares ? shares[i] : 1);
        rows[i] = weighted / sum;
        remainders[i] = weighted % sum;
        left -= rows[i];
    }
    for (; left > 0; left--) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (remainders[i] > remainders[best])
                best = i;
        rows[best]++;
        remainders[best] = -1;
    }
}

static const hk_status *plan_batches(hk_loader *self, const int64_t *shares)
{
    size_t count = (size_t)self->device_count, size = (size_t)hk_data_set_size(self->set);
    int64_t *remainders = malloc(count * sizeof *remainders);
    self->full_rows = malloc(count * sizeof *self->full_rows);
    self->last_rows = malloc(count * sizeof *self->last_rows);
    self->ring = calloc((size_t)self->slot_count * count, sizeof *self->ring);
    if (self->shuffle)
        self->order = malloc(size * sizeof *self->order);
    bool made = remainders && self->full_rows && self->last_rows && self->ring &&
                (self->order || !self->shuffle);
    if (made) {
        apportion(batch_samples(self, 0), shares, self->device_count, remainders, self->full_rows);
        apportion(batch_samples(self, self->batch_count - 1), shares, self->device_count,
                  remainders, self->last_rows);
    }
    free(remainders);
    return made ? NULL : no_memory();
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Returns the loader's record, counted. */
static const hk_status *loader_init(hk_loader *self, const hk_loader_options *options)
{
    const hk_status *error = take_devices(self, options);
    if (!error) {
        const hk_status *status = hki_data_set_status(self->set, "loader_create");
        if (!hk_ok(status))
            return status;
        error = check_devices(self, options);
    }
    if (!error)
        error = check_shares(options);
    if (!error)
        error = check_batches(self, options);
    if (!error)
        error = plan_batches(self, options->shares);
    return error ? error : hki_status_ok();
}

hk_loader *(hk_loader_create)(hk_data_set *set, const hk_loader_options *options)
{
    static const hk_loader_options none = {0};
    hk_loader *self = malloc(sizeof *self);
    if (!self)
        return &no_memory_loader;
    if (!options)
        options = &none;
    *self = (hk_loader){.refs = 1,
                        .set = hk_data_set_retain(set),
                        .batch_count = 1,
                        .shuffle = options->shuffle,
                        .seed = options->seed};
    self->status = loader_init(self, options);
    if (!hk_ok(self->status))
        self->batch_count = 1;
    return self;
}

hk_loader *hk_loader_retain(hk_loader *self)
{
    if (self && self != &no_memory_loader)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_loader_release(hk_loader *self)
{
    if (!self || self == &no_memory_loader ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    drop_issued(self);
    for (int i = 0; i < self->device_count; i++)
        if (self->devices[i]->runtime)
            hki_runtime_release(self->devices[i]->runtime);
    hk_status_release(self->status);
    hk_data_set_release(self->set);
    free(self->devices);
    free(self->full_rows);
    free(self->last_rows);
    free(self->ring);
    free(self->order);
    free(self);
}

/* ---- facts ----------------------------------------------------------------------------------- */

const hk_status *hk_loader_status(const hk_loader *self)
{
    if (!self)
        return hki_status_lend(refusal(HK_INVALID_ARGUMENT, "argument loader is NULL"));
    if (self == &no_memory_loader)
        return hki_status_lend(no_memory());
    return hki_status_lend(hk_status_retain(self->status));
}

int64_t hk_loader_batch_count(const hk_loader *self)
{
    return self ? self->batch_count : 0;
}

int hk_loader_device_count(const hk_loader *self)
{
    return self ? self->device_count : 0;
}

int64_t hk_loader_batch_samples(const hk_loader *self)
{
    return self ? self->batch_samples : 0;
}

const int64_t *hk_loader_order(const hk_loader *self)
{
    bool begun = self && (self->in_epoch || self->given);
    return begun && hk_ok(self->status) ? self->order : NULL;
}

HKI_AT_VOID(hk_loader_start_epoch, (hk_source at, hk_loader *loader, int64_t epoch),
            (loader, epoch))
HKI_AT(bool, hk_loader_next,
       (hk_source at, hk_loader *loader, hk_array **images, hk_array **labels),
       (loader, images, labels))
HKI_AT(hk_loader *, hk_loader_create,
       (hk_source at, hk_data_set *set, const hk_loader_options *options), (set, options))
