/* Data sets of labelled images, and loaders that shuffle them and prepare batches ahead.
 *
 *     hk_data_set *set = hk_data_set_open(NULL, HK_DATA_TRAIN, NULL);
 *     hk_loader *loader = hk_loader_create(set, &(hk_loader_options){
 *         .batch_size = 256, .shuffle = true, .devices = devices, .device_count = n});
 *     for (int epoch = 0; epoch < 10; epoch++) {
 *         for (;;) {
 *             HK_SCOPE;
 *             if (!hk_loader_next(loader, images, labels))
 *                 break;
 *             … images[i] and labels[i] are on devices[i] …
 *         }
 *     }
 *     hk_loader_release(loader);
 *     hk_data_set_release(set);
 *
 * Functions never return NULL: what cannot be opened or loaded is a *failed* data set or loader. A
 * failed loader gives one batch of failed arrays each epoch, so that the reason travels as with any
 * value; a program may also ask hk_loader_status. */
#ifndef HOCKET_DATA_H
#define HOCKET_DATA_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* ---- data sets ------------------------------------------------------------------------------- */

/* Samples, such as images and their labels, in host memory or files. Immutable after create, counted, thread-safe; of no device or
 * runtime, so that it outlives them. */
typedef struct hk_data_set hk_data_set;

typedef enum hk_data_part { HK_DATA_TRAIN, HK_DATA_TEST } hk_data_part;

/* Zero means the default. */
typedef struct hk_data_set_options {
    int class_count;     /* labels are below it; 1 to 256; default 10 */
    uint64_t byte_limit; /* of each file's elements; default 2 GiB */
} hk_data_set_options;

/* Reads one part of the data set in `folder`: idx files with the names of MNIST, plain or .gz. NULL
 * means the folder that HOCKET_DATA_DIR names, else that of Debian's package dataset-fashion-mnist.
 * Options may be NULL. Blocks while it reads. The result belongs to the caller. Failures:
 * HK_NOT_FOUND, HK_IO, HK_BAD_DATA, HK_OUT_OF_MEMORY, HK_INVALID_ARGUMENT. */
HK_API hk_data_set *hk_data_set_open(const char *folder, hk_data_part part,
                                     const hk_data_set_options *options);
HK_API hk_data_set *hk_data_set_retain(hk_data_set *set);
/* Drops one count; NULL is ignored. Work in flight keeps what it needs. */
HK_API void hk_data_set_release(hk_data_set *set);

HK_API const hk_status *hk_data_set_status(const hk_data_set *set);
/* Facts: 0 and "" for a failed data set and NULL. */
HK_API int64_t hk_data_set_size(const hk_data_set *set); /* samples */
/* Of images, whose field 0 is (channels, height, width); 0 where there are none. */
HK_API int64_t hk_data_set_channels(const hk_data_set *set);
HK_API int64_t hk_data_set_height(const hk_data_set *set);
HK_API int64_t hk_data_set_width(const hk_data_set *set);
HK_API int hk_data_set_class_count(const hk_data_set *set);
/* NULL where classes have no names, or there is no such class; lives as long as the set. */
HK_API const char *hk_data_set_class_name(const hk_data_set *set, int index);
/* Fields: what a sample has, such as an image and its label. Shape and dtype are those in a batch, without its first axis; zeros and
 * float32 where there is no such field. */
enum { HK_DATA_MOST_FIELDS = 8 };
HK_API int hk_data_set_field_count(const hk_data_set *set);
HK_API hk_dims hk_data_set_field_shape(const hk_data_set *set, int field);
HK_API hk_dtype hk_data_set_field_dtype(const hk_data_set *set, int field);
/* Where the files were; the text lives as long as the set. */
HK_API const char *hk_data_set_folder(const hk_data_set *set);

/* ---- where data sets are looked for ---------------------------------------------------------- */

