/* Inside of data sets, for loaders. */
#ifndef HOCKET_DATA_DATA_SET_H
#define HOCKET_DATA_DATA_SET_H

#include "base/status.h"
#include "data/image_set.h"

#include <hocket/data.h>
#include <stdatomic.h>

struct hk_data_set {
    atomic_uint refs;
    const hk_status *status; /* counted */
    hki_image_set files;
    const hki_image_part *part; /* the one of `files` that was asked for; all zeros when failed */
    int class_count;
};

/* The record of a set, counted; set may be NULL, which is an invalid argument of `operation`. */
const hk_status *hki_data_set_status(const hk_data_set *set, const char *operation);

#endif
