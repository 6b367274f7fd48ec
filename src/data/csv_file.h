/* Tables of numbers as text: RFC 4180, numbers alone. */
#ifndef HOCKET_DATA_CSV_FILE_H
#define HOCKET_DATA_CSV_FILE_H

#include "data/idx_file.h"

#include <stdbool.h>

typedef struct hki_csv_table {
    int64_t rows, columns; /* 1 or more */
    double *values;        /* (rows, columns); to be freed */
} hki_csv_table;

/* Parses `size` bytes with a 0 behind them; name is for messages. byte_limit bounds the values' bytes, 0: the default. Codes and
 * messages are those of data/idx_file.h; on failure *table is all zeros. */
hk_code hki_csv_parse(hki_csv_table *table, const char *name, const char *text, size_t size,
                      char delimiter, bool has_header, uint64_t byte_limit,
                      char message[HKI_DATA_MESSAGE_BYTES]);

#endif
