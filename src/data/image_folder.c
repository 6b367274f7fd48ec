/* Data sets of folders of images: one folder for each class. Files are decoded as they are loaded, by the device's own threads. */
#include "array/array.h"
#include "base/quote.h"
#include "base/source.h"
#include "data/data_file.h"
#include "data/data_set.h"
#include "data/image_file.h"
#include "data/image_set.h"
#include "data/transform.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* About what decoding takes: where it runs follows, no value does. */
#define FILE_NS    1e5
#define PIXEL_NS   20.0
#define FILE_LIMIT ((uint64_t)1 << 28)

static const char operation[] = "data_set_of_images";

typedef struct image_file {
    char *path;
    int64_t label;
} image_file;

typedef struct image_folder {
    char *folder;
    char **classes; /* names, sorted */
    int class_count;
    image_file *files;
    int64_t count, capacity;
    hki_image_size size;
    bool is_resized;
} image_folder;

/* ---- loading --------------------------------------------------------------------------------------------- */

static hk_code decode(hki_pixels *to, const char *path, int channels, char *message)
{
    uint8_t *bytes;
    size_t size = 0;
    *to = (hki_pixels){0};
    hk_code code = hki_data_file_read(path, "pass an image", FILE_LIMIT, &bytes, &size, message);
    if (code == HK_OK)
        code = hki_image_decode(to, path, bytes, size, channels, message);
    free(bytes);
    return code;
}

/* From (height, width, channels) of 0 to 255 to (channels, height, width) of 0 to 1. */
static void unpack(float *to, const hki_pixels *from)
{
    const int64_t plane = from->height * from->width;
    for (int64_t c = 0; c < from->channels; c++)
        for (int64_t i = 0; i < plane; i++)
            to[c * plane + i] = (float)from->values[i * from->channels + c] / 255.0f;
}

static hk_code resize(const image_folder *self, float *to, const char *path,
                      const hki_pixels *pixels, char *message)
{
    const hki_image_size size = {pixels->channels, pixels->height, pixels->width};
    float *room = malloc((size_t)hki_image_elements(size) * sizeof *room);
    if (!room)
        return hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, path,
                             "no host memory for its pixels");
    unpack(room, pixels);
    hki_image_resize(to, self->size, room, size);
    free(room);
    return HK_OK;
}

static hk_code load(const image_folder *self, const char *path, float *to, char *message)
{
    hki_pixels pixels;
    hk_code code = decode(&pixels, path, (int)self->size.channels, message);
    const bool is_of_size = pixels.height == self->size.height && pixels.width == self->size.width;
    if (code == HK_OK && is_of_size)
        unpack(to, &pixels);
    else if (code == HK_OK && self->is_resized)
        code = resize(self, to, path, &pixels, message);
    else if (code == HK_OK)
        code = hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, path,
                             "has %" PRId64 " x %" PRId64 " pixels; %" PRId64 " x %" PRId64
                             ", as the first one, would be right, or the options height and width",
                             pixels.height, pixels.width, self->size.height, self->size.width);
    free(pixels.values);
    return code;
}

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const image_folder *self = set->own;
    hk_code code = HK_OK;
    for (int64_t row = begin; row < end && code == HK_OK; row++) {
        const image_file *file = &self->files[batch->indices[row]];
        ((int64_t *)batch->fields[1])[row] = file->label;
        code = load(self, file->path,
                    (float *)batch->fields[0] + row * hki_image_elements(self->size), message);
    }
    return code;
}

static void deinit(void *own)
{
    image_folder *self = own;
    for (int64_t i = 0; i < self->count; i++)
        free(self->files[i].path);
    for (int i = 0; i < self->class_count; i++)
        free(self->classes[i]);
    free(self->classes);
    free(self->files);
    free(self->folder);
    free(self);
}

static const hki_data_class image_class = {.fill = fill, .deinit = deinit};

