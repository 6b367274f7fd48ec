/* Reading of one idx file, the format of MNIST: plain or gzip, told apart by content.
 *
 *     byte 0, 1   zero
 *     byte 2      element type
 *     byte 3      number of dimensions, here 1 to 8
 *     then        each dimension, 32 bits, unsigned, most significant byte first
 *     then        the elements in row-major order, most significant byte first, and nothing more
 *
 * Files are taken as hostile. Memory follows the data that has arrived, not what a header promises:
 * at most twice the elements read so far, never more than the limit.
 *
 * Every failure is one of
 *
 *     HK_NOT_FOUND      no file of that name
 *     HK_IO             a directory or device, no permission, a fault of the medium
 *     HK_BAD_DATA       the content is not what it should be, or larger than the limit
 *     HK_OUT_OF_MEMORY
 *
 * and leaves one line in the caller's message buffer, in the form
 *
 *     train-images-idx3-ubyte.gz: is truncated: header promises 47040000 bytes, file holds 1234; …
 *
 * cut to message_bytes (HKI_DATA_MESSAGE_BYTES holds any of them); success leaves "". The buffer
 * may be NULL if message_bytes is 0. Names longer than 240 bytes show their end alone, and control
 * characters in them show as escapes: base/quote.h.
 *
 * Threads: hki_idx_file is externally synchronised. The functions block on file reads, take no lock
 * and keep no state.
 *
 * Source: the description at the end of Yann LeCun's MNIST page. */
#ifndef HOCKET_DATA_IDX_FILE_H
#define HOCKET_DATA_IDX_FILE_H

#include <hocket/status.h>
#include <stddef.h>
#include <stdint.h>

#define HKI_IDX_MAX_DIMS       8
#define HKI_IDX_DEFAULT_LIMIT  ((uint64_t)2 << 30)
#define HKI_DATA_MESSAGE_BYTES 1024

/* The values are those of the file's byte 2. */
typedef enum hki_idx_type {
    HKI_IDX_U8 = 0x08,
    HKI_IDX_I8 = 0x09,
    HKI_IDX_I16 = 0x0B,
    HKI_IDX_I32 = 0x0C,
    HKI_IDX_F32 = 0x0D,
    HKI_IDX_F64 = 0x0E,
} hki_idx_type;

typedef struct hki_idx_file {
    int ndim;                       /* 1 to HKI_IDX_MAX_DIMS */
    int64_t dims[HKI_IDX_MAX_DIMS]; /* 0 or more; the product of those above 0 fits in 63 bits */
    hki_idx_type type;
    size_t data_bytes; /* product of dims times the element's size */
    /* Owned; in this machine's byte order, aligned as by malloc; NULL if there is no element. */
    uint8_t *data;
} hki_idx_file;

/* "u8", "f32", … or NULL for a value that is no element type. */
const char *hki_idx_type_name(hki_idx_type type);

/* Bytes of one element, or 0 for a value that is no element type. */
size_t hki_idx_type_bytes(hki_idx_type type);

/* Reads the file at path. byte_limit bounds the elements' bytes; 0 means HKI_IDX_DEFAULT_LIMIT. On
 * failure *file is all zeros. Opening never blocks: only regular files are read. */
hk_code hki_idx_file_read(hki_idx_file *file, const char *path, uint64_t byte_limit, char *message,
                          size_t message_bytes);

/* As hki_idx_file_read, from byte_count bytes in memory; name is for messages alone. */
hk_code hki_idx_file_parse(hki_idx_file *file, const char *name, const void *bytes,
                           size_t byte_count, uint64_t byte_limit, char *message,
                           size_t message_bytes);

/* Frees the elements and zeroes *file; again, or on zeros, does nothing. */
void hki_idx_file_deinit(hki_idx_file *file);

/* Writes "name: text" as a failure's message and returns code. For the files of this folder.
 */
hk_code hki_data_fail(hk_code code, char *message, size_t message_bytes, const char *name,
                      const char *format, ...) HK_PRINTF(5, 6);

#endif
