/* PNG files of grey pixels, 8 bits each, by zlib: for pipeline.c. */
#ifndef EXAMPLES_PNG_FILE_H
#define EXAMPLES_PNG_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const uint8_t png_signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

/* What a filter takes a pixel for, by those on its left and above. */
static inline int png_guess(int filter, const uint8_t *pixels, int width, int y, int x)
{
    const uint8_t *here = pixels + y * width + x;
    const int left = x ? here[-1] : 0, above = y ? here[-width] : 0;
    const int corner = x && y ? here[-width - 1] : 0, plane = left + above - corner;
    const int from_left = abs(plane - left), from_above = abs(plane - above);
    const int from_corner = abs(plane - corner);
    const int paeth = from_left <= from_above && from_left <= from_corner ? left
                      : from_above <= from_corner                         ? above
                                                                          : corner;
    const int guesses[] = {0, left, above, (left + above) / 2, paeth};
    return guesses[filter];
}

static inline void png_write_chunk(FILE *file, const char *name, const uint8_t *data, size_t size)
{
    const uint32_t length = (uint32_t)size;
    uLong sum = crc32(0, (const uint8_t *)name, 4);
    sum = crc32(sum, data, (uInt)size);
    const uint8_t head[4] = {(uint8_t)(length >> 24), (uint8_t)(length >> 16),
                             (uint8_t)(length >> 8), (uint8_t)length};
    const uint8_t end[4] = {(uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8),
                            (uint8_t)sum};
    fwrite(head, 1, 4, file);
    fwrite(name, 1, 4, file);
    fwrite(data, 1, size, file);
    fwrite(end, 1, 4, file);
}

/* Width and height below 256; each row has another filter. False: it could not be written. */
static inline int png_write(const char *path, const uint8_t *pixels, int width, int height)
{
    const size_t size = (size_t)height * (size_t)(width + 1);
    uint8_t header[13] = {[3] = (uint8_t)width, [7] = (uint8_t)height, [8] = 8},
            *raw = malloc(size);
    uLongf packed_size = compressBound(size);
    uint8_t *packed = malloc(packed_size), *to = raw;
    FILE *file = fopen(path, "wb");
    for (int y = 0; y < height && raw; y++) {
        *to++ = (uint8_t)(y % 5);
        for (int x = 0; x < width; x++)
            *to++ = (uint8_t)(pixels[y * width + x] - png_guess(y % 5, pixels, width, y, x));
    }
    int done = file && raw && packed && compress(packed, &packed_size, raw, size) == Z_OK;
    if (done) {
        fwrite(png_signature, 1, sizeof png_signature, file);
        png_write_chunk(file, "IHDR", header, sizeof header);
        png_write_chunk(file, "IDAT", packed, packed_size);
        png_write_chunk(file, "IEND", packed, 0);
        done = !ferror(file);
    }
    free(raw);
    free(packed);
    return file && !fclose(file) && done;
}

static inline uint32_t png_number(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* The rows with their filters. NULL, or what is wrong. */
static inline const char *png_inflate(const uint8_t *file, size_t size, int width, int height,
                                      z_stream *stream)
{
    const uint8_t header[5] = {8};
    if (size < 8 || memcmp(file, png_signature, 8))
        return "is no PNG file";
    for (size_t at = 8, length; size - at >= 12; at += 12 + length) {
        const uint8_t *name = file + at + 4, *data = name + 4;
        length = png_number(file + at);
        if (length > size - at - 12 ||
            png_number(data + length) != crc32(0, name, (uInt)length + 4))
            break;
        if (!memcmp(name, "IHDR", 4) &&
            (length != 13 || png_number(data) != (uint32_t)width ||
             png_number(data + 4) != (uint32_t)height || memcmp(data + 8, header, 5)))
            return "is no grey image of 8 bits of the size that is expected";
        if (!memcmp(name, "IDAT", 4)) {
            stream->next_in = (uint8_t *)data;
            stream->avail_in = (uInt)length;
            inflate(stream, Z_NO_FLUSH);
        }
        if (!memcmp(name, "IEND", 4))
            return stream->avail_out ? "has too few pixels" : NULL;
    }
    return "is damaged, or cut short";
}

/* The file's pixels. raw: height * (width + 1) bytes of room. NULL, or what is wrong. */
static inline const char *png_decode(const uint8_t *file, size_t size, int width, int height,
                                     uint8_t *raw, uint8_t *pixels)
{
    z_stream stream = {.next_out = raw, .avail_out = (uInt)(height * (width + 1))};
    if (inflateInit(&stream) != Z_OK)
        return "needs more memory than there is";
    const char *error = png_inflate(file, size, width, height, &stream);
    inflateEnd(&stream);
    for (int y = 0; y < height && !error; y++) {
        const int filter = *raw++;
        if (filter > 4)
            return "has a filter that is none";
        for (int x = 0; x < width; x++)
            pixels[y * width + x] = (uint8_t)(*raw++ + png_guess(filter, pixels, width, y, x));
    }
    return error;
}

#endif
