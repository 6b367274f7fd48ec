/* A ring of batches whose tasks have been issued: hk_loader_next hands the oldest over and issues
 * one. */
#include "data/loader.h"
#include "array/array.h"
#include "base/source.h"
#include "base/sum_tree.h"
#include "base/text.h"
#include "data/image_set.h"
#include "data/slice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_AHEAD = 2 };

#define MAX_SHARE ((int64_t)1 << 30)
struct hk_loader {
    atomic_uint refs;
    hk_data_set *set;        /* counted */
    const hk_status *status; /* counted; a failed loader has one batch, of failed arrays */
    bool shuffle, drop_last;
    uint64_t seed;
    int64_t batch_size, batch_count, sample_count, ahead;
    int device_count;
    int slice_count, first_slice;   /* of a batch, in all processes; devices[0]'s */
    hki_device **devices;           /* the runtime of each is retained */
    int64_t *full_rows, *last_rows; /* of each slice, in full batches and in the last one */
    hki_batch_slice *ring;          /* slot_count batches of device_count slices */
    int64_t slot_count;
    int64_t *order; /* of this epoch; NULL when not shuffled */

    bool in_epoch;
    uint32_t next_epoch;
    int64_t issued, given; /* batches of this epoch */
    int64_t batch_samples;
};

/* For when memory is short; counting it is harmless, and it has no state. */
static hk_loader no_memory_loader = {.batch_count = 1};

static const hk_status *refusal(const char *operation, hk_code code, const char *format, ...)
    HK_PRINTF(3, 4);
static const hk_status *refusal(const char *operation, hk_code code, const char *format, ...)
{
    hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = operation, .file = source.file, .line = source.line};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return status;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static hki_batch_slice *slot_of(const hk_loader *self, int64_t batch)
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
    hki_batch_slice *slot = slot_of(self, batch);
    for (int i = 0; i < self->first_slice; i++)
        first += *rows++;
    const hki_sampling from = {self->set, self->order, self->seed, self->next_epoch - 1};
    for (int i = 0; i < self->device_count; i++) {
        slot[i] = hki_slice_make(&from, self->devices[i], first, rows[i]);
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
            hki_slice_drop(&slot_of(self, self->given)[i]);
}

/* Places for what is given: of each field a row with one for each device, or NULL where it is not wanted. */
typedef struct places {
    hk_array **rows[HK_DATA_MOST_FIELDS];
    int count;
} places;

/* An array of the scope with the same elements. */
static hk_array *share(hk_array *x)
{
    return hki_array_view(x, x->shape, x->strides, x->offset);
}

static hk_array *no_field(const hk_loader *self, int field, int device)
{
    return hki_array_create_failed(
        self->devices[device], "loader_next", NULL, 0, HK_INVALID_ARGUMENT,
        "field %d is wanted, but samples of the data set have %d", field, self->set->field_count);
}

static void give_batch(hk_loader *self, const places *to)
{
    self->batch_samples = batch_samples(self, self->given);
    hki_batch_slice *slot = slot_of(self, self->given++);
    for (int i = 0; i < self->device_count; i++) {
        for (int f = 0; f < to->count; f++)
            if (to->rows[f])
                to->rows[f][i] =
                    f < self->set->field_count ? share(slot[i].fields[f]) : no_field(self, f, i);
        hki_slice_drop(&slot[i]);
    }
}

/* The only batch of a failed loader: one failed array for each device. */
static void give_failed(hk_loader *self, const places *to)
{
    self->given++;
    for (int i = 0; i < self->device_count; i++) {
        hk_array *x = hk_take(hki_array_create_failed(self->devices[i], "loader_next", NULL, 0,
                                                      hk_status_code(self->status), "%s",
                                                      hk_status_message(self->status)));
        for (int f = 0; f < to->count; f++)
            if (to->rows[f])
                to->rows[f][i] = share(x);
        hk_array_release(x);
    }
}

/* ---- epochs ---------------------------------------------------------------------------------- */

/* Loaders hand out other batches each time. */
static const char why_uncapturable[] = "batches are others at each call; give them as bound arrays";

static void begin(hk_loader *self, int64_t epoch, int64_t batch)
{
    drop_issued(self);
    self->issued = self->given = batch;
    self->batch_samples = 0;
    self->in_epoch = true;
    self->next_epoch = (uint32_t)epoch + 1;
    if (!hk_ok(self->status))
        return;
    if (self->order)
        hki_shuffle(self->seed, (uint32_t)epoch, hk_data_set_size(self->set), self->order);
    issue_ahead(self);
}

