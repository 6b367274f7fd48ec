/* Numbers as texts have them, by value: hki_write(writer, "%s", hki_in_time(ns).text). */
#ifndef HOCKET_TRACE_QUANTITY_H
#define HOCKET_TRACE_QUANTITY_H

#include <stdint.h>

typedef struct hki_quantity {
    char text[24];
} hki_quantity;

/* Three digits and a unit. */
hki_quantity hki_in_time(int64_t ns);
hki_quantity hki_in_bytes(int64_t bytes);
/* "62 %", "5.4 %". */
hki_quantity hki_in_percent(int64_t part, int64_t whole);

#endif
