/* For the tests of data sets and loaders: small files, and what should come of them. Include
 * tests/check.h first. */
#ifndef HOCKET_DATA_LOADER_FIXTURE_H
#define HOCKET_DATA_LOADER_FIXTURE_H

#include "data/image_set.h"

#include <hocket/data.h>
#include <hocket/runtime.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRAIN = 103, TEST = 17, HEIGHT = 5, WIDTH = 4, PIXELS = HEIGHT * WIDTH };
enum { WIDE_COUNT = 700, WIDE_PIXELS = 28 * 28 }; /* batches of 256 take several pieces */
enum { MAX_DEVICES = 4, MAX_SAMPLES = WIDE_COUNT };

static char folder[] = "/tmp/hocket_data_XXXXXX", wide_folder[64];

/* ---- files ----------------------------------------------------------------------------------- */

static inline void put_u32(FILE *file, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        putc((int)(value >> shift & 255), file);
}

static inline FILE *open_file(const char *in, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", in, name);
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static inline int pixel_of(int64_t sample, int64_t pixel, int salt)
{
    return (int)((sample * 7 + pixel * 13 + salt + sample / 256) & 255);
}

static inline int label_of(int64_t sample, int salt)
{
    return (int)((sample * 3 + salt) % 10);
}

static inline void write_part(const char *in, const char *images, const char *labels,
                              uint32_t count, uint32_t height, uint32_t width, int salt)
{
    FILE *file = open_file(in, images);
    put_u32(file, 0x803);
    put_u32(file, count);
    put_u32(file, height);
    put_u32(file, width);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < height * width; j++)
            putc(pixel_of(i, j, salt), file);
    fclose(file);
    file = open_file(in, labels);
    put_u32(file, 0x801);
    put_u32(file, count);
    for (uint32_t i = 0; i < count; i++)
        putc(label_of(i, salt), file);
    fclose(file);
}

static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static inline void files_write(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
    snprintf(wide_folder, sizeof wide_folder, "%s/wide", folder);
    mkdir(wide_folder, 0700);
    write_part(folder, names[0], names[1], TRAIN, HEIGHT, WIDTH, 1);
    write_part(folder, names[2], names[3], TEST, HEIGHT, WIDTH, 2);
    write_part(wide_folder, names[0], names[1], WIDE_COUNT, 28, 28, 3);
}

static inline void files_remove(void)
{
    char path[256];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
        snprintf(path, sizeof path, "%s/%s", wide_folder, names[i]);
        remove(path);
    }
    CHECK(!rmdir(wide_folder));
    CHECK(!rmdir(folder));
}

/* ---- what should come ------------------------------------------------------------------------ */

static inline hk_data_set *open_train(void)
{
    hk_data_set *set = hk_data_set_open(folder, HK_DATA_TRAIN, NULL);
    CHECK(hk_ok(hk_data_set_status(set)));
    return set;
}

static inline bool contains(const hk_status *status, hk_code code, const char *text)
{
    if (hk_status_code(status) == code && strstr(hk_status_message(status), text))
        return true;
    hk_status_print(status, stderr);
    return false;
}

typedef struct expected_set {
    int64_t size, pixels;
    int salt;
} expected_set;

static const expected_set small_set = {TRAIN, PIXELS, 1}, wide_set = {WIDE_COUNT, WIDE_PIXELS, 3};

/* A slice holds the samples order[first …]. */
static inline void check_slice(const expected_set *set, hk_array *images, hk_array *labels,
                               const int64_t *order, int64_t rows)
{
    static float values[MAX_SAMPLES * WIDE_PIXELS];
    static int64_t classes[MAX_SAMPLES];
    CHECK_EQ_I64(hk_ndim(images), 4);
    CHECK_EQ_I64(hk_dim(images, 0), rows);
    CHECK_EQ_I64(hk_dim(images, 1), 1);
    CHECK_EQ_I64(hk_dim(images, 2) * hk_dim(images, 3), set->pixels);
    CHECK_EQ_I64(hk_ndim(labels), 1);
    CHECK_EQ_I64(hk_dim(labels, 0), rows);
    CHECK(hk_array_dtype(images) == HK_F32 && hk_array_dtype(labels) == HK_I64);
    if (hk_dim(images, 0) != rows || hk_dim(labels, 0) != rows)
        return;
    CHECK(hk_ok(hk_to_host(images, values, (size_t)(rows * set->pixels) * sizeof *values)));
    CHECK(hk_ok(hk_to_host(labels, classes, (size_t)rows * sizeof *classes)));
    int wrong = 0;
    for (int64_t i = 0; i < rows; i++) {
        wrong += classes[i] != label_of(order[i], set->salt);
        for (int64_t j = 0; j < set->pixels; j++)
            wrong +=
                values[i * set->pixels + j] != (float)pixel_of(order[i], j, set->salt) / 255.0f;
    }
    CHECK_EQ_I64(wrong, 0);
}

