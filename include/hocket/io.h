/* Files of named arrays: safetensors, npy, npz, and those of PyTorch's torch.save.
 *
 *     const hk_save_entry entries[] = {{"linear.weight", w}, {"linear.bias", b}};
 *     const hk_metadata_entry metadata[] = {{"step", "1200"}};
 *     const hk_status *status = hk_save("model.safetensors", entries, 2,
 *                                       &(hk_save_options){.metadata = metadata, .metadata_count =
 * 1});
 *
 *     hk_archive *archive = hk_load("model.safetensors", hk_device_named("cpu:0"), NULL);
 *     hk_array *weight = hk_archive_get(archive, "linear.weight");
 *     hk_archive_release(archive);
 *
 * What each format keeps:
 *
 *     safetensors   any number of arrays of all dtypes, and metadata: texts by name
 *     npz           any number of arrays of all dtypes but bfloat16; NumPy's, a zip file of npy
 * files npy           one array of any dtype but bfloat16, without a name torch         read only:
 * what torch.save writes (.pt, .pth, .bin), tensors, numbers and texts in dicts and lists. Names
 * are the keys on the way, "model.0.weight", numbers and texts are metadata by such names. The
 * pickle in it calls nothing: it may name what rebuilds tensors, dicts and sets, and else is
 * refused shards        read only: arrays of several files, by an index beside them,
 * NAME.index.json, as Hugging Face's libraries write it; safetensors or torch
 *
 * Files are little-endian and in C order; npy files in another order are read too. Files are taken
 * as hostile: what is damaged, cut short or not what it claims to be gives an error that names the
 * file and the array. */
#ifndef HOCKET_IO_H
#define HOCKET_IO_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef enum hk_file_format {
    HK_FORMAT_BY_NAME, /* by the path's ending: .safetensors, .npy, .npz; .pt, .pth, .bin;
                          .index.json */
    HK_FORMAT_SAFETENSORS,
    HK_FORMAT_NPY,
    HK_FORMAT_NPZ,
    HK_FORMAT_TORCH, /* read only, as is the next */
    HK_FORMAT_SHARDS
} hk_file_format;

/* ---- saving ---------------------------------------------------------------------------------- */

/* An array and its name: UTF-8, not empty, another for each array of a file; "layer.0.weight" is usual. Of an npy file the
 * name is not kept and may be NULL. Both borrowed. */
typedef struct hk_save_entry {
    const char *name;
    hk_array *array;
} hk_save_entry;

/* A text about the file, and its name; both UTF-8, borrowed. */
typedef struct hk_metadata_entry {
    const char *key, *value;
} hk_metadata_entry;

/* Zero means the default. */
typedef struct hk_save_options {
    hk_file_format format;
    bool compress; /* npz: deflate the arrays; other formats know no compression */
    const hk_metadata_entry *metadata; /* safetensors alone keeps them */
    size_t metadata_count;
} hk_save_options;

/* Saves the arrays, from any devices, as one file. Blocks: waits for the arrays, and until the
 * medium has the file. HK_OK means that it is on disk, whole, under its name. Other threads
 * should not write to the arrays meanwhile: each is read by itself.
 *
 * Atomic: a new file is written beside the old one, synchronised, and renamed over it. Where
 * saving fails, or the process is killed, or power goes, the path holds what it held before.
 * What a killed process leaves, `path`.….part, is removed by the next save to that path. A path
 * that is no regular file, such as /dev/null, is written to as it is. A file that is replaced
 * leaves its owner, group and mode, as far as the process may give them; a link stays one, to
 * the new file.
 *
 * A failed array fails the call with its own record. Other failures: HK_INVALID_ARGUMENT,
 * HK_UNSUPPORTED (a dtype that the format lacks), HK_IO, HK_OUT_OF_MEMORY. Takes host memory for
 * one copy of the largest array. options may be NULL. */
HK_API const hk_status *hk_save(const char *path, const hk_save_entry *entries, size_t count,
                                const hk_save_options *options);

/* The same, and returns at once: what is saved are the values of this moment. Whatever is called
 * afterwards, on these arrays too, goes on meanwhile. Returns an int64 array without axes, of a CPU
 * device: how many bytes the arrays have; hk_wait of it tells, by the failures above, whether they
 * are on disk. Takes a copy of the arrays in host memory. Two saves to one path should not be under
 * way at a time. The end of the runtime, and of the process by exit, waits for the file. */
HK_API hk_array *hk_save_async(const char *path, const hk_save_entry *entries, size_t count,
                               const hk_save_options *options);

/* ---- loading --------------------------------------------------------------------------------- */

/* What a file has, and the way to its arrays. Immutable after create, counted, thread-safe. Keeps the file open. */
typedef struct hk_archive hk_archive;

