/* PNG and JPEG files, decoded by libpng and libjpeg-turbo. Thread-safe. */
#ifndef HOCKET_DATA_IMAGE_FILE_H
#define HOCKET_DATA_IMAGE_FILE_H

#include "data/idx_file.h"

#include <stdbool.h>

#define HKI_IMAGE_PIXEL_LIMIT                                                                      \
    ((uint64_t)1 << 26) /* of one image: what is packed small may be huge */

typedef struct hki_pixels {
    int64_t height, width, channels;
    uint8_t *values; /* (height, width, channels); to be freed */
} hki_pixels;

/* Whether a file's name ends like that of an image: .png, .jpg, .jpeg, in any case. */
bool hki_image_is_named(const char *name);

/* Decodes bytes as what they begin like, to 1 channel (grey) or 3 (red, green, blue): on black what is transparent, of 16 bits the
 * upper 8, and turned as a JPEG file says (Exif). name is for messages. Codes and messages are those of
 * data/idx_file.h; on failure *to is all zeros. Damage that the libraries would get over is damage. */
hk_code hki_image_decode(hki_pixels *to, const char *name, const uint8_t *bytes, size_t size,
                         int channels, char message[HKI_DATA_MESSAGE_BYTES]);

#endif
