/* Fuzzing of data/idx_file.h and data/image_set.h: whatever the bytes, no crash, no leak, no more
 * memory than the limit, a message with every failure, and the same elements from gzip as from the
 * plain file.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_idx FILE|FOLDER…` runs each file (not the folders in a folder); with no arguments,
 * every truncation and every flipped bit of the built-in seeds.
 *
 * Input: byte 0 says what to do with the rest: FILE_AS_IS parses it; FILE_AS_GZIP too, and then
 * again from gzip; PAIR takes bytes 1 and 2 as the length of an image file, with a file of labels
 * after it. */
#include "fuzz/fuzz_driver.h"

#include <zlib.h>

#include "data/idx_file.h"
#include "data/image_set.h"

#define LIMIT ((uint64_t)1 << 20)

enum { FILE_AS_IS, FILE_AS_GZIP, PAIR, KIND_COUNT };

static bool parse(hki_idx_file *file, const uint8_t *data, size_t size)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    hk_code code = hki_idx_file_parse(file, "x", data, size, LIMIT, message, sizeof message);
    uint64_t product = hki_idx_type_bytes(file->type);

    if (code != HK_OK) {
        fuzz_require(code == HK_BAD_DATA || code == HK_OUT_OF_MEMORY, "wrong code");
        fuzz_require(strncmp(message, "x: ", 3) == 0 && strlen(message) < 400, "no message");
        fuzz_require(!file->data && file->data_bytes == 0 && file->ndim == 0, "not zeros");
        return false;
    }
    fuzz_require(message[0] == '\0', "a message without failure");
    fuzz_require(product > 0 && file->ndim >= 1 && file->ndim <= HKI_IDX_MAX_DIMS, "bad header");
    for (int i = 0; i < file->ndim; i++)
        product *= (uint64_t)file->dims[i];
    fuzz_require(file->data_bytes == product && product <= LIMIT, "bad size");
    fuzz_require((file->data != NULL) == (product > 0), "bad data");
    return true;
}

static void run_gzip(const uint8_t *data, size_t size)
{
    hki_idx_file plain, unpacked;
    z_stream stream = {0};
    uint8_t *packed, *copy = malloc(size + 1); /* zlib takes no const */
    bool good = parse(&plain, data, size);
    uLong bound;

    if (!copy || deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    memcpy(copy, data, size);
    bound = deflateBound(&stream, (uLong)size);
    packed = malloc(bound);
    if (!packed)
        abort();
    stream.next_in = copy;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)bound;
    fuzz_require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
    /* Data that is gzip already would be two layers, and one is undone. */
    if (size < 2 || data[0] != 0x1F || data[1] != 0x8B) {
        fuzz_require(parse(&unpacked, packed, stream.total_out) == good, "gzip differs in outcome");
        fuzz_require(plain.data_bytes == unpacked.data_bytes, "gzip differs in size");
        fuzz_require(plain.data_bytes == 0 ||
                         memcmp(plain.data, unpacked.data, plain.data_bytes) == 0,
                     "gzip differs in elements");
        hki_idx_file_deinit(&unpacked);
    }
    deflateEnd(&stream);
    hki_idx_file_deinit(&plain);
    free(packed);
    free(copy);
}

static void use_part(const hki_image_part *part)
{
    int64_t index = part->count - 1, pixels = part->height * part->width;
    float *images = malloc((size_t)pixels * sizeof *images);
    int32_t label = -1;
    int64_t wide_label = -1;
    hki_image_batch batch = {&index, images, &label, &wide_label};

    if (!images)
        abort();
    fuzz_require(part->count >= 1 && pixels >= 1, "an empty part");
    fuzz_require(hki_image_fill(part, &batch, 0, 1) == 1, "fill");
    fuzz_require(label >= 0 && label < HKI_IMAGE_DEFAULT_CLASSES && label == wide_label, "label");
    for (int64_t i = 0; i < pixels; i++)
        fuzz_require(images[i] >= 0.0f && images[i] <= 1.0f, "pixel");
    index = part->count;
    fuzz_require(hki_image_fill(part, &batch, 0, 1) == 0, "fill beyond the last");
    free(images);
}

static void run_pair(const uint8_t *data, size_t size)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_idx_file images, labels;
    hki_image_part part;
    size_t split;
    bool both;

    if (size < 2)
        return;
    split = (size_t)data[0] << 8 | data[1];
    data += 2;
    size -= 2;
    if (split > size)
        split = size;
    both = parse(&images, data, split);
    both = parse(&labels, data + split, size - split) && both;
    if (both) {
        hk_code code = hki_image_part_init(&part, &images, &labels, "images", "labels", 0, message,
                                           sizeof message);
        if (code == HK_OK) {
            use_part(&part);
            hki_image_part_deinit(&part);
        } else {
            fuzz_require(code == HK_BAD_DATA && strlen(message) > 10, "no message");
        }
    }
    hki_idx_file_deinit(&images);
    hki_idx_file_deinit(&labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hki_idx_file file;

    if (size == 0)
        return 0;
    switch (data[0] % KIND_COUNT) {
    case FILE_AS_IS:
        parse(&file, data + 1, size - 1);
        hki_idx_file_deinit(&file);
        break;
    case FILE_AS_GZIP:
        run_gzip(data + 1, size - 1);
        break;
    default:
        run_pair(data + 1, size - 1);
    }
    return 0;
}

#ifndef HOCKET_LIBFUZZER

/* Two images of 2 x 2 and two labels; one f32; and i16 [2], the same from gzip. */
static const uint8_t pair_seed[] = {PAIR, 0, 24, 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2,
                                    1,    2, 3,  4, 5, 6, 7, 8, 0, 0, 8, 1, 0, 0, 0, 2, 9, 0};
static const uint8_t f32_seed[] = {FILE_AS_GZIP, 0, 0, 13, 1, 0, 0, 0, 1, 0x3F, 0x80, 0, 0};
static const uint8_t gzip_seed[] = {FILE_AS_IS, 0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                    0x02,       0x03, 0x63, 0x60, 0xE0, 0x66, 0x64, 0x60, 0x60,
                                    0x60,       0x12, 0x32, 0xF9, 0xFF, 0x0F, 0x00, 0x8A, 0x8A,
                                    0xDD,       0xFE, 0x0C, 0x00, 0x00, 0x00};

int main(int argc, char **argv)
{
    if (argc == 1) {
        fuzz_seed(pair_seed, sizeof pair_seed);
        fuzz_seed(f32_seed, sizeof f32_seed);
        fuzz_seed(gzip_seed, sizeof gzip_seed);
    }
    return fuzz_paths(argc, argv);
}

#endif
