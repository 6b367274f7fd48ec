/* The names of a file's arrays as a program takes them: some for others, some for none. */
#ifndef HOCKET_TRAINING_FILE_NAMES_H
#define HOCKET_TRAINING_FILE_NAMES_H

#include "base/status.h"

#include <hocket/weights.h>

typedef struct hki_file_name {
    char *name;           /* owned; as it is taken */
    const char *original; /* as it is in the file; the archive's */
    bool is_used;
} hki_file_name;

/* Zeros are none. Externally synchronised. */
typedef struct hki_file_names {
    hki_file_name *list; /* in the order of the file */
    size_t count;
    size_t *by_name; /* places in the list */
} hki_file_names;

/* NULL, or a record, counted: of two names that are taken for one, or no memory. self is to be
 * deinitialised in any case. */
const hk_status *hki_file_names_init(hki_file_names *self, const hk_archive *archive,
                                     const hk_rename *renames, int count);
/* NULL: there is none. */
const hki_file_name *hki_file_names_find(const hki_file_names *self, const char *name);
void hki_file_names_deinit(hki_file_names *self);

#endif
