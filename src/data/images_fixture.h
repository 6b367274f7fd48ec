/* For tests of images: small PNG and JPEG files. */
#ifndef HOCKET_DATA_IMAGES_FIXTURE_H
#define HOCKET_DATA_IMAGES_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <png.h>

/* A PNG file of 8-bit pixels; format as libpng says, PNG_FORMAT_RGB. Returns its bytes; at most `room`. */
static inline size_t png_make(uint8_t *to, size_t room, const uint8_t *pixels, uint32_t height,
                              uint32_t width, uint32_t format)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .height = height, .width = width, .format = format};
    png_alloc_size_t bytes = room;
    return png_image_write_to_memory(&image, to, &bytes, 0, pixels, 0, NULL) ? bytes : 0;
}

/* A JPEG file of quality 100; channels: 1, 3, or 4: inks, as Adobe's programs write them. marker: APP1, of so many bytes, or NULL. To
 * be freed. */
static inline uint8_t *jpeg_make_with(size_t *bytes, const uint8_t *pixels, uint32_t height,
                                      uint32_t width, int channels, const uint8_t *marker,
                                      unsigned marker_bytes)
{
    struct jpeg_compress_struct encoder = {0};
    struct jpeg_error_mgr errors;
    unsigned char *to = NULL;
    unsigned long size = 0;
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &to, &size);
    encoder.image_height = height;
    encoder.image_width = width;
    encoder.input_components = channels;
    encoder.in_color_space = channels == 4 ? JCS_CMYK : channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, 100, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    if (marker)
        jpeg_write_marker(&encoder, JPEG_APP0 + 1, marker, marker_bytes);
    for (uint32_t y = 0; y < height; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)y * width * (size_t)channels);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    *bytes = size;
    return to;
}

static inline uint8_t *jpeg_make(size_t *bytes, const uint8_t *pixels, uint32_t height,
                                 uint32_t width, int channels)
{
    return jpeg_make_with(bytes, pixels, height, width, channels, NULL, 0);
}

/* The APP1 of a file with that orientation, of either byte order. */
enum { EXIF_BYTES = 6 + 8 + 2 + 12 + 4 };
static inline void exif_make(uint8_t to[EXIF_BYTES], int orientation, int is_big_endian)
{
    static const uint8_t big[EXIF_BYTES] = {'E', 'x', 'i', 'f', 0, 0,    'M', 'M', 0, 42, 0, 0,
                                            0,   8,   0,   1,   1, 0x12, 0,   3,   0, 0,  0, 1};
    static const uint8_t little[EXIF_BYTES] = {'E', 'x', 'i', 'f', 0,    0, 'I', 'I', 42, 0, 8, 0,
                                               0,   0,   1,   0,   0x12, 1, 3,   0,   1,  0, 0, 0};
    for (int i = 0; i < EXIF_BYTES; i++)
        to[i] = is_big_endian ? big[i] : little[i];
    to[is_big_endian ? 25 : 24] = (uint8_t)orientation;
}

/* A grey PNG file of 16 bits, big-endian. Returns its bytes; at most `room`. */
typedef struct png_bytes {
    uint8_t *to;
    size_t room, count;
} png_bytes;

static inline void png_append(png_structp png, png_bytep data, size_t count)
{
    png_bytes *all = png_get_io_ptr(png);
    for (size_t i = 0; i < count && all->count < all->room; i++)
        all->to[all->count++] = data[i];
}

static inline size_t png_make_16(uint8_t *to, size_t room, const uint8_t *pixels, uint32_t height,
                                 uint32_t width)
{
    png_bytes all = {to, room, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &all, png_append, NULL);
    png_set_IHDR(png, info, width, height, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < height; y++)
        png_write_row(png, pixels + (size_t)y * width * 2);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return all.count;
}

#endif
