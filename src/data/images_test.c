/* Folders of images, and transforms: values against formulas, damage that names the file, the same images on any devices. */
#include "tests/io_fixture.h"

#include "data/images_fixture.h"

#include <math.h>
#include <sys/stat.h>

enum { MOST = 4096, FILES = 12 };

/* ---- helpers --------------------------------------------------------------------------------------------- */

/* Field 0 of the epoch, in the order of samples, by `devices` devices in batches. */
static void read_images(hk_data_set *set, int devices, int64_t batch, int64_t epoch, float *to)
{
    hk_device list[4];
    for (int i = 0; i < devices; i++)
        list[i] = hk_device_at(i);
    hk_loader *loader = hk_loader_create(
        set, &(hk_loader_options){
                 .batch_size = batch, .seed = 3, .devices = list, .device_count = devices});
    hk_loader_start_epoch(loader, epoch);
    hk_array *images[4];
    for (;;) {
        HK_SCOPE;
        if (!hk_loader_next(loader, images, NULL))
            break;
        for (int i = 0; i < devices; i++) {
            const size_t bytes = (size_t)hk_size(images[i]) * sizeof *to;
            CHECK(!hk_status_print(hk_to_host(images[i], to, bytes), stderr));
            to += hk_size(images[i]);
        }
    }
    hk_loader_release(loader);
}

static void set_fails(hk_data_set *set, hk_code code, const char *text)
{
    fixture_check_message(hk_data_set_status(set), code, text);
    hk_data_set_release(set);
}

static bool near(float a, double b)
{
    return fabs((double)a - b) < 1e-5;
}

/* ---- folders --------------------------------------------------------------------------------------------- */

static char root[320];

static const char *path_in(const char *name)
{
    static char paths[8][400];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", root, name);
    return path;
}

static uint8_t pixel(int sample, int i)
{
    return (uint8_t)(sample * 40 + i * 9);
}

static void write_png(const char *name, int sample, uint32_t height, uint32_t width,
                      uint32_t format, int channels)
{
    uint8_t pixels[MOST], file[MOST];
    for (int i = 0; i < (int)(height * width) * channels; i++)
        pixels[i] = pixel(sample, i);
    fixture_write(path_in(name), file, png_make(file, sizeof file, pixels, height, width, format));
}

static void write_jpeg(const char *name, int level, uint32_t height, uint32_t width, int channels)
{
    uint8_t pixels[MOST];
    size_t bytes;
    memset(pixels, level, sizeof pixels);
    uint8_t *file = jpeg_make(&bytes, pixels, height, width, channels);
    fixture_write(path_in(name), file, bytes);
    free(file);
}

static void make_folders(void)
{
    snprintf(root, sizeof root, "%s/images", fixture_folder);
    mkdir(root, 0700);
    mkdir(path_in("dog"), 0700);
    mkdir(path_in("cat"), 0700);
    mkdir(path_in("eel"), 0700); /* a class without images */
    write_png("dog/b.PNG", 1, 3, 5, PNG_FORMAT_RGB, 3);
    write_png("dog/a.png", 2, 3, 5, PNG_FORMAT_GRAY, 1);
    write_png("cat/x.png", 3, 3, 5, PNG_FORMAT_RGBA, 4);
    write_jpeg("cat/w.jpeg", 90, 3, 5, 3);
    write_jpeg("dog/c.jpg", 200, 3, 5, 1);
    fixture_write(path_in("dog/notes.txt"), "x", 1);
    fixture_write(path_in("readme.png"), "x", 1);
    fixture_write(path_in("dog/.hidden.png"), "x", 1);
}

