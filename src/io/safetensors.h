/* The format safetensors:
 *
 *     8 bytes   length of the header, little-endian
 *     header    a JSON object, which spaces may follow: for each array, by its name,
 *                   {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}
 *               and, by the name __metadata__, an object of texts
 *     data      of all arrays, in C order, little-endian, without holes; offsets count from its begin
 *
 * Source: the description that Hugging Face publishes with the format. */
#ifndef HOCKET_IO_SAFETENSORS_H
#define HOCKET_IO_SAFETENSORS_H

#include "io/contents.h"
#include "io/saving.h"

#define HKI_SAFETENSORS_METADATA "__metadata__"

/* Reads and checks the header; memory is a small multiple of its length. */
bool hki_safetensors_read(const hki_io_source *source, hki_io_contents *contents,
                          hki_io_error *error);
/* Names are right already. False, with what failed in `saving`. */
bool hki_safetensors_write(hki_io_saving *saving);
/* "F32"; never NULL for a dtype. Static. */
const char *hki_safetensors_dtype_name(hk_dtype dtype);

#endif
