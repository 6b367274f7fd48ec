/* CIFAR's binary form: records of one label byte (CIFAR-10) or two, coarse and fine (CIFAR-100), and 3 x 32 x 32 bytes, red, green and
 * blue. */
#ifndef HOCKET_DATA_CIFAR_FILE_H
#define HOCKET_DATA_CIFAR_FILE_H

#include "data/idx_file.h"

enum { HKI_CIFAR_SIDE = 32, HKI_CIFAR_PIXELS = 3 * HKI_CIFAR_SIDE * HKI_CIFAR_SIDE };

/* Bytes of a record. */
static inline size_t hki_cifar_record_bytes(int class_count)
{
    return (class_count == 100 ? 2 : 1) + HKI_CIFAR_PIXELS;
}

/* Checks the bytes of a file; *count: records. Codes and messages are those of data/idx_file.h. */
hk_code hki_cifar_check(const char *name, const uint8_t *bytes, size_t size, int class_count,
                        int64_t *count, char message[HKI_DATA_MESSAGE_BYTES]);

#endif
