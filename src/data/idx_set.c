/* Data sets of images in idx files, such as MNIST and Fashion-MNIST. */
#include "base/source.h"
#include "data/data_set.h"
#include "data/image_set.h"

#include <inttypes.h>
#include <stdlib.h>

/* Measured: 0.6 ns on one core. */
#define PIXEL_NS 0.6

typedef struct idx_set {
    hki_image_set files;
    const hki_image_part *part; /* the one of `files` that was asked for */
} idx_set;

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const idx_set *self = set->own;
    const hki_image_batch to = {
        .indices = batch->indices, .images = batch->fields[0], .labels_i64 = batch->fields[1]};
    (void)message; /* indices are those of samples */
    hki_image_fill(self->part, &to, begin, end);
    return HK_OK;
}

static void deinit(void *own)
{
    idx_set *self = own;
    hki_image_set_deinit(&self->files);
    free(self);
}

static const hki_data_class idx_class = {.fill = fill, .deinit = deinit};

/* ---- opening --------------------------------------------------------------------------------- */

static bool check(hk_data_set *set, hk_data_part part, const hk_data_set_options *options)
{
    if (part != HK_DATA_TRAIN && part != HK_DATA_TEST)
        hki_data_set_fail(set, "data_set_open", HK_INVALID_ARGUMENT,
                          "part is %d; expected HK_DATA_TRAIN or HK_DATA_TEST", (int)part);
    else if (options->class_count < 0 || options->class_count > 256)
        hki_data_set_fail(set, "data_set_open", HK_INVALID_ARGUMENT,
                          "option class_count is %d; expected 1 to 256, or 0 for the default of %d",
                          options->class_count, HKI_IMAGE_DEFAULT_CLASSES);
    return hk_ok(set->status);
}

static void describe(hk_data_set *set, const hk_data_set_options *options)
{
    const idx_set *self = set->own;
    const hki_image_part *part = self->part;
    set->size = part->count;
    set->folder = self->files.folder;
    set->class_count = options->class_count ? options->class_count : HKI_IMAGE_DEFAULT_CLASSES;
    set->sample_ns = PIXEL_NS * (double)(part->height * part->width);
    if (hki_data_set_add_field(set, "data_set_open", hk_shape(1, part->height, part->width),
                               HK_F32))
        hki_data_set_add_field(set, "data_set_open", hk_shape(), HK_I64);
}

static void load(hk_data_set *set, const char *folder, hk_data_part part,
                 const hk_data_set_options *options)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    idx_set *self = calloc(1, sizeof *self);
    if (!self) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return;
    }
    const hki_image_set_options wanted = {.folder = folder,
                                          .class_count = options->class_count,
                                          .byte_limit = options->byte_limit,
                                          .parts = part == HK_DATA_TRAIN ? HKI_IMAGE_TRAIN
                                                                         : HKI_IMAGE_TEST};
    set->class = &idx_class;
    set->own = self;
    hk_code code = hki_image_set_load(&self->files, &wanted, message, sizeof message);
    if (code != HK_OK) {
        hki_data_set_fail(set, "data_set_open", code, "%s", message);
        return;
    }
    self->part = part == HK_DATA_TRAIN ? &self->files.train : &self->files.test;
    describe(set, options);
}

hk_data_set *(hk_data_set_open)(const char *folder, hk_data_part part,
                                const hk_data_set_options *options)
{
    HKI_TAKE_OPTIONS(hk_data_set_options, options);
    static const hk_data_set_options defaults = {0};
    hk_data_set *set = hki_data_set_new();
    if (!options)
        options = &defaults;
    if (!hki_data_set_is_static(set) && check(set, part, options))
        load(set, folder, part, options);
    return set;
}

/* ---- where data sets are looked for ---------------------------------------------------------- */

const hk_status *(hk_data_set_find)(const char *folder, hk_data_place places[HK_DATA_PLACE_COUNT])
{
    _Static_assert((int)HK_DATA_PLACE_COUNT == HKI_IMAGE_PLACES, "all places are shown");
    static const hk_data_place_state states[] = {
        [HKI_IMAGE_PLACE_UNSET] = HK_DATA_PLACE_UNSET,
        [HKI_IMAGE_PLACE_NO_FOLDER] = HK_DATA_PLACE_NO_FOLDER,
        [HKI_IMAGE_PLACE_INCOMPLETE] = HK_DATA_PLACE_INCOMPLETE,
        [HKI_IMAGE_PLACE_COMPLETE] = HK_DATA_PLACE_COMPLETE};
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_image_place found[HKI_IMAGE_PLACES];
    hk_code code = hki_image_set_find(found, folder, 0, message, sizeof message);
    for (int i = 0; places && i < HK_DATA_PLACE_COUNT; i++)
        places[i] = (hk_data_place){.origin = found[i].origin,
                                    .folder = found[i].folder,
                                    .missing = found[i].missing,
                                    .state = states[found[i].state],
                                    .chosen = found[i].chosen};
    return hki_status_lend(code == HK_OK ? hki_status_ok()
                                         : hki_data_refusal("data_set_find", code, "%s", message));
}