void(hk_loader_start_epoch)(hk_loader *self, int64_t epoch)
{
    hki_array_uncapturable("loader_start_epoch", why_uncapturable);
    if (self && self != &no_memory_loader)
        begin(self, epoch, 0);
}

static bool next(hk_loader *self, const places *to)
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
        give_failed(self, to);
        return true;
    }
    if (self->issued == self->given)
        issue_batch(self);
    give_batch(self, to);
    issue_ahead(self);
    return true;
}

bool(hk_loader_next)(hk_loader *self, hk_array **images, hk_array **labels)
{
    return next(self, &(places){.rows = {images, labels}, .count = 2});
}

bool(hk_loader_next_fields)(hk_loader *self, hk_array **arrays, int count)
{
    const int devices = hk_loader_device_count(self);
    places to = {.count = !arrays || count < 0          ? 0
                          : count < HK_DATA_MOST_FIELDS ? count
                                                        : HK_DATA_MOST_FIELDS};
    for (int f = 0; f < to.count; f++)
        to.rows[f] = arrays + f * devices;
    const bool is_more = next(self, &to);
    for (int i = to.count * devices; is_more && arrays && i < count * devices; i++)
        arrays[i] = no_field(self, i / devices, i % devices);
    return is_more;
}

/* ---- positions ------------------------------------------------------------------------------- */

hk_loader_position hk_loader_get_position(const hk_loader *self)
{
    if (!self || !self->status || !hk_ok(self->status))
        return (hk_loader_position){0};
    return (hk_loader_position){.epoch = (uint32_t)(self->next_epoch - self->in_epoch),
                                .batch = self->in_epoch ? self->given : 0,
                                .seed = self->seed,
                                .sample_count = hk_data_set_size(self->set),
                                .batch_size = self->batch_size,
                                .shuffle = self->shuffle,
                                .drop_last = self->drop_last};
}

static void describe(const hk_loader_position *position, char text[128])
{
    hki_format(text, 128, "%" PRId64 " samples in batches of %" PRId64 "%s%s",
               position->sample_count, position->batch_size,
               position->shuffle ? ", shuffled" : ", not shuffled",
               position->drop_last ? ", full ones alone" : "");
}

const hk_status *hki_loader_check(const hk_loader *self, const hk_loader_position *position)
{
    const hk_status *status = hk_loader_status(self);
    if (!hk_ok(status))
        return hk_status_retain(status);
    const hk_loader_position own = hk_loader_get_position(self);
    char text[128], given[128];
    if (own.sample_count != position->sample_count || own.batch_size != position->batch_size ||
        own.shuffle != position->shuffle || own.drop_last != position->drop_last) {
        describe(&own, text);
        describe(position, given);
        return refusal("loader_seek", HK_INVALID_ARGUMENT,
                       "the position is of a loader of %s; this one has %s", given, text);
    }
    if (position->batch < 0 || position->batch > self->batch_count)
        return refusal("loader_seek", HK_INVALID_ARGUMENT,
                       "batch is %" PRId64 "; an epoch has %" PRId64, position->batch,
                       self->batch_count);
    return NULL;
}

const hk_status *(hk_loader_seek)(hk_loader *self, hk_loader_position position)
{
    hki_array_uncapturable("loader_seek", why_uncapturable);
    const hk_status *error = hki_loader_check(self, &position);
    if (error)
        return hki_status_lend(error);
    self->seed = position.seed;
    begin(self, position.epoch, position.batch);
    return hki_status_ok();
}

/* ---- options --------------------------------------------------------------------------------- */

static const hk_status *no_memory(void)
{
    return refusal("loader_create", HK_OUT_OF_MEMORY, "no host memory for a loader");
}

/* These return NULL, or the record of what is wrong, counted. */

static const hk_status *take_devices(hk_loader *self, const hk_loader_options *options)
{
    int count = options->device_count ? options->device_count : 1;
    if (count < 0)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option device_count is %d; expected 0 or more", count);
    if (options->devices && !options->device_count)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
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
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option devices is NULL, but device_count is %d; list the devices",
                       self->device_count);
    for (int i = 0; i < self->device_count; i++) {
        const hki_device *device = self->devices[i];
        if (!device->runtime)
            return no_memory();
        if (!device->class)
            return refusal("loader_create", hk_status_code(device->status),
                           "devices[%d], %s, has failed: %s", i, device->name,
                           hk_status_message(device->status));
        if (!hki_runtime_alive(device->runtime))
            return hki_runtime_gone(device->runtime);
    }
    return NULL;
}

