#include "data/orientation.h"

#include <stdlib.h>
#include <string.h>

/* A TIFF file of one list of fields, of either byte order. */
typedef struct tiff {
    const uint8_t *bytes;
    size_t size;
    bool is_big_endian;
} tiff;

/* `count` bytes at a place; 0 where they are not all there. */
static uint32_t number_at(const tiff *self, size_t at, int count)
{
    uint32_t number = 0;
    if (at > self->size || self->size - at < (size_t)count)
        return 0;
    for (int i = 0; i < count; i++) {
        const int shift = 8 * (self->is_big_endian ? count - 1 - i : i);
        number |= (uint32_t)self->bytes[at + (size_t)i] << shift;
    }
    return number;
}

int hki_orientation_read(const uint8_t *marker, size_t size)
{
    static const char name[6] = "Exif\0";
    enum { FIELD_BYTES = 12, ORIENTATION = 0x0112, SHORT = 3 };
    if (size < sizeof name + 8 || memcmp(marker, name, sizeof name) != 0)
        return 0;
    tiff file = {marker + sizeof name, size - sizeof name, marker[sizeof name] == 'M'};
    const size_t list = number_at(&file, 4, 4);
    const uint32_t count = number_at(&file, list, 2);
    for (uint32_t i = 0; i < count; i++) {
        const size_t field = list + 2 + (size_t)i * FIELD_BYTES;
        if (field >= file.size)
            break;
        const uint32_t value = number_at(&file, field + 8, 2);
        if (number_at(&file, field, 2) == ORIENTATION && number_at(&file, field + 2, 2) == SHORT)
            return value >= 1 && value <= 8 ? (int)value : 0;
    }
    return 0;
}

bool hki_orientation_apply(hki_pixels *image, int orientation)
{
    const bool swaps_axes = orientation > 4;
    const bool from_below =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const bool from_right =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const int64_t height = image->height, width = image->width, channels = image->channels;
    const int64_t rows = swaps_axes ? width : height, columns = swaps_axes ? height : width;
    if (orientation < 2)
        return true;
    uint8_t *turned = malloc((size_t)(height * width * channels));
    if (!turned)
        return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t y = swaps_axes ? j : i, x = swaps_axes ? i : j;
            const int64_t from =
                (from_below ? height - 1 - y : y) * width + (from_right ? width - 1 - x : x);
            memcpy(turned + (i * columns + j) * channels, image->values + from * channels,
                   (size_t)channels);
        }
    free(image->values);
    *image = (hki_pixels){rows, columns, channels, turned};
    return true;
}
