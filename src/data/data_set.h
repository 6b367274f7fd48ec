/* Inside of data sets, for loaders and for what makes data sets. */
#ifndef HOCKET_DATA_DATA_SET_H
#define HOCKET_DATA_DATA_SET_H

#include "base/status.h"
#include "data/idx_file.h"

#include <hocket/data.h>
#include <stdatomic.h>

/* What a field is in one sample. */
typedef struct hki_data_field {
    hk_dims shape;
    hk_dtype dtype;
    size_t bytes;
} hki_data_field;

/* Where samples go, and what decides what is drawn for them. */
typedef struct hki_data_batch {
    const int64_t *indices;            /* of each row: which sample */
    void *fields[HK_DATA_MOST_FIELDS]; /* (rows, shape of the field...) in C order */
    uint64_t seed;                     /* the loader's */
    uint32_t epoch;
} hki_data_batch;

/* A kind of data set. */
typedef struct hki_data_class {
    /* Writes rows begin to end - 1, whose indices are those of samples. Called by several threads at once, for other rows;
     * what a sample is follows from its index, seed and epoch alone. When not HK_OK, message says why. */
    hk_code (*fill)(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES]);
    void (*deinit)(void *own); /* may be NULL */
} hki_data_class;

struct hk_data_set {
    atomic_uint refs;
    const hk_status *status;     /* counted */
    const hki_data_class *class; /* NULL: it failed */
    void *own;                   /* of the class, which frees it */
    int64_t size;
    int field_count;
    hki_data_field fields[HK_DATA_MOST_FIELDS];
    int class_count;
    const char *const *class_names; /* class_count of them; lives as long as `own`; NULL: none */
    const char *folder;             /* likewise */
    double sample_ns; /* about what filling takes: where it runs follows, no value does */
};

/* A new one, ok and empty; the static set of hki_data_set_is_static without host memory. */
hk_data_set *hki_data_set_new(void);
bool hki_data_set_is_static(const hk_data_set *set);
/* Makes it a failed one. */
void hki_data_set_fail(hk_data_set *set, const char *operation, hk_code code, const char *format,
                       ...) HK_PRINTF(4, 5);
/* The same with a record, taken. */
void hki_data_set_fail_with(hk_data_set *set, const hk_status *status);
/* Adds a field. False, and the set has failed, where its samples have no size that memory can have, or there are too many. */
bool hki_data_set_add_field(hk_data_set *set, const char *operation, hk_dims shape, hk_dtype dtype);

/* The record of a set, counted; set may be NULL, which is an invalid argument of `operation`. */
const hk_status *hki_data_set_status(const hk_data_set *set, const char *operation);
/* A record of `operation`, counted. */
const hk_status *hki_data_refusal(const char *operation, hk_code code, const char *format, ...)
    HK_PRINTF(3, 4);

#endif
