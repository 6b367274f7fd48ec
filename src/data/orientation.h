/* How a camera was held: the Exif tag "orientation" of a JPEG file, and pixels turned by it. Thread-safe. */
#ifndef HOCKET_DATA_ORIENTATION_H
#define HOCKET_DATA_ORIENTATION_H

#include "data/image_file.h"

/* The orientation, 1 to 8, that a JPEG file's marker APP1 of so many bytes tells; 0 where it tells none, or is damaged. Reads nothing
 * beyond them. Source: Exif 2.32 (CIPA DC-008), 4.5 and 4.6. */
int hki_orientation_read(const uint8_t *marker, size_t size);

/* Turns the image upright. False, and nothing changed: no memory. */
bool hki_orientation_apply(hki_pixels *image, int orientation);

#endif