static void test_folder(void)
{
    enum { PLANE = 15 };
    static float images[5 * 3 * PLANE];
    hk_data_set *set = hk_data_set_of_images(root, NULL);
    CHECK(!hk_status_print(hk_data_set_status(set), stderr));
    CHECK(hk_data_set_size(set) == 5 && hk_data_set_class_count(set) == 3);
    CHECK(hk_data_set_height(set) == 3 && hk_data_set_width(set) == 5);
    CHECK_STR(hk_data_set_class_name(set, 0), "cat");
    CHECK_STR(hk_data_set_class_name(set, 2), "eel");
    CHECK(!hk_data_set_class_name(set, 3) && !hk_data_set_class_name(set, -1));
    CHECK_STR(hk_data_set_folder(set), root);
    read_images(set, 2, 3, 0, images); /* w x, a b c */
    int wrong = 0;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < PLANE; i++) {
            wrong += fabsf(images[c * PLANE + i] - 90 / 255.0f) > 0.01f;
            wrong += images[(2 * 3 + c) * PLANE + i] != (float)pixel(2, i) / 255.0f;
            wrong += images[(3 * 3 + c) * PLANE + i] != (float)pixel(1, 3 * i + c) / 255.0f;
            wrong += fabsf(images[(4 * 3 + c) * PLANE + i] - 200 / 255.0f) > 0.01f;
        }
    CHECK_EQ_I64(wrong, 0);
    HK_SCOPE;
    hk_array *labels;
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 5});
    CHECK(hk_loader_next(loader, NULL, &labels));
    CHECK(fixture_holds(labels, (const int64_t[]){0, 0, 1, 1, 1}, 5 * sizeof(int64_t)));
    hk_loader_release(loader);
    hk_data_set_release(set);

    set = hk_data_set_of_images(root, &(hk_image_folder_options){1, 6, 10}); /* grey, resized */
    CHECK(hk_data_set_channels(set) == 1 && hk_data_set_width(set) == 10);
    static float large[5 * 60];
    read_images(set, 1, 5, 0, large);
    CHECK(fabsf(large[7] - 90 / 255.0f) < 0.01f);
    CHECK(large[2 * 60] == (float)pixel(2, 0) / 255.0f); /* the corner is the pixel's */
    hk_data_set_release(set);
}

/* The batch with the file fails by a record that names it; the others stand. */
static void check_damaged(const char *name, const char *text)
{
    HK_SCOPE;
    hk_data_set *set = hk_data_set_of_images(root, &(hk_image_folder_options){3, 4, 4});
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 1});
    hk_array *images;
    int failed = 0;
    while (hk_loader_next(loader, &images, NULL)) {
        const hk_status *status = hk_wait(images);
        if (hk_ok(status))
            continue;
        failed++;
        fixture_check_message(status, HK_BAD_DATA, name);
        fixture_check_message(status, HK_BAD_DATA, text);
    }
    CHECK_EQ_I64(failed, 1);
    hk_loader_release(loader);
    hk_data_set_release(set);
    hk_wait_all();
    hk_failures_clear();
}

static void test_damaged(void)
{
    static const char *const names[] = {"dog/b.PNG", "cat/w.jpeg"};
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        const char *path = path_in(names[i]);
        char *whole = fixture_read(path, &bytes);
        fixture_write(path, whole, bytes * 3 / 4);
        check_damaged(names[i], i ? "is a damaged JPEG file" : "is a damaged PNG file");
        fixture_write(path, whole, 0);
        check_damaged(names[i], "begins like neither");
        fixture_write(path, whole, bytes);
        free(whole);
    }
    write_png("dog/d.png", 1, 2, 5, PNG_FORMAT_RGB, 3);
    hk_data_set *set = hk_data_set_of_images(root, NULL);
    HK_SCOPE;
    hk_array *images;
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 6});
    CHECK(hk_loader_next(loader, &images, NULL));
    fixture_check_message(hk_wait(images), HK_BAD_DATA, "dog/d.png: has 2 x 5 pixels; 3 x 5");
    hk_loader_release(loader);
    hk_data_set_release(set);
    unlink(path_in("dog/d.png"));
    hk_wait_all();
    hk_failures_clear();
}

static void test_folder_refusals(void)
{
    set_fails(hk_data_set_of_images(NULL, NULL), HK_INVALID_ARGUMENT, "folder is NULL");
    set_fails(hk_data_set_of_images("/nowhere", NULL), HK_NOT_FOUND, "/nowhere: cannot be listed");
    set_fails(hk_data_set_of_images(path_in("dog"), NULL), HK_BAD_DATA, "has no images");
    set_fails(hk_data_set_of_images(root, &(hk_image_folder_options){2, 0, 0}), HK_INVALID_ARGUMENT,
              "channels is 2");
    set_fails(hk_data_set_of_images(root, &(hk_image_folder_options){3, 4, 0}), HK_INVALID_ARGUMENT,
              "height and width are 4 and 0");
}

static void test_one(void)
{
    HK_SCOPE;
    float values[45], large[7 * 9];
    hk_array *x = hk_image_load(path_in("dog/b.PNG"), NULL);
    CHECK(hk_dim(x, 0) == 3 && hk_dim(x, 1) == 3 && hk_dim(x, 2) == 5);
    CHECK(!hk_status_print(hk_to_host(x, values, sizeof values), stderr));
    CHECK(values[15] == (float)pixel(1, 1) / 255.0f);
    x = hk_image_load(path_in("cat/w.jpeg"), &(hk_image_folder_options){1, 7, 9});
    CHECK(!hk_status_print(hk_to_host(x, large, sizeof large), stderr));
    CHECK(fabsf(large[31] - 90 / 255.0f) < 0.01f);
    fixture_check_message(hk_wait(hk_image_load(NULL, NULL)), HK_INVALID_ARGUMENT, "path is NULL");
    fixture_check_message(hk_wait(hk_image_load("/nowhere", NULL)), HK_NOT_FOUND, "/nowhere");
    fixture_check_message(hk_wait(hk_image_load(path_in("readme.png"), NULL)), HK_BAD_DATA,
                          "readme.png: begins like neither");
    hk_wait_all();
    hk_failures_clear();
}

