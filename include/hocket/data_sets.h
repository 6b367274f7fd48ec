/* Where data sets come from, beside the images of hk_data_set_open: arrays, tables, CIFAR.
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
 * Fields may be quoted, and have blanks around them; one without text is NaN. Numbers are as in C, whatever the locale; lines
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

/* The same with the source position of the call: see HK_SOURCE. */
HK_API hk_data_set *hk_data_set_of_arrays_at(hk_source at, hk_array *const *arrays, int count);
#define hk_data_set_of_arrays(...) hk_data_set_of_arrays_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_csv_load_at(hk_source at, const char *path, const hk_csv_options *options);
#define hk_csv_load(...) hk_csv_load_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_data_set *hk_data_set_of_csv_at(hk_source at, const char *path, int targets,
                                          const hk_csv_options *options);
#define hk_data_set_of_csv(...) hk_data_set_of_csv_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_data_set *hk_data_set_of_cifar_at(hk_source at, const char *const *paths, int count,
                                            int class_count);
#define hk_data_set_of_cifar(...) hk_data_set_of_cifar_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
