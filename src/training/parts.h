/* The parts of a training as one list of names and arrays, by which a checkpoint is written, checked and read. */
#ifndef HOCKET_TRAINING_PARTS_H
#define HOCKET_TRAINING_PARTS_H

#include "base/status.h"

#include <hocket/checkpoint.h>

enum { HKI_PART_NAME_BYTES = HK_MODULE_PATH_BYTES + 40 };

typedef enum hki_part_kind {
    HKI_PART_ARRAY,
    HKI_PART_AWAITED,     /* to be made in `module`, as `path` */
    HKI_PART_STATE,       /* whole, of parameter `index` of an optimiser that has it in parts */
    HKI_PART_COEFFICIENTS /* of an optimiser that has no part here */
} hki_part_kind;

typedef struct hki_checkpoint_part {
    char name[HKI_PART_NAME_BYTES]; /* in the file */
    hki_part_kind kind;
    hk_array *array; /* borrowed, or of the scope; NULL: not here, of other kinds than the first */
    hk_module *module;
    const char *path; /* borrowed from the archive */
    int index;
    hk_dims shape; /* what it has to be in the file, of kinds from HKI_PART_STATE on */
    hk_dtype dtype;
    bool is_repeated; /* another part of that name is saved */
    hk_array *loaded; /* of the scope */
} hki_checkpoint_part;

typedef struct hki_parts {
    const hk_checkpoint *of;
    hki_checkpoint_part *list;
    int count, capacity;
    const hk_status *error; /* counted; NULL: none */
} hki_parts;

/* Lists all parts there are. False: see error. */
bool hki_parts_collect(hki_parts *self);
/* Adds those that the file has and modules will have at their first call. */
bool hki_parts_collect_awaited(hki_parts *self, const hk_archive *archive);
void hki_parts_deinit(hki_parts *self);

/* NULL: none of that name. */
const hki_checkpoint_part *hki_parts_find(const hki_parts *self, const char *name);
/* The name by which the file has it, which may be another; name is of HKI_PART_NAME_BYTES. */
const char *hki_part_file_name(const hki_checkpoint_part *part, const hk_archive *archive,
                               char *name);

/* Notes what is wrong, unless something was before; returns false. */
bool hki_parts_refuse(hki_parts *self, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
/* The same with a record, borrowed. */
bool hki_parts_fail(hki_parts *self, const hk_status *status);

#endif