/* ---- transforms ------------------------------------------------------------------------------------------ */

/* Samples of 3 x 4 x 5 whose elements tell where they were. */
static hk_data_set *ramp(int64_t samples, int64_t channels)
{
    HK_SCOPE;
    float *values = malloc((size_t)(samples * channels * 20) * sizeof *values);
    for (int64_t i = 0; i < samples * channels * 20; i++)
        values[i] = (float)(i % (channels * 20)) / 64.0f;
    hk_array *fields[] = {
        hk_from_host(values, hk_shape(samples, channels, 4, 5), HK_F32, (hk_device){0}),
        hk_zeros(hk_shape(samples), HK_I64, (hk_device){0})};
    free(values);
    return hk_data_set_of_arrays(fields, 2);
}

static void run_one(const hk_transform *transform, int64_t samples, int64_t channels, float *to)
{
    hk_data_set *base = ramp(samples, channels);
    hk_data_set *set = hk_data_set_transform(base, transform, 1);
    hk_data_set_release(base);
    CHECK(!hk_status_print(hk_data_set_status(set), stderr));
    read_images(set, 2, samples, 0, to);
    hk_data_set_release(set);
}

static void test_values(void)
{
    static float out[MOST];
    run_one(&(hk_transform){.kind = HK_TRANSFORM_RESIZE, .height = 8, .width = 5}, 1, 1, out);
    CHECK(near(out[0], 0) && near(out[5], 1.25 / 64) && near(out[10], 3.75 / 64));
    CHECK(near(out[39], 19 / 64.0));
    run_one(&(hk_transform){.kind = HK_TRANSFORM_RESIZE, .height = 4, .width = 5}, 1, 3, out);
    for (int i = 0; i < 60; i++)
        CHECK(out[i] == (float)i / 64.0f);
    run_one(
        &(hk_transform){.kind = HK_TRANSFORM_NORMALIZE, .mean = {1, 0, .5f}, .std = {2, 1, .25f}},
        1, 3, out);
    CHECK(near(out[0], -0.5) && near(out[20], 20 / 64.0) && near(out[59], (59 / 64.0 - .5) * 4));
    run_one(&(hk_transform){.kind = HK_TRANSFORM_FLIP, .probability = 1}, 1, 3, out);
    CHECK(near(out[0], 4 / 64.0) && near(out[4], 0) && near(out[55], 59 / 64.0));
    run_one(&(hk_transform){.kind = HK_TRANSFORM_JITTER}, 1, 3, out); /* factors of 1 */
    for (int i = 0; i < 60; i++)
        CHECK(near(out[i], i / 64.0));
}

/* Crops are windows of the padded image, at every place about as often; flips are half of them. */
static void test_draws(void)
{
    enum { SAMPLES = 900 };
    static float out[SAMPLES * 60];
    int places[9] = {0}, flips = 0;
    run_one(&(hk_transform){.kind = HK_TRANSFORM_CROP, .height = 4, .width = 5, .padding = 1},
            SAMPLES, 1, out);
    for (int s = 0; s < SAMPLES; s++) {
        const float *image = out + s * 20;
        int matches = 0;
        for (int place = 0; place < 9; place++) {
            bool is_same = true;
            for (int i = 0; i < 20; i++) {
                const int y = i / 5 + place / 3 - 1, x = i % 5 + place % 3 - 1;
                const bool is_inside = y >= 0 && y < 4 && x >= 0 && x < 5;
                is_same = is_same && image[i] == (is_inside ? (float)(y * 5 + x) / 64.0f : 0);
            }
            places[place] += is_same;
            matches += is_same;
        }
        CHECK(matches == 1);
    }
    for (int place = 0; place < 9; place++)
        CHECK(places[place] > 60 && places[place] < 140);
    run_one(&(hk_transform){.kind = HK_TRANSFORM_FLIP}, SAMPLES, 1, out);
    for (int s = 0; s < SAMPLES; s++)
        flips += out[s * 20] != 0;
    CHECK(flips > 380 && flips < 520);

    run_one(&(hk_transform){.kind = HK_TRANSFORM_JITTER, .brightness = 0.5}, SAMPLES, 1, out);
    double low = 9, high = 0, sum = 0;
    for (int s = 0; s < SAMPLES; s++) {
        const double factor = (double)out[s * 20 + 19] / (19 / 64.0);
        low = factor < low ? factor : low;
        high = factor > high ? factor : high;
        sum += factor / SAMPLES;
        CHECK(near(out[s * 20 + 7], factor * 7 / 64.0));
    }
    CHECK(low >= 0.5 && low < 0.51 && high < 1.5 && high > 1.49 && fabs(sum - 1) < 0.05);
    run_one(&(hk_transform){.kind = HK_TRANSFORM_JITTER, .contrast = 1, .saturation = 1}, SAMPLES,
            3, out);
    for (int i = 0; i < SAMPLES * 60; i++)
        CHECK(out[i] >= 0 && out[i] <= 1);
    CHECK(out[0] != out[60]);
}

