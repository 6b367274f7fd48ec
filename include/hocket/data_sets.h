/* Where data sets come from, beside the images of hk_data_set_open: arrays, tables, CIFAR, folders of PNG and
 * JPEG files; and what is done to images as they are loaded.
 *
 *     hk_data_set *set = hk_data_set_of_arrays((hk_array *[]){x, y}, 2);
 *     hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 32, .shuffle = true});
 *
 * All belong to the caller, and are never NULL: what cannot be made is a failed data set. Files are taken as hostile: what is
 * damaged, cut short or not what it claims to be gives an error that names the file and the place in it. */
#ifndef HOCKET_DATA_SETS_H
#define HOCKET_DATA_SETS_H

#include <hocket/data.h>

HK_BEGIN_DECLS

/* Field f of sample i is arrays[f][i]: all have the same first axis, of at least 1, any dtypes and any devices; 1 to
 * HK_DATA_MOST_FIELDS of them. Values are copied into the host's memory: blocks until they are there. A failed array fails the set by
 * its own record; HK_INVALID_ARGUMENT, HK_OUT_OF_MEMORY. */
HK_API hk_data_set *hk_data_set_of_arrays(hk_array *const *arrays, int count);

/* ---- tables of numbers --------------------------------------------------------------------------------- */

/* Zero means the default. */
typedef struct hk_csv_options {
    char delimiter;      /* default ',' */
    bool has_header;     /* the first line names the columns, and is left out */
    uint64_t byte_limit; /* of the file, and of the values; default 2 GiB */
} hk_csv_options;

/* The numbers of a text file, lines of as many fields each (RFC 4180): float64 (rows, columns), on the default device, of the scope.
 * Fields may be quoted, and have blanks around them; one without text, or NA, is NaN. Numbers are as in C, whatever the locale; lines
 * without text are left out. Blocks while it reads. options may be NULL. Failures: HK_NOT_FOUND, HK_IO, HK_BAD_DATA, which names
 * line and column, HK_INVALID_ARGUMENT, HK_OUT_OF_MEMORY. */
HK_API hk_array *hk_csv_load(const char *path, const hk_csv_options *options);

/* Of such a file: field 0 is float32 (columns - targets,), and field 1 the last `targets` columns, float32 (targets,); none
 * with 0. A target of -1 means one class, int64 (): whole numbers from 0 to 2^31 - 1. */
HK_API hk_data_set *hk_data_set_of_csv(const char *path, int targets,
                                       const hk_csv_options *options);

/* ---- CIFAR ----------------------------------------------------------------------------------------------- */

/* The binary version of CIFAR-10 (class_count 10) or CIFAR-100 (class_count 100: fine labels), of as many files as there are, such as
 * data_batch_1.bin to data_batch_5.bin: images float32 (3, 32, 32), of values 0 to 1, and labels int64 (). Blocks while it reads.
 * Source: https://www.cs.toronto.edu/~kriz/cifar.html. Failures: as of hk_data_set_open. */
HK_API hk_data_set *hk_data_set_of_cifar(const char *const *paths, int count, int class_count);

/* ---- folders of images --------------------------------------------------------------------------------- */

/* Zero means the default. */
typedef struct hk_image_folder_options {
    int channels; /* 1 (grey) or 3 (red, green, blue); default 3 */
    int64_t height,
        width; /* to which images are resized, as by HK_TRANSFORM_RESIZE; default: all are like the first one */
} hk_image_folder_options;

/* A folder in which each class has a folder of files that end in .png, .jpg or .jpeg: images float32 (channels, height, width), of
 * values 0 to 1; and labels int64 (), the place of the class's name among all, sorted by their bytes. So are the files of each.
 * Transparent pixels are put on black, grey is the luma of ITU-R BT.601, of 16 bits the upper 8 count, four inks become three
 * colours, and JPEG files are turned as their Exif orientation says. Other files, and names that begin with a dot, are left out.
 * Blocks while it lists them; files are read and decoded as they are loaded, by the threads of the device that loads, and what is
 * damaged fails its batch by a record that names the file. An image has at most 2^26 pixels, a file 256 MiB. options may be NULL. Failures: HK_NOT_FOUND, HK_IO, HK_BAD_DATA,
 * HK_OUT_OF_MEMORY, HK_INVALID_ARGUMENT. */
