/* Images are classified on their way from files to files: read, decoded, put together to batches,
 * given to a network, saved. Reading waits for the disk on threads beside the cores, decoding takes
 * the cores, and nothing says what runs at what time: while a batch is decoded the next one is read
 * and results of the last one are written. One file is damaged: the batch that it belongs to fails,
 * by its name, and no other. Classes and bytes are compared with those of one call at a time. */
#include "png_file.h"

#include <hocket/hocket.h>

#include <errno.h>
#include <math.h>
#include <unistd.h>

enum { BATCHES = 6, BATCH = 8, CLASSES = 4, SIDE = 32, FILE_ROOM = 4096, DAMAGED = 2 };

typedef struct file_name {
    char text[64];
} file_name;

static char folder[] = "pipeline-XXXXXX";

static file_name image_name(int batch, int index)
{
    file_name name;
    snprintf(name.text, sizeof name.text, "%s/%d-%d.png", folder, batch, index);
    return name;
}

static file_name scores_name(int batch)
{
    file_name name;
    snprintf(name.text, sizeof name.text, "%s/scores-%d.npy", folder, batch);
    return name;
}

static int class_of(int batch, int index)
{
    return (batch * 5 + index * 3) % CLASSES;
}

/* Waves, more of them for each class. */
static double pattern(int its_class, int x)
{
    return cos(2 * M_PI * (its_class + 1) * x / SIDE);
}

static int write_images(void)
{
    for (int i = 0; i < BATCHES * BATCH; i++) {
        const file_name name = image_name(i / BATCH, i % BATCH);
        uint8_t pixels[SIDE * SIDE];
        for (int j = 0; j < SIDE * SIDE; j++)
            pixels[j] = (uint8_t)(128 + 60 * pattern(class_of(i / BATCH, i % BATCH), j % SIDE) +
                                  (i * 31 + j * 17) % 61 - 30);
        if (!png_write(name.text, pixels, SIDE, SIDE))
            return 0;
    }
    return !truncate(image_name(DAMAGED, 1).text, 300);
}

/* On a thread beside the cores. */
static void read_file(hk_task_call *call)
{
    const file_name *name = hk_task_args(call);
    uint8_t *bytes = hk_task_view_of(call, 0).data;
    FILE *file = fopen(name->text, "rb");
    const size_t size = file ? fread(bytes, 1, FILE_ROOM, file) : 0;
    if (!file || ferror(file))
        hk_task_refuse(call, "%s: %s", name->text, strerror(errno));
    memset(bytes + size, 0, FILE_ROOM - size);
    if (file)
        fclose(file);
}

static void decode(hk_task_call *call)
{
    const file_name *name = hk_task_args(call);
    const char *error = png_decode(hk_task_view_of(call, 0).data, FILE_ROOM, SIDE, SIDE,
                                   hk_task_scratch(call), hk_task_view_of(call, 1).data);
    if (error)
        hk_task_refuse(call, "%s %s", name->text, error);
}

static size_t raw_bytes(const hk_task_call *call)
{
    (void)call;
    return SIDE * (SIDE + 1);
}

static const hk_kernel read_kernel = {.name = "read", .cpu = read_file, .waits = true};
static const hk_kernel decode_kernel = {
    .name = "decode", .cpu = decode, .scratch_bytes = raw_bytes};

/* Returns at once. The result is ready when the scores are on disk. */
static hk_array *classify(int batch, hk_array *weights)
{
    HK_SCOPE;
    hk_array *images = hk_zeros(hk_shape(BATCH, SIDE, SIDE), HK_U8, hk_device_default());
    for (int i = 0; i < BATCH; i++) {
        const file_name name = image_name(batch, i);
        hk_array *bytes =
            hk_run_new(&read_kernel, hk_shape(FILE_ROOM), HK_U8, NULL, 0, &name, sizeof name, NULL);
        hk_run(&decode_kernel, HK_ACCESS(hk_reads(bytes), hk_writes(hk_index(images, 0, i))), &name,
               sizeof name, NULL);
    }
    hk_array *x = hk_reshape(hk_cast(images, HK_F32), hk_shape(BATCH, SIDE * SIDE));
    hk_array *hidden = hk_relu(hk_linear(hk_subtract(hk_divide(x, 255), 0.5), weights, NULL));
    const hk_save_entry entry = {"scores", hk_softmax(hidden, 1)};
    return hk_take(hk_save_async(scores_name(batch).text, &entry, 1, NULL));
}

/* The scores of all batches, by one call at a time or by as many as there are. */
static int classify_all(hk_engine engine, float scores[BATCHES][BATCH][CLASSES])
{
    float patterns[CLASSES][SIDE * SIDE];
    hk_array *saved[BATCHES];
    int is_right = 1;
    for (int i = 0; i < CLASSES * SIDE * SIDE; i++)
        (&patterns[0][0])[i] = (float)pattern(i / (SIDE * SIDE), i % SIDE) / SIDE;
    hk_runtime_init(&(const hk_runtime_options){.engine = engine});
    hk_array *weights =
        hk_from_host(patterns, hk_shape(CLASSES, SIDE * SIDE), HK_F32, hk_device_default());
    for (int batch = 0; batch < BATCHES; batch++)
        saved[batch] = classify(batch, weights);
    for (int batch = 0; batch < BATCHES; batch++) {
        HK_SCOPE;
        const hk_status *status = hk_wait(saved[batch]);
        memset(scores[batch], 0, sizeof scores[batch]);
        if (batch == DAMAGED) {
            printf("batch %d: %s\n", batch, hk_status_message(status));
            is_right &= strstr(hk_status_message(status), image_name(batch, 1).text) != NULL;
        } else {
            hk_archive *archive = hk_load(scores_name(batch).text, hk_device_default(), NULL);
            is_right &= hk_ok(
                hk_to_host(hk_archive_get(archive, NULL), scores[batch], sizeof scores[batch]));
            hk_archive_release(archive);
        }
        hk_array_release(saved[batch]);
    }
    hk_array_release(weights);
    hk_runtime_deinit();
    return is_right;
}

int main(void)
{
    static float serial[BATCHES][BATCH][CLASSES], scores[BATCHES][BATCH][CLASSES];
    int wrong = 0;
    if (!mkdtemp(folder) || !write_images())
        return 1;
    wrong += !classify_all(HK_ENGINE_SERIAL, serial) + !classify_all(HK_ENGINE_ASYNC, scores);
    wrong += memcmp(serial, scores, sizeof serial) != 0;
    for (int i = 0; i < BATCHES * BATCH; i++) {
        const int batch = i / BATCH, index = i % BATCH;
        const float *its = scores[batch][index];
        for (int j = 0; j < CLASSES && batch != DAMAGED; j++)
            wrong += its[j] > its[class_of(batch, index)];
        unlink(image_name(batch, index).text);
        unlink(scores_name(batch).text);
    }
    rmdir(folder);
    printf("%d images, %d wrong\n", BATCHES * BATCH, wrong);
    return wrong ? 1 : 0;
}
