#include "data/image_file.h"
#include "data/orientation.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jpeglib.h>
#include <png.h>

bool hki_image_is_named(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t own = strlen(endings[i]);
        if (length > own && !strcasecmp(name + length - own, endings[i]))
            return true;
    }
    return false;
}

/* Memory for an image of that size, in *to. */
static hk_code make_room(hki_pixels *to, const char *name, uint64_t height, uint64_t width,
                         int channels, char *message)
{
    if (!height || !width || height * width > HKI_IMAGE_PIXEL_LIMIT)
        return hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, name,
                             "has %" PRIu64 " x %" PRIu64 " pixels; 1 to %" PRIu64
                             " would be right",
                             height, width, (uint64_t)HKI_IMAGE_PIXEL_LIMIT);
    const size_t bytes = (size_t)(height * width) * (size_t)channels;
    *to = (hki_pixels){(int64_t)height, (int64_t)width, channels, malloc(bytes)};
    if (to->values)
        return HK_OK;
    return hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, name,
                         "no host memory for %zu bytes of pixels", bytes);
}

static hk_code damaged(const char *name, const char *kind, const char *why, char *message)
{
    return hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, name,
                         "is a damaged %s file: %s", kind, why);
}

/* Luma, as of JPEG files (ITU-R BT.601), so that the grey of an image does not depend on how it was stored. */
static uint8_t luma(int red, int green, int blue)
{
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + (1 << 15)) >> 16);
}

/* a b / 255, to the nearest. */
static uint8_t share_of(int a, int b)
{
    return (uint8_t)((a * b + 127) / 255);
}

static void put_pixel(uint8_t *to, int channels, uint8_t red, uint8_t green, uint8_t blue)
{
    to[0] = channels == 3 ? red : luma(red, green, blue);
    if (channels == 3) {
        to[1] = green;
        to[2] = blue;
    }
}

/* ---- PNG ------------------------------------------------------------------------------------------------- */

/* Pixels of 2 components (grey, alpha), 3 (red, green, blue) or 4 (and alpha), to those wanted: on black. */
static void fold(hki_pixels *to, const uint8_t *from, int components)
{
    const int channels = (int)to->channels, colours = components < 3 ? 1 : 3;
    for (int64_t i = 0; i < to->height * to->width; i++, from += components) {
        const int alpha = components > colours ? from[colours] : 255;
        const uint8_t red = share_of(from[0], alpha);
        put_pixel(to->values + i * channels, channels, red,
                  colours > 1 ? share_of(from[1], alpha) : red,
                  colours > 1 ? share_of(from[2], alpha) : red);
    }
}

static hk_code finish_png(png_image *image, const char *name, void *pixels, char *message)
{
    if (png_image_finish_read(image, NULL, pixels, 0, NULL) && !image->warning_or_error)
        return HK_OK;
    return damaged(name, "PNG", image->message, message);
}

/* The library's own ways to grey, and to black behind what is transparent, go by light, not by values: other programs' do not. */
static hk_code decode_png(hki_pixels *to, const char *name, const uint8_t *bytes, size_t size,
                          int channels, char *message)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, bytes, size))
        return damaged(name, "PNG", image.message, message);
    const bool has_colour = channels == 3 || image.format & PNG_FORMAT_FLAG_COLOR;
    image.format =
        (image.format & PNG_FORMAT_FLAG_ALPHA) | (has_colour ? PNG_FORMAT_FLAG_COLOR : 0);
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* as 8 bits */
    const int components = (int)PNG_IMAGE_PIXEL_CHANNELS(image.format);
    hk_code code = make_room(to, name, image.height, image.width, channels, message);
    if (code == HK_OK && components == channels) {
        code = finish_png(&image, name, to->values, message);
    } else if (code == HK_OK) {
        const size_t room = (size_t)image.height * image.width * (size_t)components;
        uint8_t *pixels = malloc(room);
        code = pixels ? finish_png(&image, name, pixels, message)
                      : hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, name,
                                      "no host memory for %zu bytes of pixels", room);
        if (code == HK_OK)
            fold(to, pixels, components);
        free(pixels);
    }
    png_image_free(&image);
    return code;
}

/* ---- JPEG ------------------------------------------------------------------------------------------------ */

/* The library calls this when it cannot go on, and for warnings, which are damage too. */
typedef struct jpeg_errors {
    struct jpeg_error_mgr base;
    jmp_buf leave;
    char text[JMSG_LENGTH_MAX];
} jpeg_errors;

