/* What PyTorch's torch.save writes: a zip file of a pickle, NAME/data.pkl, and of the bytes of each
 * storage, NAME/data/KEY, all stored; before version 1.6 a row of pickles, and the bytes behind
 * them. The pickle nests dicts, lists, numbers, texts and tensors, which are views of storages.
 *
 * Arrays are named by the keys on the way to them, "model.0.weight". Check sums are not looked at,
 * which torch.save may leave out.
 *
 * Source: the files themselves, and PyTorch's documentation of its serialisation. */
#ifndef HOCKET_IO_TORCH_H
#define HOCKET_IO_TORCH_H

#include "io/contents.h"
#include "io/pickle.h"

/* Reads which tensors there are; numbers and texts become metadata, by name. Memory is a small
 * multiple of the pickle's length; arrays lie within the file, and have at most some times its
 * bytes. */
bool hki_torch_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error);

/* ---- between torch_read.c and torch_values.c --------------------------------------------------------------- */

/* The bytes of a storage. */
typedef struct hki_torch_storage {
    char *key; /* owned */
    uint64_t at, bytes;
} hki_torch_storage;

/* A file whose pickle has been read. */
typedef struct hki_torch_file {
    const hki_io_source *source;
    hki_pickle pickle;
    hki_torch_storage *storages; /* in the order of keys */
    size_t storage_count;
    bool is_swapped; /* in the other byte order than this machine's */
} hki_torch_file;

/* What a pickle says of a storage. */
typedef struct hki_torch_reference {
    const hki_pickle_value *key; /* a text */
    int row;                     /* its class in the closed list */
    unsigned element_bytes;
    int64_t count; /* elements */
} hki_torch_reference;
bool hki_torch_get_reference(const hki_pickle *pickle, const hki_pickle_value *of,
                             hki_torch_reference *found, hki_io_error *error);

/* From the pickle's root into contents, which are not finished yet. */
bool hki_torch_list(const hki_torch_file *file, hki_io_contents *contents, hki_io_error *error);

#endif