/* ---- listing --------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* The names in a folder that do not begin with a dot, sorted; -1, and errno says why. */
static int list_names(const char *path, char ***names)
{
    DIR *folder = opendir(path);
    int count = 0, error = 0;
    *names = NULL;
    if (!folder)
        return -1;
    for (struct dirent *entry; !error && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char *name = strdup(entry->d_name);
        char **grown = name ? realloc(*names, (size_t)(count + 1) * sizeof *grown) : NULL;
        if (grown) {
            *names = grown;
            grown[count++] = name;
        } else {
            free(name);
            error = ENOMEM;
        }
    }
    closedir(folder);
    if (error) {
        free_names(*names, count);
        *names = NULL;
        errno = error;
        return -1;
    }
    if (count)
        qsort(*names, (size_t)count, sizeof **names, compare_names);
    return count;
}

static bool refuse(hk_data_set *set, const char *path, int error)
{
    char why[128];
    const hk_code code = error == ENOMEM                       ? HK_OUT_OF_MEMORY
                         : error == ENOENT || error == ENOTDIR ? HK_NOT_FOUND
                                                               : HK_IO;
    hki_data_set_fail(set, operation, code,
                      "%s: cannot be listed: %s; a folder with a folder "
                      "of images for each class would be right",
                      hki_quote(path, 240).text, strerror_r(error, why, sizeof why));
    return false;
}

/* Takes path. */
static bool add_file(image_folder *self, char *path, int label)
{
    if (self->count == self->capacity) {
        const int64_t capacity = self->capacity ? 2 * self->capacity : 256;
        image_file *files = realloc(self->files, (size_t)capacity * sizeof *files);
        if (!files) {
            free(path);
            return false;
        }
        self->files = files;
        self->capacity = capacity;
    }
    self->files[self->count++] = (image_file){path, label};
    return true;
}

static bool add_files(hk_data_set *set, const char *folder, int label)
{
    char **names, *path;
    const int count = list_names(folder, &names);
    bool is_good = count >= 0;
    const int error = errno;
    for (int i = 0; i < count && is_good; i++)
        if (hki_image_is_named(names[i]))
            is_good =
                asprintf(&path, "%s/%s", folder, names[i]) >= 0 && add_file(set->own, path, label);
    if (!is_good)
        refuse(set, folder, count < 0 ? error : ENOMEM);
    if (count >= 0)
        free_names(names, count);
    return is_good;
}

/* A folder is a class, other things are left out. */
static bool add_class(hk_data_set *set, const char *name)
{
    image_folder *self = set->own;
    char *path = NULL;
    struct stat about;
    char *own = strdup(name);
    if (!own || asprintf(&path, "%s/%s", self->folder, name) < 0) {
        free(own);
        return refuse(set, self->folder, ENOMEM);
    }
    bool is_good = true;
    if (!stat(path, &about) && S_ISDIR(about.st_mode)) {
        self->classes[self->class_count++] = own;
        own = NULL;
        is_good = add_files(set, path, self->class_count - 1);
    }
    free(own);
    free(path);
    return is_good;
}

static bool list_classes(hk_data_set *set)
{
    image_folder *self = set->own;
    char **names;
    const int count = list_names(self->folder, &names);
    if (count < 0)
        return refuse(set, self->folder, errno);
    self->classes = calloc((size_t)count + 1, sizeof *self->classes);
    bool is_good = self->classes || refuse(set, self->folder, ENOMEM);
    for (int i = 0; i < count && is_good; i++)
        is_good = add_class(set, names[i]);
    free_names(names, count);
    if (is_good && !self->count) {
        hki_data_set_fail(set, operation, HK_BAD_DATA,
                          "%s: has no images; a folder of .png, .jpg or .jpeg files for each "
                          "class would be right",
                          hki_quote(self->folder, 240).text);
        is_good = false;
    }
    return is_good;
}

/* ---- making ---------------------------------------------------------------------------------------------- */

/* Without a size images have that of the first one. */
static bool take_size(hk_data_set *set, const hk_image_folder_options *options)
{
    image_folder *self = set->own;
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_pixels first;
    self->size = (hki_image_size){options->channels ? options->channels : 3, options->height,
                                  options->width};
    self->is_resized = options->height > 0;
    if (self->is_resized)
        return true;
    const hk_code code = decode(&first, self->files[0].path, (int)self->size.channels, message);
    self->size.height = first.height;
    self->size.width = first.width;
    free(first.values);
    if (code != HK_OK)
        hki_data_set_fail(set, operation, code, "%s", message);
    return code == HK_OK;
}

