#include "data/data_set.h"

#include "base/source.h"

#include <stdlib.h>

/* For when memory is short; counting it is harmless. */
static hk_data_set no_memory_set = {.part = &no_memory_set.files.train};

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

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns the record, counted. */
static const hk_status *load(hk_data_set *set, const char *folder, hk_data_part part,
                             const hk_data_set_options *options)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    if (part != HK_DATA_TRAIN && part != HK_DATA_TEST)
        return refusal("data_set_open", HK_INVALID_ARGUMENT,
                       "part is %d; expected HK_DATA_TRAIN or HK_DATA_TEST", (int)part);
    if (options->class_count < 0 || options->class_count > 256)
        return refusal("data_set_open", HK_INVALID_ARGUMENT,
                       "option class_count is %d; expected 1 to 256, or 0 for the default of %d",
                       options->class_count, HKI_IMAGE_DEFAULT_CLASSES);
    const hki_image_set_options wanted = {.folder = folder,
                                          .class_count = options->class_count,
                                          .byte_limit = options->byte_limit,
                                          .parts = part == HK_DATA_TRAIN ? HKI_IMAGE_TRAIN
                                                                         : HKI_IMAGE_TEST};
    hk_code code = hki_image_set_load(&set->files, &wanted, message, sizeof message);
    if (code != HK_OK)
        return refusal("data_set_open", code, "%s", message);
    if (part == HK_DATA_TEST)
        set->part = &set->files.test;
    set->class_count = options->class_count ? options->class_count : HKI_IMAGE_DEFAULT_CLASSES;
    return hki_status_ok();
}

hk_data_set *(hk_data_set_open)(const char *folder, hk_data_part part,
                                const hk_data_set_options *options)
{
    static const hk_data_set_options defaults = {0};
    hk_data_set *set = malloc(sizeof *set);
    if (!set)
        return &no_memory_set;
    *set = (hk_data_set){.refs = 1};
    set->part = &set->files.train;
    set->status = load(set, folder, part, options ? options : &defaults);
    return set;
}

hk_data_set *hk_data_set_retain(hk_data_set *set)
{
    if (set && set != &no_memory_set)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void hk_data_set_release(hk_data_set *set)
{
    if (!set || set == &no_memory_set ||
        atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    hki_image_set_deinit(&set->files);
    hk_status_release(set->status);
    free(set);
}

/* ---- facts ----------------------------------------------------------------------------------- */

const hk_status *hki_data_set_status(const hk_data_set *set, const char *operation)
{
    if (!set)
        return refusal(operation, HK_INVALID_ARGUMENT, "argument set is NULL");
    if (set == &no_memory_set)
        return refusal("data_set_open", HK_OUT_OF_MEMORY, "no host memory for a data set");
    return hk_status_retain(set->status);
}

const hk_status *hk_data_set_status(const hk_data_set *set)
{
    return hki_status_lend(hki_data_set_status(set, "data_set_status"));
}

int64_t hk_data_set_size(const hk_data_set *set)
{
    return set ? set->part->count : 0;
}

int64_t hk_data_set_channels(const hk_data_set *set)
{
    return set && set->part->count ? 1 : 0;
}

int64_t hk_data_set_height(const hk_data_set *set)
{
    return set ? set->part->height : 0;
}

int64_t hk_data_set_width(const hk_data_set *set)
{
    return set ? set->part->width : 0;
}

int hk_data_set_class_count(const hk_data_set *set)
{
    return set ? set->class_count : 0;
}

const char *hk_data_set_folder(const hk_data_set *set)
{
    return set && set->files.folder ? set->files.folder : "";
}

/* ---- where data sets are looked for ---------------------------------------------------------- */

const hk_status *hk_data_set_find(const char *folder, hk_data_place places[HK_DATA_PLACE_COUNT])
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
                                         : refusal("data_set_find", code, "%s", message));
}

HKI_AT(hk_data_set *, hk_data_set_open,
       (hk_source at, const char *folder, hk_data_part part, const hk_data_set_options *options),
       (folder, part, options))