static void leave(j_common_ptr decoder)
{
    jpeg_errors *errors = (jpeg_errors *)(void *)decoder->err;
    errors->base.format_message(decoder, errors->text);
    longjmp(errors->leave, 1);
}

static void leave_for_warning(j_common_ptr decoder, int level)
{
    if (level < 0)
        leave(decoder);
}

static void say_nothing(j_common_ptr decoder)
{
    (void)decoder;
}

static bool has_inks(const struct jpeg_decompress_struct *decoder)
{
    return decoder->jpeg_color_space == JCS_CMYK || decoder->jpeg_color_space == JCS_YCCK;
}

/* Four inks. What Adobe's programs write is the light that they leave. */
static void read_inks(hki_pixels *to, struct jpeg_decompress_struct *decoder)
{
    const int channels = (int)to->channels, flip = decoder->saw_Adobe_marker ? 0 : 255;
    JSAMPARRAY row = decoder->mem->alloc_sarray((j_common_ptr)decoder, JPOOL_IMAGE,
                                                decoder->output_width * 4, 1);
    uint8_t *at = to->values;
    while (decoder->output_scanline < decoder->output_height) {
        jpeg_read_scanlines(decoder, row, 1);
        for (const uint8_t *from = row[0]; from < row[0] + to->width * 4; from += 4) {
            const int black = from[3] ^ flip;
            put_pixel(at, channels, share_of(from[0] ^ flip, black),
                      share_of(from[1] ^ flip, black), share_of(from[2] ^ flip, black));
            at += channels;
        }
    }
}

static void read_rows(hki_pixels *to, struct jpeg_decompress_struct *decoder)
{
    while (decoder->output_scanline < decoder->output_height) {
        JSAMPROW row = to->values + decoder->output_scanline * (size_t)(to->width * to->channels);
        jpeg_read_scanlines(decoder, &row, 1);
    }
}

/* 1 where the file says none. */
static int orientation_of(const struct jpeg_decompress_struct *decoder)
{
    for (jpeg_saved_marker_ptr at = decoder->marker_list; at; at = at->next) {
        const int orientation = hki_orientation_read(at->data, at->data_length);
        if (orientation)
            return orientation;
    }
    return 1;
}

/* Between setjmp and its end no local variable changes. */
static hk_code decode_jpeg(hki_pixels *to, const char *name, const uint8_t *bytes, size_t size,
                           int channels, char *message)
{
    struct jpeg_decompress_struct decoder = {0};
    jpeg_errors errors;
    decoder.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = leave;
    errors.base.emit_message = leave_for_warning;
    errors.base.output_message = say_nothing;
    if (setjmp(errors.leave)) {
        jpeg_destroy_decompress(&decoder);
        return damaged(name, "JPEG", errors.text, message);
    }
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, bytes, size);
    jpeg_save_markers(&decoder, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&decoder, TRUE);
    const int orientation = orientation_of(&decoder);
    /* Before the library takes memory for all of the image. */
    const hk_code code =
        make_room(to, name, decoder.image_height, decoder.image_width, channels, message);
    decoder.out_color_space = has_inks(&decoder) ? JCS_CMYK
                              : channels == 3    ? JCS_RGB
                                                 : JCS_GRAYSCALE;
    if (code == HK_OK)
        jpeg_start_decompress(&decoder);
    if (code == HK_OK && has_inks(&decoder))
        read_inks(to, &decoder);
    else if (code == HK_OK)
        read_rows(to, &decoder);
    if (code == HK_OK)
        jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
    if (code != HK_OK || hki_orientation_apply(to, orientation))
        return code;
    return hki_data_fail(HK_OUT_OF_MEMORY, message, HKI_DATA_MESSAGE_BYTES, name,
                         "no host memory to turn its pixels");
}

/* ---- both ------------------------------------------------------------------------------------------------ */

hk_code hki_image_decode(hki_pixels *to, const char *name, const uint8_t *bytes, size_t size,
                         int channels, char message[HKI_DATA_MESSAGE_BYTES])
{
    hk_code code;
    message[0] = '\0';
    *to = (hki_pixels){0};
    if (size >= 8 && !png_sig_cmp(bytes, 0, 8))
        code = decode_png(to, name, bytes, size, channels, message);
    else if (size >= 3 && !memcmp(bytes, "\xff\xd8\xff", 3))
        code = decode_jpeg(to, name, bytes, size, channels, message);
    else
        code = hki_data_fail(HK_BAD_DATA, message, HKI_DATA_MESSAGE_BYTES, name,
                             "begins like neither a PNG nor a JPEG file");
    if (code == HK_OK)
        return code;
    free(to->values);
    *to = (hki_pixels){0};
    return code;
}