static const hk_status *take_slices(hk_loader *self, const hk_loader_options *options)
{
    self->slice_count = options->slice_count ? options->slice_count : self->device_count;
    self->first_slice = options->first_slice;
    if (self->slice_count < self->device_count)
        return refusal(
            "loader_create", HK_INVALID_ARGUMENT,
            "option slice_count is %d; expected 0, or the slices of all processes, %d of "
            "which are for the devices here",
            options->slice_count, self->device_count);
    if (self->first_slice < 0 || self->first_slice > self->slice_count - self->device_count)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option first_slice is %d; with %d devices of %d slices expected 0 to %d",
                       self->first_slice, self->device_count, self->slice_count,
                       self->slice_count - self->device_count);
    return NULL;
}

static const hk_status *check_shares(const hk_loader *self, const hk_loader_options *options)
{
    int64_t sum = 0;
    for (int i = 0; options->shares && i < self->slice_count; i++) {
        if (options->shares[i] < 0 || options->shares[i] > MAX_SHARE)
            return refusal("loader_create", HK_INVALID_ARGUMENT,
                           "option shares[%d] is %" PRId64 "; expected 0 to %" PRId64, i,
                           options->shares[i], MAX_SHARE);
        sum += options->shares[i];
    }
    if (options->shares && !options->device_count)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option shares is given, but device_count is 0; say how many there are");
    if (options->shares && !sum)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option shares gives nothing to any of %d devices; one must be above 0",
                       self->slice_count);
    return NULL;
}

static const hk_status *check_batches(hk_loader *self, const hk_loader_options *options)
{
    int64_t size = hk_data_set_size(self->set);
    if (options->batch_size < 1)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option batch_size is %" PRId64 "; expected 1 or more", options->batch_size);
    if (options->ahead < -1)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
                       "option ahead is %d; expected -1 for none, 0 for the default of %d, or more",
                       options->ahead, DEFAULT_AHEAD);
    if (options->drop_last && options->batch_size > size)
        return refusal("loader_create", HK_INVALID_ARGUMENT,
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

/* Along the tree of base/sum_tree.h, so that one slice or several give the same sums: wherever
 * there is a run of samples for each slice, and by whole_runs in the last batch, too, if there is
 * in a full one. Else, and by shares, in proportion. */
static void cut_batch(const hk_loader *self, const hk_loader_options *options, int64_t batch,
                      int64_t *remainders, int64_t *rows)
{
    const int64_t samples = batch_samples(self, batch), count = self->slice_count;
    const int64_t has_runs = options->whole_runs ? batch_samples(self, 0) : samples;
    if (options->shares || !hki_sum_can_share(has_runs, count))
        apportion(samples, options->shares, self->slice_count, remainders, rows);
    else
        for (int64_t i = 0; i < count; i++)
            rows[i] = hki_sum_share_of(samples, count, i);
}

static const hk_status *plan_batches(hk_loader *self, const hk_loader_options *options)
{
    size_t count = (size_t)self->slice_count, size = (size_t)hk_data_set_size(self->set);
    int64_t *remainders = malloc(count * sizeof *remainders);
    self->full_rows = malloc(count * sizeof *self->full_rows);
    self->last_rows = malloc(count * sizeof *self->last_rows);
    self->ring = calloc((size_t)self->slot_count * (size_t)self->device_count, sizeof *self->ring);
    if (self->shuffle)
        self->order = malloc(size * sizeof *self->order);
    bool made = remainders && self->full_rows && self->last_rows && self->ring &&
                (self->order || !self->shuffle);
    if (made) {
        cut_batch(self, options, 0, remainders, self->full_rows);
        cut_batch(self, options, self->batch_count - 1, remainders, self->last_rows);
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
        error = take_slices(self, options);
    if (!error)
        error = check_shares(self, options);
    if (!error)
        error = check_batches(self, options);
    if (!error)
        error = plan_batches(self, options);
    return error ? error : hki_status_ok();
}

hk_loader *(hk_loader_create)(hk_data_set *set, const hk_loader_options *options)
{
    HKI_TAKE_OPTIONS(hk_loader_options, options);
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
                        .drop_last = options->drop_last,
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
        return hki_status_lend(
            refusal("loader_create", HK_INVALID_ARGUMENT, "argument loader is NULL"));
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