/* NULL, or what is wrong, counted. */
static const hk_status *check(const char *caller, const char *name, const char *path,
                              const hk_image_folder_options *options)
{
    const int64_t most = 1 << 16;
    if (!path || !*path)
        return hki_data_refusal(caller, HK_INVALID_ARGUMENT, "argument %s is %s", name,
                                path ? "empty" : "NULL");
    if (options->channels && options->channels != 1 && options->channels != 3)
        return hki_data_refusal(caller, HK_INVALID_ARGUMENT,
                                "option channels is %d; 1, 3 or 0 for 3 would be right",
                                options->channels);
    if (options->height < 0 || options->height > most || options->width < 0 ||
        options->width > most || !options->height != !options->width)
        return hki_data_refusal(caller, HK_INVALID_ARGUMENT,
                                "options height and width are %" PRId64 " and %" PRId64
                                "; both 1 to %" PRId64 ", or both 0, would be right",
                                options->height, options->width, most);
    return NULL;
}

static void describe(hk_data_set *set)
{
    const image_folder *self = set->own;
    set->size = self->count;
    set->class_count = self->class_count;
    set->class_names = (const char *const *)self->classes;
    set->folder = self->folder;
    set->sample_ns = FILE_NS + PIXEL_NS * (double)hki_image_elements(self->size);
    if (hki_data_set_add_field(set, operation,
                               hk_shape(self->size.channels, self->size.height, self->size.width),
                               HK_F32))
        hki_data_set_add_field(set, operation, hk_shape(), HK_I64);
}

hk_data_set *(hk_data_set_of_images)(const char *folder, const hk_image_folder_options *options)
{
    HKI_TAKE_OPTIONS(hk_image_folder_options, options);
    static const hk_image_folder_options defaults = {0};
    hk_data_set *set = hki_data_set_new();
    if (!options)
        options = &defaults;
    if (hki_data_set_is_static(set))
        return set;
    const hk_status *wrong = check(operation, "folder", folder, options);
    if (wrong) {
        hki_data_set_fail_with(set, wrong);
        return set;
    }
    image_folder *self = calloc(1, sizeof *self);
    set->class = &image_class;
    set->own = self;
    if (self)
        self->folder = strdup(folder);
    if (!self || !self->folder)
        hki_data_set_fail_with(set, hki_status_no_memory());
    else if (list_classes(set) && take_size(set, options))
        describe(set);
    return set;
}

/* ---- one image ------------------------------------------------------------------------------------------- */

/* Values in new memory, to be freed; NULL: see message. */
static float *load_one(const char *path, const hk_image_folder_options *options,
                       hki_image_size *size, hk_code *code, char *message)
{
    hki_pixels pixels;
    *size = (hki_image_size){options->channels ? options->channels : 3, options->height,
                             options->width};
    *code = decode(&pixels, path, (int)size->channels, message);
    if (*code != HK_OK)
        return NULL;
    if (!size->height) {
        size->height = pixels.height;
        size->width = pixels.width;
    }
    const image_folder self = {.size = *size, .is_resized = true};
    float *values = malloc((size_t)hki_image_elements(*size) * sizeof *values);
    if (!values)
        *code = hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, path,
                              "no host memory for its pixels");
    else if (pixels.height == size->height && pixels.width == size->width)
        unpack(values, &pixels);
    else
        *code = resize(&self, values, path, &pixels, message);
    free(pixels.values);
    return values;
}

hk_array *(hk_image_load)(const char *path, const hk_image_folder_options *options)
{
    HKI_TAKE_OPTIONS(hk_image_folder_options, options);
    static const hk_image_folder_options defaults = {0};
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_image_size size;
    hk_code code = HK_OK;
    if (!options)
        options = &defaults;
    const hk_status *wrong = check("image_load", "path", path, options);
    if (wrong) {
        hk_array *refused = hki_array_create_failed(
            NULL, "image_load", NULL, 0, hk_status_code(wrong), "%s", hk_status_message(wrong));
        hk_status_release(wrong);
        return refused;
    }
    float *values = load_one(path, options, &size, &code, message);
    hk_array *x = code == HK_OK
                      ? (hk_from_host)(values, hk_shape(size.channels, size.height, size.width),
                                       HK_F32, (hk_device){NULL})
                      : hki_array_create_failed(NULL, "image_load", NULL, 0, code, "%s", message);
    free(values);
    return x;
}
