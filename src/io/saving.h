/* One call of hk_save on its way. */
#ifndef HOCKET_IO_SAVING_H
#define HOCKET_IO_SAVING_H

#include "base/draft.h"
#include "io/source.h"

#include <hocket/io.h>

/* Externally synchronised. Its functions return false where something failed, which is then noted here. */
typedef struct hki_io_saving {
    const hk_save_entry *entries; /* none of them NULL or failed at its call */
    size_t count;
    const hk_save_options *options;
    hki_draft draft;
    void *room; /* for the values of one array */
    size_t room_bytes;
    const hk_status *status; /* counted: of the array that failed; NULL: see error */
    hki_io_error error;
} hki_io_saving;

/* The values of an array, C order, little-endian, until the next call. */
bool hki_io_saving_values(hki_io_saving *self, size_t i, const void **values, size_t *bytes);
bool hki_io_saving_write(hki_io_saving *self, const void *data, size_t bytes);

/* Reverses the bytes of each element. */
void hki_io_swap(void *values, size_t bytes, size_t element_bytes);
#define HKI_IO_HOST_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#endif
