/* Layers as a table: the rows of layers.def, and what is made by them. */
#ifndef HOCKET_NN_LAYER_TABLE_H
#define HOCKET_NN_LAYER_TABLE_H

#include "nn/module.h"

/* What a value of a constructor is, and may be. */
typedef enum hki_layer_type {
    HKI_LAYER_NOTHING, /* there is none */
    HKI_LAYER_SIZE,    /* int64_t, at least 1 */
    HKI_LAYER_COUNT,   /* int64_t, not negative */
    HKI_LAYER_INDEX,   /* int64_t */
    HKI_LAYER_FLAG,    /* bool */
    HKI_LAYER_AMOUNT,  /* double, finite and not below 0 */
    HKI_LAYER_RATE,    /* double in [0, 1) */
    HKI_LAYER_SHARE    /* double in [0, 1] */
} hki_layer_type;

typedef struct hki_layer_param {
    const char *name;
    hki_layer_type type;
    const char *default_text; /* "": it has to be given */
    double usual;             /* of an AMOUNT or a SHARE: what 0 stands for */
} hki_layer_param;

/* An array of a layer; of what a layer has not, and PyTorch's does, `own` is empty. */
typedef struct hki_layer_array {
    const char *own, *torch;
    bool is_bias, is_buffer;
} hki_layer_array;

/* Lists of them, which end with own NULL; module_names.c. */
extern const hki_layer_array hki_no_arrays[], hki_weight[], hki_scale[], hki_scale_and_shift[],
    hki_arrays_of_batches[];

enum { HKI_LAYER_MOST_VALUES = 4 };
typedef union hki_layer_value {
    int64_t i; /* a FLAG's, too */
    double f;
} hki_layer_value;

/* A row. Either forward, or make. */
typedef struct hki_layer_kind {
    const char *name;
    const char *python_class; /* "": it has none, or one that is written by hand */
    const char *text, *example;
    bool is_inner; /* its constructors are written by hand */
    hki_layer_param params[HKI_LAYER_MOST_VALUES];
    const hki_layer_array *arrays;
    hk_forward_fn forward;                              /* its options are the values */
    void (*check)(hk_module *self, const void *values); /* of those, beyond their types */
    hk_module *(*make)(const void *values);
} hki_layer_kind;

extern const hki_layer_kind hki_layer_kinds[];
extern const int hki_layer_kind_count;

int hki_layer_param_count(const hki_layer_kind *kind);
bool hki_layer_is_whole(const hki_layer_param *param);
/* NULL: there is none of that name. */
const hki_layer_kind *hki_layer_kind_find(const char *name);
/* That of a row: the values are those of its parameters, int64_t, bool or double. */
hk_module *hki_layer_make(const char *name, ...);

/* ---- bodies of rows, in files of their own ------------------------------------------------------------------ */

hk_array *hki_add_sinusoidal_positions(hk_module *self, hk_array *x);
hk_array *hki_add_learned_positions(hk_module *self, hk_array *x, int64_t most);
void hki_attention_begin(hk_module *self, int64_t features, int64_t heads);
hk_array *hki_attend(hk_module *self, hk_array *const *inputs, int count, int64_t features,
                     int64_t heads, bool causal);

#endif
