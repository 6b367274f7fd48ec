/* image_set: where sets are found, what is checked, batches and orders; and Fashion-MNIST itself if
 * dataset-fashion-mnist is installed. */
#include "data/image_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEBIAN_FOLDER "/usr/share/datasets/fashion-mnist"

static int failures;
static char folder[] = "/tmp/hocket-images-XXXXXX";
static char message[HKI_DATA_MESSAGE_BYTES];

static const char *const names[4] = {
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
};

#define CHECK(good) check((good), #good, __LINE__)

static void check(bool good, const char *what, int line)
{
    if (good)
        return;
    fprintf(stderr, "image_set_test:%d: %s; message \"%s\"\n", line, what, message);
    failures++;
}

static void *must(void *made)
{
    if (!made) {
        fputs("image_set_test: cannot set up\n", stderr);
        exit(1);
    }
    return made;
}

/* ---- making files ---- */

/* The element at i of whatever is made: pixels i * 7 % 256, labels i % 10. */
static uint8_t element(int ndim, int64_t i)
{
    return (uint8_t)(ndim == 1 ? i % 10 : i * 7 % 256);
}

/* Fills *file as if it had been read; dims beyond ndim are not used. */
static void make(hki_idx_file *file, hki_idx_type type, int ndim, int64_t d0, int64_t d1,
                 int64_t d2)
{
    *file = (hki_idx_file){.ndim = ndim, .type = type, .dims = {d0, d1, d2}};
    file->data_bytes = (size_t)(d0 * (ndim > 1 ? d1 : 1) * (ndim > 2 ? d2 : 1));
    file->data = must(malloc(file->data_bytes + 1));
    for (size_t i = 0; i < file->data_bytes; i++)
        file->data[i] = element(ndim, (int64_t)i);
}

static void path_of(char path[256], const char *name, bool packed)
{
    snprintf(path, 256, "%s/%s%s", folder, name, packed ? ".gz" : "");
}

/* Writes and frees file, plain or gzip. */
static void store(hki_idx_file *file, const char *name, bool packed)
{
    char path[256];
    gzFile out;

    path_of(path, name, packed);
    out = must(gzopen(path, packed ? "wb9" : "wbT"));
    gzputc(out, 0);
    gzputc(out, 0);
    gzputc(out, (int)file->type);
    gzputc(out, file->ndim);
    for (int i = 0; i < file->ndim; i++)
        for (int shift = 24; shift >= 0; shift -= 8)
            gzputc(out, (int)(file->dims[i] >> shift & 255));
    if (file->data_bytes > 0)
        gzwrite(out, file->data, (unsigned)file->data_bytes);
    if (gzclose(out) != Z_OK)
        must(NULL);
    hki_idx_file_deinit(file);
}

static void remove_file(const char *name)
{
    char path[256];

    path_of(path, name, false);
    unlink(path);
    path_of(path, name, true);
    unlink(path);
}

/* A good set: 12 and 5 images of 4 x 3. */
static void store_set(bool packed)
{
    hki_idx_file file;

    for (int i = 0; i < 4; i++)
        remove_file(names[i]);
    for (int i = 0; i < 2; i++) {
        make(&file, HKI_IDX_U8, 3, i == 0 ? 12 : 5, 4, 3);
        store(&file, names[2 * i], packed);
        make(&file, HKI_IDX_U8, 1, i == 0 ? 12 : 5, 0, 0);
        store(&file, names[2 * i + 1], packed);
    }
}

static hk_code load(hki_image_set *set, unsigned parts)
{
    hki_image_set_options options = {.folder = folder, .parts = parts};

    return hki_image_set_load(set, &options, message, sizeof message);
}

/* ---- tests ---- */

static void test_load(void)
{
    hki_image_set set;

    for (int packed = 0; packed < 2; packed++) {
        store_set(packed);
        CHECK(load(&set, 0) == HK_OK && message[0] == '\0');
        CHECK(strcmp(set.folder, folder) == 0);
        CHECK(set.train.count == 12 && set.train.height == 4 && set.train.width == 3);
        CHECK(set.test.count == 5 && set.test.height == 4 && set.test.width == 3);
        CHECK(set.train.images.data_bytes == 144 && set.train.labels.data_bytes == 12);
        for (int64_t i = 0; i < 144; i++)
            CHECK(set.train.images.data[i] == element(3, i));
        for (int64_t i = 0; i < 5; i++)
            CHECK(set.test.labels.data[i] == element(1, i));
        hki_image_set_deinit(&set);
        CHECK(!set.folder && set.train.count == 0);
        hki_image_set_deinit(&set);
    }
    remove_file(names[0]);
    CHECK(load(&set, HKI_IMAGE_TEST) == HK_OK && set.train.count == 0 && set.test.count == 5);
    hki_image_set_deinit(&set);
    CHECK(load(&set, HKI_IMAGE_TRAIN) == HK_NOT_FOUND && !set.folder);
    CHECK(strstr(message, "has no train-images-idx3-ubyte[.gz]; install dataset-fashion-mnist, set "
                          "HOCKET_DATA_DIR or pass --data DIR") != NULL);
}

