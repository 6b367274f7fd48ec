/* Images of all kinds are what other programs make of them: Pillow's convert gives these numbers. */
#include "data/images_fixture.h"
#include "data/orientation.h"
#include "tests/check.h"

#include <string.h>

enum { ROOM = 4096 };

static hki_pixels decode(const uint8_t *file, size_t bytes, int channels)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_pixels pixels;
    const hk_code code = hki_image_decode(&pixels, "x", file, bytes, channels, message);
    CHECK(code == HK_OK);
    if (code != HK_OK)
        fprintf(stderr, "%s\n", message);
    return pixels;
}

/* That a file of one colour gives these bytes, within `off`. */
static void check_colour(const uint8_t *file, size_t bytes, int channels, const int *wanted,
                         int off)
{
    hki_pixels pixels = decode(file, bytes, channels);
    for (int64_t i = 0; i < pixels.height * pixels.width * channels; i++)
        CHECK(abs(pixels.values[i] - wanted[i % channels]) <= off);
    free(pixels.values);
}

/* Grey is luma, and black shines through by values, not by light; as of JPEG files. */
static void test_colours(void)
{
    static const uint8_t red[] = {255, 0, 0}, half_white[] = {255, 255, 255, 128},
                         half_grey[] = {200, 64}, inks[] = {200, 100, 50, 255, 200, 100, 50, 255};
    uint8_t file[ROOM];
    size_t bytes = png_make(file, ROOM, red, 1, 1, PNG_FORMAT_RGB);
    check_colour(file, bytes, 3, (int[]){255, 0, 0}, 0);
    check_colour(file, bytes, 1, (int[]){76}, 0);
    uint8_t *jpeg = jpeg_make(&bytes, red, 1, 1, 3);
    check_colour(jpeg, bytes, 1, (int[]){76}, 1);
    free(jpeg);
    bytes = png_make(file, ROOM, half_white, 1, 1, PNG_FORMAT_RGBA);
    check_colour(file, bytes, 3, (int[]){128, 128, 128}, 0);
    check_colour(file, bytes, 1, (int[]){128}, 0);
    bytes = png_make(file, ROOM, half_grey, 1, 1, PNG_FORMAT_GA);
    check_colour(file, bytes, 3, (int[]){50, 50, 50}, 0);
    check_colour(file, bytes, 1, (int[]){50}, 0);
    jpeg = jpeg_make(&bytes, inks, 1, 2, 4);
    check_colour(jpeg, bytes, 3, (int[]){200, 100, 50}, 2);
    check_colour(jpeg, bytes, 1, (int[]){124}, 2);
    free(jpeg);
}

/* The upper 8 of 16 bits, rounded: the values are no light. */
static void test_deep(void)
{
    static const uint8_t values[] = {0x80, 0x80, 0x10, 0x00, 0xff, 0xff, 0x00, 0x40};
    uint8_t file[ROOM];
    hki_pixels pixels = decode(file, png_make_16(file, ROOM, values, 2, 2), 1);
    static const uint8_t wanted[] = {0x80, 0x10, 0xff, 0x00};
    CHECK(pixels.values && !memcmp(pixels.values, wanted, sizeof wanted));
    free(pixels.values);
}

/* The corners of an image of 16 x 24 in four greys, in the order of rows, as each orientation shows them. */
static void test_orientations(void)
{
    enum { HEIGHT = 16, WIDTH = 24 };
    static const char *const shown[] = {"abcd", "abcd", "badc", "dcba", "cdab",
                                        "acbd", "cadb", "dbca", "bdac", "abcd"};
    uint8_t pixels[HEIGHT * WIDTH], exif[EXIF_BYTES];
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        pixels[i] = (uint8_t)(40 + 60 * (i / WIDTH / (HEIGHT / 2) * 2 + i % WIDTH / (WIDTH / 2)));
    for (int orientation = 0; orientation <= 9; orientation++)
        for (int is_big = 0; is_big < 2; is_big++) {
            size_t bytes;
            char corners[5] = "";
            exif_make(exif, orientation, is_big);
            uint8_t *jpeg = jpeg_make_with(&bytes, pixels, HEIGHT, WIDTH, 1, exif, sizeof exif);
            hki_pixels got = decode(jpeg, bytes, 1);
            const bool is_turned = orientation >= 5 && orientation <= 8;
            CHECK(got.height == (is_turned ? WIDTH : HEIGHT));
            CHECK(got.width == (is_turned ? HEIGHT : WIDTH));
            for (int corner = 0; corner < 4; corner++) {
                const int64_t y = corner / 2 * (got.height - 1), x = corner % 2 * (got.width - 1);
                corners[corner] = (char)('a' + (got.values[y * got.width + x] - 40 + 30) / 60);
            }
            CHECK(!strcmp(corners, shown[orientation]));
            free(got.values);
            free(jpeg);
        }
}

/* Cut short, or with a place that is outside, it tells nothing. */
static void test_damaged_orientation(void)
{
    uint8_t exif[EXIF_BYTES];
    exif_make(exif, 6, 1);
    CHECK(hki_orientation_read(exif, sizeof exif) == 6);
    for (size_t size = 0; size < 26; size++)
        CHECK(hki_orientation_read(exif, size) == 0);
    memset(exif + 10, 0xff, 4);
    CHECK(hki_orientation_read(exif, sizeof exif) == 0);
}

int main(void)
{
    test_colours();
    test_deep();
    test_orientations();
    test_damaged_orientation();
    return check_result();
}
