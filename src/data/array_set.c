/* Data sets of arrays. */
#include "array/array.h"
#include "base/source.h"
#include "base/text.h"
#include "data/data_set.h"

#include <hocket/data_sets.h>

#include <stdlib.h>
#include <string.h>

/* Copying a byte: where it runs follows, no value does. */
#define BYTE_NS 0.1

static const char operation[] = "data_set_of_arrays";

typedef struct array_set {
    uint8_t *values[HK_DATA_MOST_FIELDS];
} array_set;

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const array_set *self = set->own;
    (void)message;
    for (int f = 0; f < set->field_count; f++) {
        const size_t bytes = set->fields[f].bytes;
        uint8_t *to = batch->fields[f];
        for (int64_t row = begin; row < end && bytes; row++)
            memcpy(to + (size_t)row * bytes, self->values[f] + (size_t)batch->indices[row] * bytes,
                   bytes);
    }
    return HK_OK;
}

static void deinit(void *own)
{
    array_set *self = own;
    for (int f = 0; f < HK_DATA_MOST_FIELDS; f++)
        free(self->values[f]);
    free(self);
}

static const hki_data_class array_class = {.fill = fill, .deinit = deinit};

/* Adds x, which is no failed array, as a field. */
static bool add(hk_data_set *set, hk_array *x, int index)
{
    const hk_dims *shape = &x->shape;
    hk_dims sample = {.ndim = shape->ndim - 1};
    if (shape->ndim < 1 || shape->dims[0] < 1 || (index && shape->dims[0] != set->size)) {
        char text[224];
        hki_array_describe(x, text, sizeof text);
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "arrays[%d] is %s; samples along the first axis, 1 or more, and as many "
                          "in each array, would be right",
                          index, text);
        return false;
    }
    memcpy(sample.dims, shape->dims + 1, (size_t)sample.ndim * sizeof *sample.dims);
    set->size = shape->dims[0];
    if (!hki_data_set_add_field(set, operation, sample, x->dtype))
        return false;
    const hki_data_field *field = &set->fields[index];
    const size_t bytes = (size_t)set->size * field->bytes; /* the array's own */
    array_set *self = set->own;
    self->values[index] = malloc(bytes + 1);
    if (!self->values[index]) {
        hki_data_set_fail(set, operation, HK_OUT_OF_MEMORY, "no host memory for %zu bytes", bytes);
        return false;
    }
    set->sample_ns += BYTE_NS * (double)field->bytes;
    const hk_status *status = (hk_to_host)(x, self->values[index], bytes);
    if (!hk_ok(status))
        hki_data_set_fail_with(set, hk_status_retain(status));
    return hk_ok(set->status);
}

/* A failed array has its own record. */
static bool check(hk_data_set *set, hk_array *x, int index)
{
    if (!x) {
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "arrays[%d] is NULL; an array would be right", index);
        return false;
    }
    const hk_status *gone = hki_array_gone(x);
    if (!gone && !x->failed)
        return true;
    hki_data_set_fail_with(set, gone ? gone : hk_status_retain(hk_error_now(x)));
    return false;
}

hk_data_set *(hk_data_set_of_arrays)(hk_array *const *arrays, int count)
{
    hk_data_set *set = hki_data_set_new();
    hki_array_uncapturable(operation, "values are read once; make it before the capture");
    if (hki_data_set_is_static(set))
        return set;
    if (!arrays || count < 1 || count > HK_DATA_MOST_FIELDS) {
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "arrays are %s and count is %d; 1 to %d arrays would be right",
                          hki_given(arrays), count, HK_DATA_MOST_FIELDS);
        return set;
    }
    set->own = calloc(1, sizeof(array_set));
    if (!set->own) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return set;
    }
    set->class = &array_class;
    for (int i = 0; i < count && check(set, arrays[i], i) && add(set, arrays[i], i); i++)
        continue;
    return set;
}
