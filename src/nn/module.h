/* Inside of modules. */
#ifndef HOCKET_NN_MODULE_H
#define HOCKET_NN_MODULE_H

#include "array/array.h"

#include <hocket/nn.h>

enum { HKI_MODULE_NAME_BYTES = 32 };

/* An array that a module keeps. */
typedef struct hki_module_value {
    char name[HKI_MODULE_NAME_BYTES];
    hk_array *array; /* counted */
    hk_init init;    /* a parameter's, as it was asked for */
    bool is_buffer;
    bool is_claimed; /* a forward function has asked for it; before, hk_module_set has made it */
} hki_module_value;

/* How parameters of a name begin. */
typedef struct hki_named_init {
    char name[HKI_MODULE_NAME_BYTES];
    hk_init init;
} hki_named_init;

struct hk_module {
    atomic_uint refs;
    const hk_status *status; /* counted; not ok: it failed */
    char name[HKI_MODULE_NAME_BYTES], kind[HKI_MODULE_NAME_BYTES];
    hk_forward_fn forward;
    void *options; /* own */
    size_t option_bytes;
    hk_module *parent; /* that keeps it; NULL: none */
    hk_module *origin; /* counted; of a replica */
    hk_module **children;
    hki_module_value *values;
    int child_count, value_count;
    bool is_predicting, is_frozen;
    bool has_no_bias;  /* a layer of a kind that may have one */
    const char *layer; /* the kind, of the library's own; "operator": of one operator alone; NULL:
                          of a program's */
    hk_init init;      /* kind HK_INIT_DEFAULT: none was asked for */
    hki_named_init *named;
    int named_count;
    hk_dims shape;  /* of the last result; ndim -1: none yet */
    hk_array *kept; /* counted; what the layer computes once, and does not save; NULL: none */
};

/* Says what is wrong with the module, if nothing was before. */
void hki_module_fail(hk_module *self, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
/* "encoder.0", with ".name" unless it is NULL; a root's own is "". */
void hki_module_path(const hk_module *self, const char *name, char *text, size_t bytes);

/* Borrowed; NULL where the tree has no array of that path. */
hk_array *hki_module_find(hk_module *root, const char *path);
/* The tree has none yet, but a module that the path may lead to, and its first call is to come. */
bool hki_module_awaits(hk_module *root, const char *path);
/* As hk_module_set, of an array that nobody else has or writes to. */
const hk_status *hki_module_give(hk_module *root, const char *path, hk_array *x);
/* The path leads to a module of the program's own that has not been called, and may ask for an
 * array of that name. */
bool hki_module_takes(hk_module *root, const char *path);
/* As hk_recurrent_layer, but that steps go from the last to the first. */
hk_module *hki_recurrent_reversed(hk_recurrent_kind kind, int64_t features, bool whole_state);

/* As hk_module_create, of the library's own. */
hk_module *hki_layer_create(const char *kind, hk_forward_fn forward, const void *options,
                            size_t option_bytes);
/* Notes that a layer has no bias, of a kind that may have one. */
void hki_module_without_bias(hk_module *self, bool is_so);

/* ---- for layers (layers.c) -------------------------------------------------------------------------------- */

/* Biases begin in the range of the weights that they stand beside: in, how many these are for one result. */
hk_init hki_bias_init(double in);
/* The first input, where it has `least` axes or more; else a failed array in *refused. */
hk_array *hki_module_input(hk_array *const *inputs, int least, const char *operation,
                           hk_array **refused);

/* What a layer of batch norm has: parameters and moving averages, (channels) of x's dtype. Made at the first call. */
typedef struct hki_batch_norm_parts {
    hk_array *gamma, *beta, *mean, *variance;
} hki_batch_norm_parts;
hki_batch_norm_parts hki_batch_norm_parts_of(hk_module *self, hk_array *x);

#endif
