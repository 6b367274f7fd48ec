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

/* A JPEG file of quality 100; channels: 1 or 3. To be freed. */
static inline uint8_t *jpeg_make(size_t *bytes, const uint8_t *pixels, uint32_t height,
                                 uint32_t width, int channels)
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
    encoder.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, 100, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    for (uint32_t y = 0; y < height; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)y * width * (size_t)channels);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    *bytes = size;
    return to;
}

#endif