static void test_find(void)
{
    hki_image_place places[HKI_IMAGE_PLACES];
    hki_image_set set;
    char missing[256];

    path_of(missing, "nothing", false);
    store_set(true);
    CHECK(unsetenv("HOCKET_DATA_DIR") == 0);
    hki_image_set_find(places, NULL, 0, message, sizeof message);
    CHECK(places[0].state == HKI_IMAGE_PLACE_UNSET && places[1].state == HKI_IMAGE_PLACE_UNSET);
    CHECK(!places[0].chosen && !places[1].chosen && places[2].chosen);
    CHECK(strcmp(places[2].folder, DEBIAN_FOLDER) == 0);
    CHECK(setenv("HOCKET_DATA_DIR", "", 1) == 0);
    hki_image_set_find(places, NULL, 0, message, sizeof message);
    CHECK(places[1].state == HKI_IMAGE_PLACE_UNSET && places[2].chosen);

    CHECK(setenv("HOCKET_DATA_DIR", folder, 1) == 0);
    CHECK(hki_image_set_find(places, NULL, 0, message, sizeof message) == HK_OK);
    CHECK(places[1].state == HKI_IMAGE_PLACE_COMPLETE && places[1].chosen && !places[2].chosen);
    CHECK(hki_image_set_load(&set, NULL, message, sizeof message) == HK_OK);
    CHECK(set.train.count == 12 && strcmp(set.folder, folder) == 0);
    hki_image_set_deinit(&set);

    CHECK(hki_image_set_find(places, missing, 0, message, sizeof message) == HK_NOT_FOUND);
    CHECK(places[0].state == HKI_IMAGE_PLACE_NO_FOLDER && places[0].chosen && !places[1].chosen);
    CHECK(strstr(message, "/nothing: no image set is in this folder (given folder), "
                          "which is not there; install dataset-fashion-mnist, set") != NULL);
    path_of(missing, names[0], true); /* a file is no folder */
    CHECK(setenv("HOCKET_DATA_DIR", missing, 1) == 0);
    CHECK(hki_image_set_find(places, NULL, 0, message, sizeof message) == HK_NOT_FOUND);
    CHECK(places[1].state == HKI_IMAGE_PLACE_NO_FOLDER && !places[2].chosen);
    CHECK(strstr(message, "(HOCKET_DATA_DIR), which is not there") != NULL);
    CHECK(unsetenv("HOCKET_DATA_DIR") == 0);

    remove_file(names[3]);
    CHECK(hki_image_set_find(places, folder, HKI_IMAGE_TRAIN, message, sizeof message) == HK_OK);
    CHECK(hki_image_set_find(places, folder, 0, NULL, 0) == HK_NOT_FOUND);
    CHECK(places[0].state == HKI_IMAGE_PLACE_INCOMPLETE);
    CHECK(places[0].missing && strcmp(places[0].missing, names[3]) == 0);
}

/* Puts file in the place of names[which] of a good set, and wants text. */
static void expect_bad(hki_idx_file *file, int which, const char *text, int line)
{
    hki_image_set set;

    store_set(false);
    store(file, names[which], false);
    check(load(&set, 0) == HK_BAD_DATA, "code", line);
    check(strstr(message, text) != NULL, text, line);
    check(!set.folder && !set.train.images.data && !set.test.labels.data, "zeros", line);
}

