#include "saved_training.h"

#include "json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 32, TEXTS = 6 };

static const char fashion_classes[] =
    "t-shirt\ntrouser\npullover\ndress\ncoat\nsandal\nshirt\nsneaker\nbag\nankle boot\n";

/* ---- writing --------------------------------------------------------------------------------------- */

/* Six whole numbers: channels, height, width, classes, depth and steps; and the width in thousandths. */
static void shape_text(char *text, size_t bytes, const training_data *data,
                       const model_options *options)
{
    snprintf(text, bytes,
             "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
             hk_data_set_channels(data->train), hk_data_set_height(data->train),
             hk_data_set_width(data->train), data->classes, options->depth, options->steps,
             (int64_t)(options->width * 1000 + 0.5));
}

bool saved_training_write(const char *path, const char *name, const trainer *from,
                          const training_data *data, const model_options *options)
{
    char shape[8 * NUMBER_BYTES], lr[NUMBER_BYTES];
    hk_save_entry entries[LENET_PARAMETERS];
    hk_metadata_entry texts[TEXTS] = {{"model", name}, {"shape", shape}, {"lr", lr}};
    hk_checkpoint state = trainer_checkpoint(from, entries);
    shape_text(shape, sizeof shape, data, options);
    snprintf(lr, sizeof lr, "%.17g", from->lr);
    state.metadata = texts;
    state.metadata_count = 3;
    if (data->vocabulary)
        texts[state.metadata_count++] =
            (hk_metadata_entry){"vocabulary", hk_vocabulary_text(data->vocabulary)};
    else if (strstr(data->source, "fashion"))
        texts[state.metadata_count++] = (hk_metadata_entry){"class_names", fashion_classes};
    return !hk_status_print(hk_checkpoint_save(path, &state), stderr);
}

/* ---- reading --------------------------------------------------------------------------------------- */

static bool is_of(const hk_archive *archive, const char *path, const char *name)
{
    const char *own = hk_archive_metadata(archive, "model");
    if (hk_status_print(hk_archive_status(archive), stderr))
        return false;
    if (own && !strcmp(own, name))
        return true;
    fprintf(stderr, "hocket: %s is no file of %s: it is %s", path, name,
            own ? "of " : "no file of hocket train --save");
    text_print(own ? own : "", 40, stderr);
    fprintf(stderr, "\n");
    return false;
}

static bool has_vocabulary(const hk_archive *archive, const char *path, const training_data *data)
{
    const char *own = hk_archive_metadata(archive, "vocabulary");
    if (!data->vocabulary || (own && !strcmp(own, hk_vocabulary_text(data->vocabulary))))
        return true;
    fprintf(stderr, "hocket: %s is of a text with other letters than %s\n", path, data->source);
    return false;
}

/* Plain gradient descent has no state that a checkpoint would miss. */
static bool is_plain(const char *method)
{
    return !strcmp(method, "sgd");
}

static bool has_optimizer(const hk_archive *archive, const char *path, const trainer *to)
{
    const char *own = hk_archive_metadata(archive, "hocket.optimizer");
    if (!own || to->optimizer || is_plain(own))
        return true;
    fprintf(stderr, "hocket: %s was trained with --optimizer ", path);
    text_print(own, 40, stderr);
    fprintf(stderr, "; go on with that\n");
    return false;
}

static hk_archive *open_archive(const char *path)
{
    return hk_load(path, (hk_device){NULL}, &(hk_load_options){.format = HK_FORMAT_SAFETENSORS});
}

/* What the learning rate was, of which a schedule makes that of each step. */
static double lr_of(const hk_archive *archive, double otherwise)
{
    const char *text = hk_archive_metadata(archive, "lr");
    const double lr = text ? strtod(text, NULL) : otherwise;
    return lr >= 0 && lr < HUGE_VAL ? lr : otherwise;
}

bool saved_training_read(const char *path, const char *name, trainer *to, const training_data *data,
                         bool keeps_lr, int64_t *epoch)
{
    hk_save_entry entries[LENET_PARAMETERS];
    hk_archive *archive = open_archive(path);
    hk_checkpoint state = trainer_checkpoint(to, entries);
    bool is_good = is_of(archive, path, name) && has_vocabulary(archive, path, data) &&
                   has_optimizer(archive, path, to);
    if (is_good && !keeps_lr)
        to->lr = lr_of(archive, to->lr);
    if (is_plain(hk_optimizer_get_method(to->optimizer)) &&
        !hk_archive_metadata(archive, "hocket.optimizer"))
        state.optimizer = NULL;
    hk_archive_release(archive);
    if (is_good) {
        trainer_warm_up(to);
        is_good = !hk_status_print(hk_checkpoint_load(path, &state), stderr);
    }
    if (is_good && to->optimizer)
        hk_optimizer_set_lr(to->optimizer, to->lr);
    if (is_good)
        *epoch = trainer_resume(to, &state);
    return is_good;
}

bool saved_shape_read(const hk_archive *archive, const char *path, const char *name,
                      saved_shape *shape)
{
    int64_t numbers[7];
    const char *at = is_of(archive, path, name) ? hk_archive_metadata(archive, "shape") : NULL;
    if (!at)
        return false;
    for (int i = 0; i < 7; i++) {
        char *end;
        errno = 0;
        numbers[i] = strtoll(at, &end, 10);
        if (errno || end == at || numbers[i] < 0 || numbers[i] > 1 << 20) {
            fprintf(stderr, "hocket: %s does not say what its network is like\n", path);
            return false;
        }
        at = end;
    }
    *shape = (saved_shape){.channels = numbers[0],
                           .height = numbers[1],
                           .width = numbers[2],
                           .options = {.classes = numbers[3],
                                       .depth = numbers[4],
                                       .steps = numbers[5],
                                       .width = (double)numbers[6] / 1000}};
    return true;
}

const char *saved_class_name(const hk_archive *archive, int64_t label, char *room, size_t bytes)
{
    const char *names = hk_archive_metadata(archive, "class_names");
    for (int64_t i = 0; names && i < label; i++) {
        names = strchr(names, '\n');
        names = names ? names + 1 : NULL;
    }
    const char *end = names ? strchr(names, '\n') : NULL;
    if (end)
        snprintf(room, bytes, "%.*s", (int)(end - names), names);
    else
        snprintf(room, bytes, "class %" PRId64, label);
    return room;
}
