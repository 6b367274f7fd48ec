/* Weights: the arrays of a module as a file, under its own names or those that PyTorch has for the
 * same layers.
 *
 *     hk_status_print(hk_module_save(net, "net.safetensors", NULL), stderr);
 *     hk_status_print(hk_module_load(net, "net.safetensors", NULL), stderr);
 *
 *     const hk_module_load_options torch = {.names = HK_NAMES_TORCH};
 *     hk_status_print(hk_module_load(net, "resnet18.pth", &torch), stderr);
 *
 * Files are whatever hk_load reads: safetensors, PyTorch's, several files by an index.
 * hk_name_style (nn.h) says which names PyTorch's are; a whole training is a checkpoint
 * (checkpoint.h). */
#ifndef HOCKET_WEIGHTS_H
#define HOCKET_WEIGHTS_H

#include <hocket/io.h>
#include <hocket/nn.h>

HK_BEGIN_DECLS

/* Of names in the file: `to` stands for `from`, wherever that is in a name; NULL: names with it are
 * passed over. Borrowed. */
typedef struct hk_rename {
    const char *from, *to;
} hk_rename;

/* Zero means the default. */
typedef struct hk_module_load_options {
    hk_name_style names;
    /* What stands before the names in the file: "state_dict", "model.encoder"; a dot follows. NULL:
     * what makes most of them fit, so that a checkpoint that has a module's arrays within is found;
     * "": nothing. */
    const char *prefix;
    bool lenient; /* arrays that the file lacks stay, and those that the module lacks are passed
                     over */
    hk_file_format format;
    const hk_rename
        *renames; /* one after the other, before anything else: names of older files, say */
    int rename_count;
} hk_module_load_options;

/* The module's arrays become what the file says. Before a layer's first call its arrays are made by
 * it; those of modules of one's own are taken as they are in the file. Floats are converted to the
 * module's dtype, float16 and bfloat16 to float32 where it has none yet. PyTorch's counts of
 * batches, "num_batches_tracked", are passed over. Blocks while it reads. Takes host memory for all
 * arrays of the file.
 *
 * Checks everything first: where something does not fit, nothing is changed, and one record says
 * what the file lacks, what it has besides under that prefix, which shapes differ, and which names
 * are near. Failures: those of hk_load; the record of a failed module or array; HK_INVALID_ARGUMENT
 * (does not fit, also where a lenient call finds nothing at all). options may be NULL. */
HK_API const hk_status *hk_module_load(hk_module *module, const char *path,
                                       const hk_module_load_options *options);

/* Zero means the default. */
typedef struct hk_module_save_options {
    hk_name_style names; /* PyTorch's: what load_state_dict takes of a module of the same layers */
    const hk_metadata_entry *metadata;
    size_t metadata_count;
    hk_file_format format;
} hk_module_save_options;

/* Saves the module's arrays, by hk_save: blocks, and is atomic. Arrays that layers are still to
 * make are none, and fail the call. Failures: those of hk_save; the record of a failed module;
 * HK_INVALID_ARGUMENT. options may be NULL. */
HK_API const hk_status *hk_module_save(hk_module *module, const char *path,
                                       const hk_module_save_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_OPTIONS(const hk_status *, hk_module_load, hk_module_load_options,
              (hk_source at, hk_module *module, const char *path,
               const hk_module_load_options *options),
              (module, path, options))
#define hk_module_load(...) hk_module_load_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(const hk_status *, hk_module_save, hk_module_save_options,
              (hk_source at, hk_module *module, const char *path,
               const hk_module_save_options *options),
              (module, path, options))
#define hk_module_save(...) hk_module_save_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