static void test_checks(void)
{
    hki_idx_file file;
    hki_image_set set;
    char path[256];
    hki_image_set_options options = {.folder = folder};

    make(&file, HKI_IDX_U8, 1, 13, 0, 0);
    expect_bad(&file, 1,
               "/train-labels-idx1-ubyte: has 13 labels for 12 images; one each would be right",
               __LINE__);
    make(&file, HKI_IDX_U8, 1, 5, 0, 0);
    file.data[3] = 10;
    expect_bad(&file, 3, "/t10k-labels-idx1-ubyte: label 3 is 10; 0 to 9 would be right;",
               __LINE__);
    make(&file, HKI_IDX_I8, 1, 5, 0, 0);
    expect_bad(&file, 3, "has elements of type i8; labels of type u8 would be right", __LINE__);
    make(&file, HKI_IDX_I8, 3, 12, 4, 3);
    expect_bad(&file, 0, "has elements of type i8; images of type u8 would be right", __LINE__);
    make(&file, HKI_IDX_U8, 2, 12, 12, 0);
    expect_bad(&file, 0, "has 2 dimensions; 3 would be right for images;", __LINE__);
    make(&file, HKI_IDX_U8, 3, 5, 1, 1);
    expect_bad(&file, 3, "has 3 dimensions; 1 would be right for labels;", __LINE__);
    make(&file, HKI_IDX_U8, 3, 0, 4, 3);
    expect_bad(&file, 0, "has 0 images of 4 x 3 pixels; at least one", __LINE__);
    make(&file, HKI_IDX_U8, 3, 12, 4, 0);
    expect_bad(&file, 0, "has 12 images of 4 x 0 pixels; at least one", __LINE__);
    make(&file, HKI_IDX_U8, 3, 5, 3, 4);
    expect_bad(&file, 2, "test images are 3 x 4 pixels, training images 4 x 3;", __LINE__);
    make(&file, HKI_IDX_U8, 3, 12, 4, 3);
    file.dims[0] = 13;
    expect_bad(&file, 0, "is truncated: header promises 156 bytes, file holds 144;", __LINE__);

    store_set(true);
    options.byte_limit = 143;
    CHECK(hki_image_set_load(&set, &options, message, sizeof message) == HK_BAD_DATA);
    CHECK(strstr(message, "train-images-idx3-ubyte.gz: is too large: header promises 144 bytes, "
                          "limit 143;") != NULL);
    options.byte_limit = 144;
    options.class_count = 9;
    CHECK(hki_image_set_load(&set, &options, message, sizeof message) == HK_BAD_DATA);
    CHECK(strstr(message, "label 9 is 9; 0 to 8 would be right") != NULL);
    options.class_count = 256;
    CHECK(hki_image_set_load(&set, &options, message, sizeof message) == HK_OK);
    hki_image_set_deinit(&set);
    options.class_count = 257;
    CHECK(hki_image_set_load(&set, &options, message, sizeof message) == HK_INVALID_ARGUMENT);
    options.class_count = -1;
    CHECK(hki_image_set_load(&set, &options, message, sizeof message) == HK_INVALID_ARGUMENT);
    CHECK(strstr(message, "class count is -1; 1 to 256 would be right") != NULL);

    remove_file(names[2]);
    path_of(path, names[2], false);
    CHECK(mkdir(path, 0700) == 0);
    CHECK(load(&set, 0) == HK_IO && strstr(message, "t10k-images-idx3-ubyte: is a directory;"));
    rmdir(path);
}

static void test_part_ownership(void)
{
    hki_idx_file images, labels;
    hki_image_part part = {0};

    make(&images, HKI_IDX_U8, 3, 2, 1, 1);
    make(&labels, HKI_IDX_U8, 1, 3, 0, 0);
    CHECK(hki_image_part_init(&part, &images, &labels, "i", "l", 0, message, sizeof message) ==
          HK_BAD_DATA);
    CHECK(images.data && labels.data && part.count == 0);
    labels.dims[0] = 2;
    labels.data_bytes = 2;
    CHECK(hki_image_part_init(&part, &images, &labels, "i", "l", 2, message, sizeof message) ==
          HK_OK);
    CHECK(!images.data && !labels.data && part.count == 2);
    hki_image_part_deinit(&part);
}

static void test_fill(void)
{
    static const int64_t indices[6] = {11, 0, 3, 3, 7, 1}, bad[3] = {2, 12, 0}, worse[1] = {-1};
    float images[6 * 12] = {0};
    int32_t labels_i32[6] = {0};
    int64_t labels_i64[6] = {0};
    hki_image_batch batch = {indices, images, labels_i32, labels_i64};
    hki_image_set set;

    store_set(true);
    CHECK(load(&set, 0) == HK_OK);
    CHECK(hki_image_fill(&set.train, &batch, 4, 6) == 6); /* in pieces, the last first */
    for (int i = 0; i < 4 * 12; i++)
        CHECK(!(images[i] > 0));
    CHECK(hki_image_fill(&set.train, &batch, 0, 4) == 4);
    CHECK(hki_image_fill(&set.train, &batch, 3, 3) == 3);
    for (int i = 0; i < 6; i++) {
        CHECK(labels_i32[i] == indices[i] % 10 && labels_i64[i] == indices[i] % 10);
        for (int j = 0; j < 12; j++) {
            float want = (float)element(3, indices[i] * 12 + j) / 255.0f;
            CHECK(memcmp(&images[i * 12 + j], &want, sizeof want) == 0);
        }
    }
    batch = (hki_image_batch){.indices = bad, .labels_i64 = labels_i64};
    labels_i64[1] = labels_i64[2] = 99;
    CHECK(hki_image_fill(&set.train, &batch, 0, 3) == 1);
    CHECK(labels_i64[0] == 2 && labels_i64[1] == 99 && labels_i64[2] == 99);
    batch.indices = worse;
    CHECK(hki_image_fill(&set.train, &batch, 0, 1) == 0);
    hki_image_set_deinit(&set);
}

