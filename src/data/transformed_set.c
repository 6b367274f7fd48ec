/* Data sets whose images are transformed as they are loaded, by the device's own threads. */
#include "base/philox.h"
#include "base/source.h"
#include "base/text.h"
#include "data/data_set.h"
#include "data/transform.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* counter[3] of these draws; see base/philox.h. counter[1] has the number of the transform in its upper byte. */
#define PHILOX_TRANSFORM 0x7472616eu
/* An element's share of a transform: where it runs follows, no value does. */
#define ELEMENT_NS 3.0

enum { MOST_TRANSFORMS = 32 };
static const char operation[] = "data_set_transform";

typedef struct transformed_set {
    hk_data_set *base; /* counted */
    int count, first;  /* transforms of the base come first: their draws are others */
    size_t most_bytes; /* of an image on its way */
    hk_transform list[MOST_TRANSFORMS];
} transformed_set;

static void draw(const hki_data_batch *batch, int64_t index, int number, uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)index,
                                 (uint32_t)((uint64_t)index >> 32) ^ (uint32_t)number << 24,
                                 batch->epoch, PHILOX_TRANSFORM};
    const uint32_t key[2] = {(uint32_t)batch->seed, (uint32_t)(batch->seed >> 32)};
    hki_philox4x32(counter, key, words);
}

static hki_image_size size_of(const hk_data_set *set)
{
    const int64_t *dims = set->fields[0].shape.dims;
    return (hki_image_size){dims[0], dims[1], dims[2]};
}

/* Takes the image from room[0] by way of room[1] and back, and to its place in the batch. */
static void transform(const transformed_set *self, const hki_data_batch *batch, int64_t index,
                      float *const room[2], float *to)
{
    hki_image_size size = size_of(self->base);
    const float *from = room[0];
    for (int i = 0; i < self->count; i++) {
        uint32_t words[4];
        float *next = i == self->count - 1 ? to : room[(i + 1) % 2];
        draw(batch, index, self->first + i, words);
        hki_transform_run(&self->list[i], words, next, from, size);
        size = hki_transform_size(&self->list[i], size);
        from = next;
    }
}

static hk_code fill_row(const hk_data_set *set, const hki_data_batch *batch, int64_t row,
                        float *const room[2], char *message)
{
    const transformed_set *self = set->own;
    hki_data_batch one = *batch;
    one.indices = batch->indices + row;
    one.fields[0] = room[0];
    for (int f = 1; f < set->field_count; f++)
        one.fields[f] = (char *)batch->fields[f] + (size_t)row * set->fields[f].bytes;
    const hk_code code = self->base->class->fill(self->base, &one, 0, 1, message);
    if (code == HK_OK)
        transform(self, batch, batch->indices[row], room,
                  (float *)(void *)((char *)batch->fields[0] + (size_t)row * set->fields[0].bytes));
    return code;
}

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const transformed_set *self = set->own;
    float *room = malloc(2 * self->most_bytes + 1);
    float *const rooms[] = {room, room ? room + self->most_bytes / sizeof(float) : NULL};
    hk_code code = HK_OK;
    if (!room)
        return hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, "transforms",
                             "no host memory for %zu bytes", 2 * self->most_bytes);
    for (int64_t row = begin; row < end && code == HK_OK; row++)
        code = fill_row(set, batch, row, rooms, message);
    free(room);
    return code;
}

static void deinit(void *own)
{
    transformed_set *self = own;
    hk_data_set_release(self->base);
    free(self);
}

static const hki_data_class transformed_class = {.fill = fill, .deinit = deinit};

/* ---- making ---------------------------------------------------------------------------------------------- */

static bool check(hk_data_set *set, const hk_data_set *base, const hk_transform *list, int count)
{
    const hk_status *status = hki_data_set_status(base, operation);
    if (!hk_ok(status)) {
        hki_data_set_fail_with(set, status);
        return false;
    }
    hk_status_release(status);
    if (!list || count < 1 || count > MOST_TRANSFORMS)
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "transforms are %s and count is %d; 1 to %d would be right",
                          hki_given(list), count, MOST_TRANSFORMS);
    else if (base->field_count < 1 || base->fields[0].shape.ndim != 3 ||
             base->fields[0].dtype != HK_F32)
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "field 0 is %s of %d axes; images are float32 (channels, height, width)",
                          base->field_count ? hk_dtype_name(base->fields[0].dtype) : "missing",
                          base->field_count ? base->fields[0].shape.ndim : 0);
    return hk_ok(set->status);
}

/* Checks each with the size of the images that it gets; *size: of the last one's. */
static bool plan(hk_data_set *set, hki_image_size *size)
{
    transformed_set *self = set->own;
    for (int i = 0; i < self->count; i++) {
        const size_t bytes = (size_t)hki_image_elements(*size) * sizeof(float);
        char wrong[HKI_TRANSFORM_TEXT_BYTES];
        hki_transform_check(&self->list[i], *size, wrong);
        self->most_bytes = bytes > self->most_bytes ? bytes : self->most_bytes;
        if (*wrong) {
            hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT, "transforms[%d]: %s", i, wrong);
            return false;
        }
        *size = hki_transform_size(&self->list[i], *size);
        set->sample_ns += ELEMENT_NS * (double)hki_image_elements(*size);
    }
    return true;
}

static void make(hk_data_set *set, hk_data_set *base, const hk_transform *list, int count)
{
    transformed_set *self = calloc(1, sizeof *self);
    hki_image_size size = size_of(base);
    if (!self) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return;
    }
    set->class = &transformed_class;
    set->own = self;
    self->base = hk_data_set_retain(base);
    self->count = count;
    if (base->class == &transformed_class) {
        const transformed_set *before = base->own;
        self->first = before->first + before->count;
    }
    memcpy(self->list, list, (size_t)count * sizeof *list);
    set->size = base->size;
    set->class_count = base->class_count;
    set->class_names = base->class_names;
    set->folder = base->folder;
    set->sample_ns = base->sample_ns;
    if (plan(set, &size) &&
        hki_data_set_add_field(set, operation, hk_shape(size.channels, size.height, size.width),
                               HK_F32))
        for (int f = 1; f < base->field_count; f++)
            hki_data_set_add_field(set, operation, base->fields[f].shape, base->fields[f].dtype);
}

hk_data_set *(hk_data_set_transform)(hk_data_set *base, const hk_transform *transforms, int count)
{
    hk_data_set *set = hki_data_set_new();
    if (!hki_data_set_is_static(set) && check(set, base, transforms, count))
        make(set, base, transforms, count);
    return set;
}
