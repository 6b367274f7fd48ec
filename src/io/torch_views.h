/* Tensors as pickles describe them, and whether the file has all of their elements. */
#ifndef HOCKET_IO_TORCH_VIEWS_H
#define HOCKET_IO_TORCH_VIEWS_H

#include "io/torch.h"
#include "io/torch_names.h"

enum { HKI_TORCH_MOST_AXES = 64 };

/* A tensor as its pickle describes it. */
typedef struct hki_torch_view {
    hki_torch_reference storage;
    const hki_torch_storage *its; /* NULL: not in the file */
    int row;                      /* of its dtype */
    uint64_t offset, span;        /* elements; span: from the first to the last */
    int64_t sizes[HKI_TORCH_MOST_AXES], strides[HKI_TORCH_MOST_AXES];
    uint32_t ndim;
    bool is_lazy; /* conjugate or negative, of elements that are not */
} hki_torch_view;

/* Of the arguments of what rebuilds a tensor. name: of the array, for messages. */
bool hki_torch_get_view(const hki_torch_file *file, const hki_pickle_value *arguments,
                        bool has_dtype, const char *name, hki_torch_view *its, hki_io_error *error);
/* All its elements are in the file. */
bool hki_torch_check_view(const hki_torch_file *file, const hki_torch_view *its, const char *name,
                          hki_io_error *error);
/* False: what is wrong at an array. */
bool hki_torch_fail(hki_io_error *error, const char *name, const char *what);

#endif
