/* The closed list: what pickles of PyTorch may name, and what is made of it. */
#ifndef HOCKET_IO_TORCH_NAMES_H
#define HOCKET_IO_TORCH_NAMES_H

#include "io/pickle.h"

#include <hocket/array.h>

typedef enum hki_torch_role {
    HKI_TORCH_STORAGE,
    HKI_TORCH_DTYPE,
    HKI_TORCH_TENSOR, /* (storage, offset, sizes, strides, wants gradient, hooks, [how it is to be
                         seen]) */
    HKI_TORCH_TENSOR_OF, /* (storage, offset, sizes, strides, wants gradient, hooks, dtype, [as
                            above]) */
    HKI_TORCH_PARAMETER, /* (tensor, …) */
    HKI_TORCH_TYPED,     /* (one of the last three, class, arguments, attributes) */
    HKI_TORCH_CLASS,     /* of a tensor */
    HKI_TORCH_STRANGE,   /* a tensor that no array is */
    HKI_TORCH_DICT,      /* (), or (list of pairs) */
    HKI_TORCH_DICT_OF,   /* (dict) */
    HKI_TORCH_SET,       /* (list) */
    HKI_TORCH_SIZE,      /* (tuple) */
    HKI_TORCH_TEXT,      /* (text, …) */
} hki_torch_role;

/* A row of the closed list. */
typedef struct hki_torch_name {
    const char *module, *name;
    hki_torch_role role;
    int dtype; /* -1: no hk_dtype */
    unsigned element_bytes;
} hki_torch_name;

/* An hki_pickle_find_fn. */
int hki_torch_find_name(const char *module, size_t module_bytes, const char *name,
                        size_t name_bytes, hki_io_error *error);
const hki_torch_name *hki_torch_name_at(int64_t row);
/* -1: it is no name of that role. */
int hki_torch_row_of(const hki_pickle_value *of, hki_torch_role wanted);

#endif
