/* Data sets of CIFAR's files. */
#include "array/array.h"
#include "base/source.h"
#include "base/text.h"
#include "data/cifar_file.h"
#include "data/data_file.h"
#include "data/data_set.h"
#include "data/image_set.h"

#include <hocket/data_sets.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As of other images. */
#define PIXEL_NS 0.6

hk_code hki_cifar_check(const char *name, const uint8_t *bytes, size_t size, int class_count,
                        int64_t *count, char message[HKI_DATA_MESSAGE_BYTES])
{
    const size_t record = hki_cifar_record_bytes(class_count);
    message[0] = '\0';
    if (!size || size % record)
        return hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, name,
                             "has %zu bytes; records of %zu, one or more, would be right", size,
                             record);
    *count = (int64_t)(size / record);
    for (int64_t i = 0; i < *count; i++) {
        const uint8_t label = bytes[(size_t)(i + 1) * record - HKI_CIFAR_PIXELS - 1];
        if (label >= class_count)
            return hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, name,
                                 "label %" PRId64 " is %d; 0 to %d would be right", i, label,
                                 class_count - 1);
    }
    return HK_OK;
}

typedef struct cifar_set {
    uint8_t *records;
    size_t record_bytes;
} cifar_set;

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const cifar_set *self = set->own;
    (void)message;
    for (int64_t row = begin; row < end; row++) {
        const uint8_t *pixels = self->records +
                                (size_t)(batch->indices[row] + 1) * self->record_bytes -
                                HKI_CIFAR_PIXELS;
        hki_scale_pixels((float *)batch->fields[0] + row * HKI_CIFAR_PIXELS, pixels,
                         HKI_CIFAR_PIXELS);
        ((int64_t *)batch->fields[1])[row] = pixels[-1];
    }
    return HK_OK;
}

static void deinit(void *own)
{
    cifar_set *self = own;
    free(self->records);
    free(self);
}

static const hki_data_class cifar_class = {.fill = fill, .deinit = deinit};

static bool append(hk_data_set *set, const char *path)
{
    cifar_set *self = set->own;
    char message[HKI_DATA_MESSAGE_BYTES];
    uint8_t *bytes;
    size_t size = 0;
    int64_t count = 0;
    hk_code code = hki_data_file_read(path, "pass a file of CIFAR's binary version", 0, &bytes,
                                      &size, message);
    if (code == HK_OK)
        code = hki_cifar_check(path, bytes, size, set->class_count, &count, message);
    const size_t used = (size_t)set->size * self->record_bytes;
    uint8_t *records = code == HK_OK ? realloc(self->records, used + size) : NULL;
    if (records) {
        memcpy(records + used, bytes, size);
        self->records = records;
        set->size += count;
    } else if (code == HK_OK) {
        code = hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, path,
                             "no host memory for it");
    }
    free(bytes);
    if (code != HK_OK)
        hki_data_set_fail(set, "data_set_of_cifar", code, "%s", message);
    return code == HK_OK;
}

hk_data_set *(hk_data_set_of_cifar)(const char *const *paths, int count, int class_count)
{
    hk_data_set *set = hki_data_set_new();
    if (hki_data_set_is_static(set))
        return set;
    if (!paths || count < 1 || (class_count != 10 && class_count != 100)) {
        hki_data_set_fail(set, "data_set_of_cifar", HK_INVALID_ARGUMENT,
                          "paths are %s, count %d and class_count %d; one file or more, of 10 or "
                          "100 classes, would be right",
                          hki_given(paths), count, class_count);
        return set;
    }
    cifar_set *self = calloc(1, sizeof *self);
    if (!self) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return set;
    }
    self->record_bytes = hki_cifar_record_bytes(class_count);
    set->own = self;
    set->class = &cifar_class;
    set->class_count = class_count;
    set->sample_ns = PIXEL_NS * HKI_CIFAR_PIXELS;
    for (int i = 0; i < count; i++)
        if (!append(set, paths[i]))
            return set;
    if (hki_data_set_add_field(set, "data_set_of_cifar",
                               hk_shape(3, HKI_CIFAR_SIDE, HKI_CIFAR_SIDE), HK_F32))
        hki_data_set_add_field(set, "data_set_of_cifar", hk_shape(), HK_I64);
    return set;
}