typedef enum hk_data_place_state {
    HK_DATA_PLACE_UNSET,      /* nobody named a folder here */
    HK_DATA_PLACE_NO_FOLDER,  /* named, and no folder there */
    HK_DATA_PLACE_INCOMPLETE, /* a folder without the file `missing` */
    HK_DATA_PLACE_COMPLETE    /* has all four files */
} hk_data_place_state;

/* A place where a data set may be. The first that is not unset is chosen, and no other is tried:
 * who names a folder never gets another one's data. */
typedef struct hk_data_place {
    const char *origin;  /* "given folder", "HOCKET_DATA_DIR", "dataset-fashion-mnist"; static */
    const char *folder;  /* borrowed from the argument or the environment; NULL if unset */
    const char *missing; /* a file's name without .gz, if incomplete, else NULL; static */
    hk_data_place_state state;
    bool chosen;
} hk_data_place;

enum { HK_DATA_PLACE_COUNT = 3 };

/* Lists all places (`places` may be NULL), in their order. HK_OK if the chosen one has all files,
 * else HK_NOT_FOUND with a message that says where it looked and what to do. Reads no files. */
HK_API const hk_status *hk_data_set_find(const char *folder,
                                         hk_data_place places[HK_DATA_PLACE_COUNT]);
HK_AT(const hk_status *, hk_data_set_find,
      (hk_source at, const char *folder, hk_data_place places[HK_DATA_PLACE_COUNT]),
      (folder, places))
#define hk_data_set_find(...) hk_data_set_find_at(HK_SOURCE, __VA_ARGS__)

/* ---- loaders --------------------------------------------------------------------------------- */

/* Gives the batches of one epoch after another. Externally synchronised; counted. Filling a batch is
 * a call like any other, run by the device that gets it; for an accelerator by the default device,
 * in pinned memory, from which it is copied. */
typedef struct hk_loader hk_loader;

typedef struct hk_loader_options {
    int64_t batch_size; /* samples of a batch on all devices together, >= 1; must be given */
    bool shuffle; /* a new order each epoch, a pure function of seed, epoch and size; else as is */
    bool drop_last; /* leave out the last batch of an epoch when it is not a full one */
    uint64_t seed;
    int ahead; /* batches prepared ahead, and held: 0 means 2; -1: none */
    /* Slice i of each batch is for devices[i]; NULL, with device_count 0 or 1: the default device.
     * The list is copied. */
    const hk_device *devices;
    int device_count;
    /* NULL, or one for each slice: how much it gets in proportion, 0 to 2^30, not all 0; with a sum
     * of batch_size, the sizes of full slices. Rows left over by rounding down go, one each, to the
     * largest remainders, of equal ones to the first. With NULL, a batch that has a run of 16
     * samples (the last one may be shorter) for each of 1, 2, 4, 8, … slices is cut between runs:
     * the first half of them, or one more, for the first half of the slices. So any number of those
     * gives the same sums, byte for byte. Other batches are cut evenly, the first slices longer by
     * one. */
    const int64_t *shares;
    /* Where several processes share each batch: how many slices it has in all, and which of them is for devices[0]; the others
     * follow. Only own slices are read. batch_size and the order of samples are those of all (default: device_count, 0). */
    int slice_count, first_slice;
    /* Where a full batch is cut between runs, so is a last one with fewer runs than slices, of
     * which some get no samples then: for the same sums of that batch, too, by networks that take
     * arrays without rows. */
    bool whole_runs;
} hk_loader_options;

/* set is retained. Does not block. The result belongs to the caller. */
HK_API hk_loader *hk_loader_create(hk_data_set *set, const hk_loader_options *options);
HK_API hk_loader *hk_loader_retain(hk_loader *loader);
/* Drops one count; NULL is ignored. Never blocks; work in flight keeps what it needs. */
HK_API void hk_loader_release(hk_loader *loader);

HK_API const hk_status *hk_loader_status(const hk_loader *loader);
/* Batches in each epoch; 1 for a failed loader. */
HK_API int64_t hk_loader_batch_count(const hk_loader *loader);
/* Slices of a batch: how many arrays hk_loader_next sets. */
HK_API int hk_loader_device_count(const hk_loader *loader);