static const hk_transform chain[] = {
    {.kind = HK_TRANSFORM_CROP, .height = 4, .width = 5, .padding = 2},
    {.kind = HK_TRANSFORM_FLIP},
    {.kind = HK_TRANSFORM_JITTER, .brightness = 0.4, .contrast = 0.4, .saturation = 0.4},
    {.kind = HK_TRANSFORM_RESIZE, .height = 7, .width = 3},
    {.kind = HK_TRANSFORM_NORMALIZE, .mean = {.5f, .4f, .3f}, .std = {.2f, .2f, .2f}},
};

/* Whatever the devices, batches and the way it is put together; others in another epoch. */
static void test_same_everywhere(void)
{
    enum { SAMPLES = 300, VALUES = SAMPLES * 63 };
    static float first[VALUES], other[VALUES];
    hk_data_set *base = ramp(SAMPLES, 3);
    hk_data_set *set = hk_data_set_transform(base, chain, 5);
    hk_data_set *half = hk_data_set_transform(base, chain, 2);
    hk_data_set *rest = hk_data_set_transform(half, chain + 2, 3);
    CHECK(hk_data_set_height(rest) == 7 && hk_data_set_size(rest) == SAMPLES);
    read_images(set, 1, SAMPLES, 0, first);
    for (int devices = 1; devices <= 3; devices++) {
        read_images(set, devices, 7 * devices, 0, other);
        CHECK(!memcmp(first, other, sizeof first));
    }
    read_images(rest, 2, SAMPLES, 0, other);
    CHECK(!memcmp(first, other, sizeof first));
    read_images(set, 1, SAMPLES, 1, other);
    CHECK(memcmp(first, other, sizeof first) != 0);
    hk_data_set_release(base);
    hk_data_set_release(half);
    hk_data_set_release(set);
    hk_data_set_release(rest);
}

static void test_transform_refusals(void)
{
    static const struct {
        hk_transform transform;
        const char *says;
    } cases[] = {
        {{.kind = HK_TRANSFORM_RESIZE, .height = 4},
         "height and width are 4 and 0; 1 to 65536 and 1 to 65536 would be right"},
        {{.kind = HK_TRANSFORM_CROP, .height = 5, .width = 5},
         "height and width are 5 and 5; 1 to 4 and 1 to 5"},
        {{.kind = HK_TRANSFORM_CROP, .height = 5, .width = 5, .padding = -1},
         "padding is -1; 0 to"},
        {{.kind = HK_TRANSFORM_FLIP, .probability = 1.5}, "probability is 1.5; 0 to 1"},
        {{.kind = HK_TRANSFORM_NORMALIZE, .std = {1, 1, 0}}, "std[2] 0;"},
        {{.kind = HK_TRANSFORM_JITTER, .contrast = NAN}, "contrast is"},
        {{.kind = (hk_transform_kind)99}, "kind is 99; an hk_transform_kind"},
    };
    hk_data_set *base = ramp(2, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        set_fails(hk_data_set_transform(base, &cases[i].transform, 1), HK_INVALID_ARGUMENT,
                  cases[i].says);
    set_fails(hk_data_set_transform(base, NULL, 1), HK_INVALID_ARGUMENT, "1 to 32");
    set_fails(hk_data_set_transform(base, chain, 33), HK_INVALID_ARGUMENT, "count is 33");
    set_fails(hk_data_set_transform(NULL, chain, 1), HK_INVALID_ARGUMENT, "set is NULL");
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(3, 4), HK_F32, (hk_device){0});
    hk_data_set *flat = hk_data_set_of_arrays(&x, 1);
    set_fails(hk_data_set_transform(flat, chain, 1), HK_INVALID_ARGUMENT, "float32 of 1 axes");
    hk_data_set_release(flat);
    hk_data_set_release(base);
}

int main(void)
{
    fixture_begin();
    make_folders();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 3})));
    test_folder();
    test_damaged();
    test_folder_refusals();
    test_one();
    test_values();
    test_draws();
    test_same_everywhere();
    test_transform_refusals();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK(!system(command));
    fixture_end();
    return check_result();
}
