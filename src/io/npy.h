/* NumPy's format of one array, versions 1 to 3:
 *
 *     6 bytes   93 'N' 'U' 'M' 'P' 'Y'
 *     2 bytes   version, such as 1 0
 *     2 bytes   length of the header, little-endian; from version 2 on 4 bytes
 *     header    a literal of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, spaces, a newline
 *     data      the elements
 *
 * Source: NumPy's own description, numpy.lib.format. */
#ifndef HOCKET_IO_NPY_H
#define HOCKET_IO_NPY_H

#include "io/contents.h"
#include "io/saving.h"

/* The longest prelude: magic, version and length. */
enum { HKI_NPY_PRELUDE_BYTES = 12, HKI_NPY_HEADER_BYTES = 320 };

/* Length of the header from the first bytes of a file, and where it begins. got: how many of HKI_NPY_PRELUDE_BYTES there are. */
bool hki_npy_parse_prelude(const uint8_t *bytes, size_t got, uint32_t *header_begin,
                           uint32_t *header_bytes, hki_io_error *error);
/* Sets unsupported, shape, dtype, order and bytes of the entry, whose elements are data_bytes. */
bool hki_npy_parse_header(const char *header, size_t header_bytes, uint64_t data_bytes,
                          hki_io_entry *entry, hki_io_error *error);

/* A whole file. */
bool hki_npy_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error);
/* All that stands before the elements of x into `to`; returns its length, a multiple of 64. */
size_t hki_npy_print_header(const hk_array *x, char to[HKI_NPY_HEADER_BYTES]);
/* False, with what failed in `saving`, which has one array. */
bool hki_npy_write(hki_io_saving *saving);

#endif
