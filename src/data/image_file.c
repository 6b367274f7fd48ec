#include "data/image_file.h"

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

/* ---- PNG ------------------------------------------------------------------------------------------------- */

static hk_code decode_png(hki_pixels *to, const char *name, const uint8_t *bytes, size_t size,
                          int channels, char *message)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    const png_color black = {0, 0, 0};
    if (!png_image_begin_read_from_memory(&image, bytes, size))
        return damaged(name, "PNG", image.message, message);
    hk_code code = make_room(to, name, image.height, image.width, channels, message);
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    if (code == HK_OK &&
        (!png_image_finish_read(&image, &black, to->values, 0, NULL) || image.warning_or_error))
        code = damaged(name, "PNG", image.message, message);
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
    jpeg_read_header(&decoder, TRUE);
    /* Before the library takes memory for all of the image. */
    const hk_code code =
        make_room(to, name, decoder.image_height, decoder.image_width, channels, message);
    decoder.out_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    if (code == HK_OK)
        jpeg_start_decompress(&decoder);
    while (code == HK_OK && decoder.output_scanline < decoder.output_height) {
        JSAMPROW row =
            to->values + (size_t)decoder.output_scanline * decoder.output_width * (size_t)channels;
        jpeg_read_scanlines(&decoder, &row, 1);
    }
    if (code == HK_OK)
        jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
    return code;
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