/* Zero means the default. */
typedef struct hk_load_options {
    hk_file_format format;
    /* Large arrays are the file's pages, read when they are used: see hk_archive_get. */
    bool map;
} hk_load_options;

/* Opens a file: reads which arrays it has, and checks all that can be told without their values.
 * Never NULL: what cannot be read is a failed archive. Arrays will be on `device`; a zeroed one is
 * the default. Blocks while it reads. The result belongs to the caller. options may be NULL.
 * Failures: HK_NOT_FOUND, HK_IO, HK_BAD_DATA, HK_INVALID_ARGUMENT, HK_OUT_OF_MEMORY; HK_UNSUPPORTED
 * (a pickle that names what is not made here, or a compressed member). */
HK_API hk_archive *hk_load(const char *path, hk_device device, const hk_load_options *options);
HK_API hk_archive *hk_archive_retain(hk_archive *archive);
/* Drops one count; NULL is ignored. Arrays that were got from it stay. */
HK_API void hk_archive_release(hk_archive *archive);

HK_API const hk_status *hk_archive_status(const hk_archive *archive);
/* Arrays in the file; 0 for a failed archive and NULL. */
HK_API size_t hk_archive_count(const hk_archive *archive);
/* Name of array i, in the order of the file, "" for an npy file's; NULL where i is out of range. Lives as long as the archive. */
HK_API const char *hk_archive_name(const hk_archive *archive, size_t i);
HK_API bool hk_archive_has(const hk_archive *archive, const char *name);

/* A new array with the values of that name; name NULL: of the only array. Belongs to the scope.
 * It may be written to: neither the file nor what was got before changes. Blocks while it reads.
 * Failures: that of a failed archive; HK_NOT_FOUND (no array of that name), HK_BAD_DATA,
 * HK_UNSUPPORTED (a dtype or a number of axes that no array can have), HK_IO, HK_OUT_OF_MEMORY.
 *
 * What one array is does not matter to others: those that can be had are, whatever the file has besides.
 *
 * The values are read, so that the file may do what it likes afterwards. With the option `map`
 * large arrays on a CPU device are memory of the process that the system fills from the file
 * when it is used, and that hk_device_memory does not count. Then the file must not be cut short
 * or changed in place while they live, which would kill the process (SIGBUS) or change the
 * values; replacing it by hk_save or a rename is fine. Read all the same: arrays of other
 * devices, small ones, bools, npz, and what lies badly aligned, with strides, or in another order
 * than this machine's. */
HK_API hk_array *hk_archive_get(const hk_archive *archive, const char *name);

/* The same, and returns at once: the values are read while other calls go on, and those that need
 * the array wait for it. What fails then fails the array. Arrays of npz files are read at the call;
 * the option map means nothing here. The archive may be released meanwhile. */
HK_API hk_array *hk_archive_get_async(hk_archive *archive, const char *name);

/* Texts about the file: how many, the i-th one's name, NULL where i is out of range, and the one of that name, NULL where there
 * is none. They live as long as the archive. */
HK_API size_t hk_archive_metadata_count(const hk_archive *archive);
HK_API const char *hk_archive_metadata_key(const hk_archive *archive, size_t i);
HK_API const char *hk_archive_metadata(const hk_archive *archive, const char *key);

/* How a file of torch.save nests, as JSON, which lives as long as the archive; NULL for other
 * formats. Texts, numbers, null and lists are themselves (not-a-number is NaN, infinity Infinity),
 * tensors {"array": NAME}, and {"dict": [[KEY, VALUE], …]},
 * {"tuple": […]} and {"set": […]} are those of Python. Bytes are {"bytes": []}: what they were is
 * not kept. */
HK_API const char *hk_archive_structure(const hk_archive *archive);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(const hk_status *, hk_save, hk_save_options,
              (hk_source at, const char *path, const hk_save_entry *entries, size_t count,
               const hk_save_options *options),
              (path, entries, count, options))
#define hk_save(...) hk_save_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_save_async, hk_save_options,
              (hk_source at, const char *path, const hk_save_entry *entries, size_t count,
               const hk_save_options *options),
              (path, entries, count, options))
#define hk_save_async(...) hk_save_async_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_archive *, hk_load, hk_load_options,
              (hk_source at, const char *path, hk_device device, const hk_load_options *options),
              (path, device, options))
#define hk_load(...) hk_load_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_archive_get, (hk_source at, const hk_archive *archive, const char *name),
      (archive, name))
#define hk_archive_get(...) hk_archive_get_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_archive_get_async, (hk_source at, hk_archive *archive, const char *name),
      (archive, name))
#define hk_archive_get_async(...) hk_archive_get_async_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
