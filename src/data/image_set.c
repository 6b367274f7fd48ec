#include "data/image_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/kernel_isa.h"
#include "base/philox.h"

#define MAX_CLASSES   256 /* labels are u8 */
#define DEBIAN_FOLDER "/usr/share/datasets/fashion-mnist"

/* The two files of a part, without ".gz". */
static const struct {
    unsigned part;
    const char *images;
    const char *labels;
} part_files[] = {
    {HKI_IMAGE_TRAIN, "train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
    {HKI_IMAGE_TEST, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
};

#define PART_COUNT (sizeof part_files / sizeof part_files[0])

static void clear(char *message, size_t message_bytes)
{
    if (message_bytes > 0)
        message[0] = '\0';
}

static unsigned parts_or_both(unsigned parts)
{
    return parts != 0 ? parts : HKI_IMAGE_TRAIN | HKI_IMAGE_TEST;
}

/* ---- finding ---- */

/* A name that cannot be examined counts as there: opening it then says why. */
static bool is_there(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* The path of name in folder, plain or .gz; owned by the caller. NULL if there is neither, or, with
 * *no_memory set, no memory. */
static char *find_file(const char *folder, const char *name, bool *no_memory)
{
    static const char *const suffixes[] = {"", ".gz"};

    *no_memory = false;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char *path = NULL;

        if (asprintf(&path, "%s/%s%s", folder, name, suffixes[i]) < 0) {
            *no_memory = true;
            return NULL;
        }
        if (is_there(path))
            return path;
        free(path);
    }
    return NULL;
}

/* True also when memory is out; reading then says so. */
static bool has_file(const char *folder, const char *name)
{
    bool no_memory;
    char *path = find_file(folder, name, &no_memory);

    free(path);
    return path != NULL || no_memory;
}

static void examine(hki_image_place *place, unsigned parts)
{
    struct stat about;

    if (!place->folder) {
        place->state = HKI_IMAGE_PLACE_UNSET;
        return;
    }
    if (stat(place->folder, &about) == 0 ? !S_ISDIR(about.st_mode)
                                         : errno == ENOENT || errno == ENOTDIR) {
        place->state = HKI_IMAGE_PLACE_NO_FOLDER;
        return;
    }
    place->state = HKI_IMAGE_PLACE_COMPLETE;
    for (size_t i = 0; i < PART_COUNT && !place->missing; i++) {
        if (!(parts & part_files[i].part))
            continue;
        if (!has_file(place->folder, part_files[i].images))
            place->missing = part_files[i].images;
        else if (!has_file(place->folder, part_files[i].labels))
            place->missing = part_files[i].labels;
    }
    if (place->missing)
        place->state = HKI_IMAGE_PLACE_INCOMPLETE;
}

hk_code hki_image_set_find(hki_image_place places[HKI_IMAGE_PLACES], const char *folder,
                           unsigned parts, char *message, size_t message_bytes)
{
    const char *environment = getenv("HOCKET_DATA_DIR");
    const hki_image_place *chosen = NULL;

    if (environment && environment[0] == '\0')
        environment = NULL;
    places[0] = (hki_image_place){.origin = "given folder", .folder = folder};
    places[1] = (hki_image_place){.origin = "HOCKET_DATA_DIR", .folder = environment};
    places[2] = (hki_image_place){.origin = "dataset-fashion-mnist", .folder = DEBIAN_FOLDER};
    for (int i = 0; i < HKI_IMAGE_PLACES; i++) {
        examine(&places[i], parts_or_both(parts));
        if (!chosen && places[i].folder) {
            places[i].chosen = true;
            chosen = &places[i];
        }
    }
    clear(message, message_bytes);
    if (chosen->state == HKI_IMAGE_PLACE_COMPLETE)
        return HK_OK;
    return hki_data_fail(HK_NOT_FOUND, message, message_bytes, chosen->folder,
                         "no image set is in this folder (%s), which %s%s%s; install "
                         "dataset-fashion-mnist, set HOCKET_DATA_DIR or pass --data DIR",
                         chosen->origin, chosen->missing ? "has no " : "is not there",
                         chosen->missing ? chosen->missing : "", chosen->missing ? "[.gz]" : "");
}

/* ---- checking ---- */

/* Both files u8 and of the right number of dimensions. */
static hk_code check_file(const hki_idx_file *file, const char *name, const char *holds, int ndim,
                          char *message, size_t message_bytes)
{
    if (file->type != HKI_IDX_U8)
        return hki_data_fail(HK_BAD_DATA, message, message_bytes, name,
                             "has elements of type %s; %s of type u8 would be right; convert them",
                             hki_idx_type_name(file->type), holds);
    if (file->ndim != ndim)
        return hki_data_fail(
            HK_BAD_DATA, message, message_bytes, name,
            "has %d dimensions; %d would be right for %s; pass the file that holds "
            "them",
            file->ndim, ndim, holds);
    return HK_OK;
}

static hk_code check_part(const hki_idx_file *images, const hki_idx_file *labels,
                          const char *images_name, const char *labels_name, int class_count,
                          char *message, size_t message_bytes)
{
    hk_code code;

    if (class_count < 1 || class_count > MAX_CLASSES)
        return hki_data_fail(HK_INVALID_ARGUMENT, message, message_bytes, labels_name,
                             "class count is %d; 1 to %d would be right", class_count, MAX_CLASSES);
    code = check_file(images, images_name, "images", 3, message, message_bytes);
    if (code == HK_OK)
        code = check_file(labels, labels_name, "labels", 1, message, message_bytes);
    if (code != HK_OK)
        return code;
    if (images->data_bytes == 0)
        return hki_data_fail(HK_BAD_DATA, message, message_bytes, images_name,
                             "has %" PRId64 " images of %" PRId64 " x %" PRId64
                             " pixels; at least one of 1 x 1 would be right; fetch the file again",
                             images->dims[0], images->dims[1], images->dims[2]);
    if (images->dims[0] != labels->dims[0])
        return hki_data_fail(HK_BAD_DATA, message, message_bytes, labels_name,
                             "has %" PRId64 " labels for %" PRId64
                             " images; one each would be right; take both files from one data set",
                             labels->dims[0], images->dims[0]);
    for (int64_t i = 0; i < labels->dims[0]; i++)
        if (labels->data[i] >= class_count)
            return hki_data_fail(HK_BAD_DATA, message, message_bytes, labels_name,
                                 "label %" PRId64 " is %d; 0 to %d would be right; fetch the file "
                                 "again or raise the class count",
                                 i, labels->data[i], class_count - 1);
    return HK_OK;
}

hk_code hki_image_part_init(hki_image_part *part, hki_idx_file *images, hki_idx_file *labels,
                            const char *images_name, const char *labels_name, int class_count,
                            char *message, size_t message_bytes)
{
    hk_code code;

    clear(message, message_bytes);
    if (class_count == 0)
        class_count = HKI_IMAGE_DEFAULT_CLASSES;
    code =
        check_part(images, labels, images_name, labels_name, class_count, message, message_bytes);
    if (code != HK_OK)
        return code;
    *part = (hki_image_part){
        .count = images->dims[0],
        .height = images->dims[1],
        .width = images->dims[2],
        .images = *images,
        .labels = *labels,
    };
    memset(images, 0, sizeof *images);
    memset(labels, 0, sizeof *labels);
    return HK_OK;
}

void hki_image_part_deinit(hki_image_part *part)
{
    hki_idx_file_deinit(&part->images);
    hki_idx_file_deinit(&part->labels);
    memset(part, 0, sizeof *part);
}

/* ---- loading ---- */

/* Reads name or name.gz in folder. Sets *path, owned by the caller, whatever comes of it. */
static hk_code read_in(const char *folder, const char *name, uint64_t byte_limit,
                       hki_idx_file *file, char **path, char *message, size_t message_bytes)
{
    bool no_memory;

    *path = find_file(folder, name, &no_memory);
    if (no_memory)
        return hki_data_fail(HK_OUT_OF_MEMORY, message, message_bytes, name,
                             "not enough memory for its path");
    if (!*path) /* it was there a moment ago */
        return hki_data_fail(HK_NOT_FOUND, message, message_bytes, name,
                             "there is no such file, with or without .gz; put it back");
    return hki_idx_file_read(file, *path, byte_limit, message, message_bytes);
}

static hk_code load_part(hki_image_part *part, const char *folder, size_t which,
                         const hki_image_set_options *options, char *message, size_t message_bytes)
{
    hki_idx_file images = {0}, labels = {0};
    char *images_path = NULL, *labels_path = NULL;
    hk_code code = read_in(folder, part_files[which].images, options->byte_limit, &images,
                           &images_path, message, message_bytes);

    if (code == HK_OK)
        code = read_in(folder, part_files[which].labels, options->byte_limit, &labels, &labels_path,
                       message, message_bytes);
    if (code == HK_OK)
        code = hki_image_part_init(part, &images, &labels, images_path, labels_path,
                                   options->class_count, message, message_bytes);
    hki_idx_file_deinit(&images);
    hki_idx_file_deinit(&labels);
    free(images_path);
    free(labels_path);
    return code;
}

hk_code hki_image_set_load(hki_image_set *set, const hki_image_set_options *options, char *message,
                           size_t message_bytes)
{
    static const hki_image_set_options defaults = {0};
    hki_image_place places[HKI_IMAGE_PLACES];
    hki_image_part *const parts[PART_COUNT] = {&set->train, &set->test};
    const hki_image_part *first = &set->train, *second = &set->test;
    hk_code code;
    unsigned wanted;

    if (!options)
        options = &defaults;
    wanted = parts_or_both(options->parts);
    memset(set, 0, sizeof *set);
    code = hki_image_set_find(places, options->folder, wanted, message, message_bytes);
    if (code != HK_OK)
        return code;
    for (int i = 0; i < HKI_IMAGE_PLACES && !set->folder; i++) {
        if (!places[i].chosen)
            continue;
        set->folder = strdup(places[i].folder);
        if (!set->folder)
            return hki_data_fail(HK_OUT_OF_MEMORY, message, message_bytes, places[i].folder,
                                 "not enough memory for its path");
    }
    for (size_t i = 0; i < PART_COUNT && code == HK_OK; i++)
        if (wanted & part_files[i].part)
            code = load_part(parts[i], set->folder, i, options, message, message_bytes);
    if (code == HK_OK && first->count > 0 && second->count > 0 &&
        (first->height != second->height || first->width != second->width))
        code = hki_data_fail(HK_BAD_DATA, message, message_bytes, set->folder,
                             "test images are %" PRId64 " x %" PRId64
                             " pixels, training images %" PRId64 " x %" PRId64
                             "; take both from one data set",
                             second->height, second->width, first->height, first->width);
    if (code != HK_OK)
        hki_image_set_deinit(set);
    return code;
}

void hki_image_set_deinit(hki_image_set *set)
{
    free(set->folder);
    hki_image_part_deinit(&set->train);
    hki_image_part_deinit(&set->test);
    memset(set, 0, sizeof *set);
}

/* ---- batches ---- */

/* One loop for each instruction set; a quotient is the same in all of them. */
#define SCALE_PIXELS(isa, target)                                                                  \
    target static void scale_pixels_##isa(float *restrict to, const uint8_t *restrict from,        \
                                          int64_t count)                                           \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = (float)from[i] / 255.0f;                                                       \
    }