static void expect_order(uint64_t seed, uint32_t epoch, const int64_t want[10])
{
    int64_t got[10];

    hki_shuffle(seed, epoch, 10, got);
    CHECK(memcmp(got, want, sizeof got) == 0);
}

/* The orders were computed by another program, in Python, from the comment in image_set.h. */
static void test_shuffle(void)
{
    static const int64_t first[10] = {3, 8, 1, 2, 4, 5, 0, 6, 9, 7};
    static const int64_t other[10] = {7, 6, 8, 5, 1, 9, 3, 0, 2, 4};
    enum { COUNT = 60000, ROUNDS = 24000 };
    int64_t *order = must(malloc(COUNT * sizeof *order));
    uint8_t *seen = must(calloc(COUNT, 1));
    int counts[256] = {0};
    double distance = 0;
    int64_t kept = 42;

    expect_order(0, 0, first);
    expect_order(0x123456789abcdefu, 3, other);
    hki_shuffle(42, 7, COUNT, order);
    CHECK(order[0] == 18829 && order[1] == 13288 && order[COUNT - 1] == 13164);
    for (int i = 0; i < COUNT; i++) {
        CHECK(order[i] >= 0 && order[i] < COUNT && !seen[order[i]]);
        seen[order[i]] = 1;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    CHECK(crc32(0, (const Bytef *)order, COUNT * sizeof *order) == 0xee31a083u);
#endif
    hki_shuffle(1, 1, 0, &kept);
    CHECK(kept == 42);
    hki_shuffle(1, 1, 1, &kept);
    CHECK(kept == 0);

    /* All 24 orders of 4 come equally often: chi-squared with 23 degrees of freedom is below 49.7
     * in 999 of 1000 cases, and this one is always the same. */
    for (uint32_t epoch = 0; epoch < ROUNDS; epoch++) {
        hki_shuffle(5, epoch, 4, order);
        counts[order[0] + 4 * order[1] + 16 * order[2] + 64 * order[3]]++;
    }
    for (int i = 0, orders = 0; i < 256; i++) {
        double off = counts[i] - ROUNDS / 24.0;
        if (counts[i] > 0)
            distance += off * off / (ROUNDS / 24.0);
        orders += counts[i] > 0;
        CHECK(i < 255 || orders == 24);
    }
    CHECK(distance < 49.7);
    free(order);
    free(seen);
}

/* Returns false if it is not installed. */
static bool test_fashion_mnist(void)
{
    hki_image_place places[HKI_IMAGE_PLACES];
    hki_image_set set;

    if (hki_image_set_find(places, NULL, 0, message, sizeof message) != HK_OK)
        return false;
    CHECK(hki_image_set_load(&set, NULL, message, sizeof message) == HK_OK);
    if (!set.folder)
        return true;
    CHECK(set.train.count == 60000 && set.train.height == 28 && set.train.width == 28);
    CHECK(set.test.count == 10000);
    CHECK(crc32(0, set.train.images.data, 47040000) == 0xae65dccdu);
    CHECK(crc32(0, set.train.labels.data, 60000) == 0x2ed6e46au);
    CHECK(crc32(0, set.test.images.data, 7840000) == 0x12728439u);
    CHECK(crc32(0, set.test.labels.data, 10000) == 0x242bc73fu);
    hki_image_set_deinit(&set);
    return true;
}

int main(void)
{
    must(mkdtemp(folder));
    test_load();
    test_find();
    test_checks();
    test_part_ownership();
    test_fill();
    test_shuffle();
    for (int i = 0; i < 4; i++)
        remove_file(names[i]);
    CHECK(rmdir(folder) == 0);
    if (failures == 0 && !test_fashion_mnist()) {
        fprintf(stderr, "image_set_test: all but Fashion-MNIST itself was tested: %s\n", message);
        return 77;
    }
    return failures != 0;
}