static inline void order_of(const expected_set *set, const hk_loader_options *options,
                            uint32_t epoch, int64_t *order)
{
    for (int64_t i = 0; i < set->size; i++)
        order[i] = i;
    if (options->shuffle)
        hki_shuffle(options->seed, epoch, set->size, order);
}

/* Halves of runs of 16 samples for halves of the slices. */
static inline void rows_by_runs(int64_t samples, int n, int64_t *rows)
{
    const int64_t runs = (samples + 15) / 16, first = (runs + 1) / 2 * 16;
    if (n == 1) {
        *rows = samples;
        return;
    }
    rows_by_runs(first < samples ? first : samples, n / 2, rows);
    rows_by_runs(first < samples ? samples - first : 0, n / 2, rows + n / 2);
}

/* As even as can be, the first slices longer; by runs, where there is one for each slice. */
static inline void usual_rows(int64_t samples, int n, int64_t *rows)
{
    for (int i = 0; i < n; i++)
        rows[i] = samples / n + (i < samples % n);
    if (n != 3 && samples > 16 * (n - 1))
        rows_by_runs(samples, n, rows);
}

/* Takes up to `most` batches of an epoch, and the end if it comes; rows by `rows_of` when not NULL. */
static inline void check_batches(const expected_set *set, hk_loader *loader,
                                 const hk_loader_options *options, uint32_t epoch, int64_t most,
                                 void (*rows_of)(int64_t samples, int64_t *rows))
{
    static int64_t order[MAX_SAMPLES];
    int n = options->device_count ? options->device_count : 1;
    int64_t size = options->batch_size, first = 0, limit = set->size;
    if (options->drop_last)
        limit -= limit % size;
    order_of(set, options, epoch, order);
    CHECK_EQ_I64(hk_loader_batch_count(loader), (limit + size - 1) / size);
    CHECK_EQ_I64(hk_loader_device_count(loader), n);
    for (int64_t batch = 0; batch < most; batch++) {
        HK_SCOPE;
        hk_array *images[MAX_DEVICES] = {NULL}, *labels[MAX_DEVICES] = {NULL};
        int64_t left = limit - first, samples = left < size ? left : size, rows[MAX_DEVICES];
        bool more = hk_loader_next(loader, images, labels);
        CHECK_EQ_I64(more, left > 0);
        if (!more || left <= 0) {
            CHECK(!images[0] && !labels[0]);
            return;
        }
        CHECK_EQ_I64(hk_loader_batch_samples(loader), samples);
        usual_rows(samples, n, rows);
        if (rows_of)
            rows_of(samples, rows);
        for (int i = 0; i < n; i++) {
            CHECK(hk_array_device(images[i]).handle == options->devices[i].handle);
            CHECK(hk_array_device(labels[i]).handle == options->devices[i].handle);
            check_slice(set, images[i], labels[i], order + first, rows[i]);
            first += rows[i];
        }
    }
}

static inline void start(int devices, hk_engine engine, uint64_t memory_bytes)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .cpu_devices = devices, .engine = engine, .memory_bytes = memory_bytes})));
}

static inline void stop(void)
{
    CHECK(hk_ok(hk_wait_all()));
    for (int i = 0; i < hk_device_count(); i++)
        CHECK_EQ_I64(hk_device_get_memory(hk_device_at(i)).used_bytes, 0);
    hk_runtime_deinit();
}

static inline void check_epochs(const expected_set *expected, hk_data_set *set,
                                const hk_loader_options *options)
{
    hk_loader *loader = hk_loader_create(set, options);
    CHECK(hk_ok(hk_loader_status(loader)));
    CHECK_EQ_I64(hk_loader_batch_samples(loader), 0);
    for (uint32_t epoch = 0; epoch < 3; epoch++) /* begun by themselves */
        check_batches(expected, loader, options, epoch, INT64_MAX, NULL);
    hk_loader_start_epoch(loader, 7);
    check_batches(expected, loader, options, 7, INT64_MAX, NULL);
    check_batches(expected, loader, options, 8, 2, NULL);
    hk_loader_start_epoch(loader, 1); /* the last one is left in the middle */
    check_batches(expected, loader, options, 1, INT64_MAX, NULL);
    hk_loader_start_epoch(loader, -1);
    check_batches(expected, loader, options, UINT32_MAX, 3, NULL);
    hk_loader_release(loader);
}

#endif