SCALE_PIXELS(portable, )
#if HKI_HAVE_X86_ISAS
SCALE_PIXELS(avx2, HKI_TARGET_AVX2)
SCALE_PIXELS(avx512, HKI_TARGET_AVX512)
#endif

void hki_scale_pixels(float *to, const uint8_t *from, int64_t count)
{
    HKI_OF_ISA(scale_pixels, )(to, from, count);
}

/* Shuffled samples lie anywhere in the data set: fetches one ahead of its turn. */
static void prefetch_pixels(const hki_image_part *part, int64_t index, int64_t pixels)
{
    enum { CACHE_LINE = 64 };
    if (index >= 0 && index < part->count)
        for (int64_t i = 0; i < pixels; i += CACHE_LINE)
            __builtin_prefetch(part->images.data + index * pixels + i);
}

int64_t hki_image_fill(const hki_image_part *part, const hki_image_batch *batch, int64_t begin,
                       int64_t end)
{
    enum { AHEAD = 2 };
    int64_t pixels = part->height * part->width;

    for (int64_t i = begin; i < end; i++) {
        int64_t index = batch->indices[i];

        if (batch->images && i + AHEAD < end)
            prefetch_pixels(part, batch->indices[i + AHEAD], pixels);

        if (index < 0 || index >= part->count)
            return i;
        if (batch->images)
            hki_scale_pixels(batch->images + i * pixels, part->images.data + index * pixels,
                             pixels);
        if (batch->labels_i32)
            batch->labels_i32[i] = part->labels.data[index];
        if (batch->labels_i64)
            batch->labels_i64[i] = part->labels.data[index];
    }
    return end;
}

/* ---- order ---- */

/* The stream of 64-bit draws that hki_shuffle describes. */
typedef struct draws {
    uint32_t key[2];
    uint32_t epoch;
    uint64_t block; /* the next one */
    uint32_t words[4];
    int used; /* of words */
} draws;

static uint64_t draw(draws *from)
{
    uint64_t bits;

    if (from->used == 4) {
        const uint32_t counter[4] = {(uint32_t)from->block, (uint32_t)(from->block >> 32),
                                     from->epoch, HKI_PHILOX_SHUFFLE};
        hki_philox4x32(counter, from->key, from->words);
        from->block++;
        from->used = 0;
    }
    bits = from->words[from->used] | (uint64_t)from->words[from->used + 1] << 32;
    from->used += 2;
    return bits;
}

void hki_shuffle(uint64_t seed, uint32_t epoch, int64_t n, int64_t *permutation)
{
    draws from = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}, .epoch = epoch, .used = 4};

    for (int64_t i = 0; i < n; i++)
        permutation[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t other = 0;
        int64_t kept = permutation[i];

        while (!hki_bits_below(draw(&from), (uint64_t)i + 1, &other))
            continue;
        permutation[i] = permutation[other];
        permutation[other] = kept;
    }
}
