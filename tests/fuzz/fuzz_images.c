/* Fuzzing of hki_image_decode: whatever the bytes, no crash, no leak, a message with every failure. The libraries' own readers are
 * fuzzed by their authors; here it is about how they are called.
 *
 * Input: an image. Run as fuzz_driver.h says. */
#include "fuzz/fuzz_driver.h"

#include "data/image_file.h"
#include "data/images_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_pixels pixels;
    for (int channels = 1; channels <= 3; channels += 2) {
        const hk_code code = hki_image_decode(&pixels, "x", data, size, channels, message);
        fuzz_require((code == HK_OK) == (pixels.values != NULL), "pixels and success go together");
        fuzz_require((code == HK_OK) == (message[0] == '\0'), "so do a message and a failure");
        fuzz_require(code == HK_OK || code == HK_BAD_DATA || code == HK_OUT_OF_MEMORY,
                     "wrong code");
        fuzz_require(code != HK_OK || pixels.channels == channels, "wrong channels");
        free(pixels.values);
    }
    return 0;
}

#ifndef HOCKET_LIBFUZZER

int main(int argc, char **argv)
{
    uint8_t pixels[6 * 5 * 4], file[1024];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    if (argc == 1) {
        fuzz_seed(file, png_make(file, sizeof file, pixels, 6, 5, PNG_FORMAT_RGBA));
        fuzz_seed(file, png_make(file, sizeof file, pixels, 6, 5, PNG_FORMAT_GRAY));
        fuzz_seed(file, png_make_16(file, sizeof file, pixels, 6, 5));
        for (int channels = 1; channels <= 3; channels += 2) {
            size_t bytes;
            uint8_t *jpeg = jpeg_make(&bytes, pixels, 6, 5, channels);
            fuzz_seed(jpeg, bytes);
            free(jpeg);
        }
        for (int orientation = 0; orientation < 10; orientation++) {
            uint8_t exif[EXIF_BYTES];
            size_t bytes;
            exif_make(exif, orientation, orientation % 2);
            uint8_t *jpeg =
                jpeg_make_with(&bytes, pixels, 6, 5, 1 + orientation % 2 * 3, exif, sizeof exif);
            fuzz_seed(jpeg, bytes);
            free(jpeg);
        }
    }
    return fuzz_paths(argc, argv);
}

#endif