HK_API hk_data_set *hk_data_set_of_images(const char *folder,
                                          const hk_image_folder_options *options);

/* One such file: float32 (channels, height, width), on the default device, of the scope. Blocks while it reads; the same options
 * and failures. */
HK_API hk_array *hk_image_load(const char *path, const hk_image_folder_options *options);

/* ---- transforms ------------------------------------------------------------------------------------------ */

typedef enum hk_transform_kind {
    HK_TRANSFORM_RESIZE, /* to height x width: bilinear, pixels' centres at halves, no filter against aliasing */
    HK_TRANSFORM_CROP, /* height x width at a random place, of the image with `padding` zeros on each side */
    HK_TRANSFORM_FLIP,      /* left to right, with `probability` */
    HK_TRANSFORM_NORMALIZE, /* (x - mean) / std, of each channel */
    HK_TRANSFORM_JITTER /* brightness, then contrast, then saturation, each by a factor in [1 - value, 1 + value): towards
                               black, the mean of the grey image, the grey image; results are clipped to 0 to 1 */
} hk_transform_kind;

enum { HK_TRANSFORM_MOST_CHANNELS = 4 };
typedef struct hk_transform {
    hk_transform_kind kind;
    int64_t height, width, padding;
    double probability; /* 0 to 1 (default: 0.5) */
    float mean[HK_TRANSFORM_MOST_CHANNELS], std[HK_TRANSFORM_MOST_CHANNELS];
    double brightness, contrast, saturation; /* 0 to 1; 0: none */
} hk_transform;

/* The same samples, with field 0, images float32 (channels, height, width), going through 1 to 32 transforms as they are loaded, by
 * the threads of the device that loads. What is drawn follows from the loader's seed, the epoch and the sample alone: the same
 * images on any devices, with any number of threads. set is retained. HK_INVALID_ARGUMENT, or the record of a failed set. */
HK_API hk_data_set *hk_data_set_transform(hk_data_set *set, const hk_transform *transforms,
                                          int count);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(hk_data_set *, hk_data_set_of_images, hk_image_folder_options,
              (hk_source at, const char *folder, const hk_image_folder_options *options),
              (folder, options))
#define hk_data_set_of_images(...) hk_data_set_of_images_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_image_load, hk_image_folder_options,
              (hk_source at, const char *path, const hk_image_folder_options *options),
              (path, options))
#define hk_image_load(...) hk_image_load_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_data_set *, hk_data_set_transform,
      (hk_source at, hk_data_set *set, const hk_transform *transforms, int count),
      (set, transforms, count))
#define hk_data_set_transform(...) hk_data_set_transform_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_data_set *, hk_data_set_of_arrays, (hk_source at, hk_array *const *arrays, int count),
      (arrays, count))
#define hk_data_set_of_arrays(...) hk_data_set_of_arrays_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_csv_load, hk_csv_options,
              (hk_source at, const char *path, const hk_csv_options *options), (path, options))
#define hk_csv_load(...) hk_csv_load_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_data_set *, hk_data_set_of_csv, hk_csv_options,
              (hk_source at, const char *path, int targets, const hk_csv_options *options),
              (path, targets, options))
#define hk_data_set_of_csv(...) hk_data_set_of_csv_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_data_set *, hk_data_set_of_cifar,
      (hk_source at, const char *const *paths, int count, int class_count),
      (paths, count, class_count))
#define hk_data_set_of_cifar(...) hk_data_set_of_cifar_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
