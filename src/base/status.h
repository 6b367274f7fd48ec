/* Making and sharing status records. A record is counted, immutable once published, thread-safe. */
#ifndef HOCKET_BASE_STATUS_H
#define HOCKET_BASE_STATUS_H

#include <hocket/status.h>
#include <stdarg.h>

/* What a record says beside its message. Pointers are borrowed; the record copies the text. */
typedef struct hki_status_facts {
    const char *operation, *device, *inputs, *file;
    int line;
    uint64_t sequence;
} hki_status_facts;

/* A new record, count 1. facts may be NULL. When memory is short: a static record that says so. */
const hk_status *hki_status_create(hk_code code, const hki_status_facts *facts, const char *format,
                                   ...) HK_PRINTF(3, 4);
const hk_status *hki_status_create_va(hk_code code, const hki_status_facts *facts,
                                      const char *format, va_list args);
/* The ok record: static, counting it is harmless. */
const hk_status *hki_status_ok(void);
/* Static: out of host memory. */
const hk_status *hki_status_no_memory(void);
/* A copy of `first` that stands for `count` root failures. */
const hk_status *hki_status_with_count(const hk_status *first, uint64_t count);
/* The earlier issued of two records, either may be NULL. */
const hk_status *hki_status_earlier(const hk_status *a, const hk_status *b);

/* Hands a record (taken) to this thread's slot and returns it borrowed, as the public functions do. */
const hk_status *hki_status_lend(const hk_status *status);

#endif