/* Begins an epoch, wherever the last one was left, and issues its first batches. The number counts
 * modulo 2^32. Shuffling takes the caller about 10 ns a sample; it does not wait. */
HK_API void hk_loader_start_epoch(hk_loader *loader, int64_t epoch);

/* Gives the next batch, and issues the one that comes `ahead` later. For each device, images[i] is
 * float32 (rows, channels, height, width), of values 0 to 1, and labels[i] is int64 (rows,); rows
 * follow each other over the devices, and a slice may have none. images or labels may be NULL when
 * not wanted. Does not wait. Results belong to the scope.
 *
 * False, with nothing set, at the end of the epoch; the call after that begins the next one. The first
 * is 0 unless hk_loader_start_epoch says otherwise. */
HK_API bool hk_loader_next(hk_loader *loader, hk_array **images, hk_array **labels);
/* The same for data sets of any fields: arrays[f * device_count + i] is field f on devices[i], (rows, shape of the field). count:
 * of the fields wanted, from the first on. What the data set does not have is failed. hk_loader_next gives fields 0 and 1. */
HK_API bool hk_loader_next_fields(hk_loader *loader, hk_array **arrays, int count);

/* Where a loader is: what hk_loader_next gives next, and what decides which samples these are. */
typedef struct hk_loader_position {
    int64_t epoch,
        batch; /* batch: of the epoch, from 0; hk_loader_batch_count: the end of the epoch comes next */
    uint64_t seed;
    int64_t sample_count; /* of the data set */
    int64_t batch_size;
    bool shuffle, drop_last;
} hk_loader_position;
/* All zeros for a failed loader. Does not wait. */
HK_API hk_loader_position hk_loader_get_position(const hk_loader *loader);
/* Goes on from there, with that seed, as a loader that came there by itself; not through hk_loader_start_epoch, which begins an
 * epoch. The devices may be others. Does not wait. Borrowed status; HK_INVALID_ARGUMENT, and nothing is changed, where
 * sample_count and what follows it are not this loader's, or batch is out of range. A failed loader's record is its own. */
HK_API const hk_status *hk_loader_seek(hk_loader *loader, hk_loader_position position);

/* Samples, on all devices together, of the batch that hk_loader_next gave last; 0 before the first
 * one and for a failed batch. */
HK_API int64_t hk_loader_batch_samples(const hk_loader *loader);

/* The samples of the data set, hk_data_set_size of them, in the order of the epoch that began last: borrowed,
 * valid until the next epoch begins. NULL when the loader does not shuffle, before the first epoch and for
 * a failed loader. */
HK_API const int64_t *hk_loader_order(const hk_loader *loader);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(hk_data_set *, hk_data_set_open, hk_data_set_options,
              (hk_source at, const char *folder, hk_data_part part,
               const hk_data_set_options *options),
              (folder, part, options))
#define hk_data_set_open(...) hk_data_set_open_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_loader *, hk_loader_create, hk_loader_options,
              (hk_source at, hk_data_set *set, const hk_loader_options *options), (set, options))
#define hk_loader_create(...) hk_loader_create_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_loader_start_epoch, (hk_source at, hk_loader *loader, int64_t epoch), (loader, epoch))
#define hk_loader_start_epoch(...) hk_loader_start_epoch_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_loader_seek,
      (hk_source at, hk_loader *loader, hk_loader_position position), (loader, position))
#define hk_loader_seek(...) hk_loader_seek_at(HK_SOURCE, __VA_ARGS__)
HK_AT(bool, hk_loader_next, (hk_source at, hk_loader *loader, hk_array **images, hk_array **labels),
      (loader, images, labels))
#define hk_loader_next(...) hk_loader_next_at(HK_SOURCE, __VA_ARGS__)
HK_AT(bool, hk_loader_next_fields, (hk_source at, hk_loader *loader, hk_array **arrays, int count),
      (loader, arrays, count))
#define hk_loader_next_fields(...) hk_loader_next_fields_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
