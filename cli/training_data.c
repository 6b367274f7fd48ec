#include "training_data.h"

#include <stdlib.h>

/* The set itself where its images have that size; taken. */
static hk_data_set *resize(hk_data_set *set, int64_t size)
{
    if (!size || (hk_data_set_height(set) == size && hk_data_set_width(set) == size))
        return set;
    const hk_transform transform = {.kind = HK_TRANSFORM_RESIZE, .height = size, .width = size};
    hk_data_set *resized = hk_data_set_transform(set, &transform, 1);
    hk_data_set_release(set);
    return resized;
}

bool training_data_images(training_data *self, const char *folder, int64_t size)
{
    self->train = resize(hk_data_set_open(folder, HK_DATA_TRAIN, NULL), size);
    self->test = resize(hk_data_set_open(folder, HK_DATA_TEST, NULL), size);
    self->source = hk_data_set_folder(self->train);
    self->classes = hk_data_set_class_count(self->train);
    return !hk_status_print(hk_data_set_status(self->train), stderr) &&
           !hk_status_print(hk_data_set_status(self->test), stderr);
}

static bool cut(training_data *self, hk_array *tokens, int64_t length)
{
    HK_SCOPE;
    const int64_t count = hk_size(tokens), train = count - count / 10;
    self->train =
        hk_data_set_of_tokens(hk_slice(tokens, 0, 0, train), &(hk_token_options){.steps = length});
    self->test = hk_data_set_of_tokens(hk_slice(tokens, 0, train, count),
                                       &(hk_token_options){.steps = length, .fixed_start = true});
    return !hk_status_print(hk_data_set_status(self->train), stderr) &&
           !hk_status_print(hk_data_set_status(self->test), stderr);
}

bool training_data_text(training_data *self, const char *path, int64_t length)
{
    HK_SCOPE;
    const hk_status *status;
    size_t bytes;
    self->source = path ? path : DEFAULT_TEXT;
    char *text = hk_text_read(self->source, &bytes, &status);
    if (hk_status_print(status, stderr))
        return false;
    self->vocabulary =
        hk_vocabulary_create(text, bytes, &(hk_vocabulary_options){.letters_only = true});
    self->classes = hk_vocabulary_size(self->vocabulary);
    hk_array *tokens = hk_vocabulary_encode(self->vocabulary, text, bytes);
    free(text);
    return !hk_status_print(hk_wait(tokens), stderr) && cut(self, tokens, length);
}

void training_data_deinit(training_data *self)
{
    hk_data_set_release(self->train);
    hk_data_set_release(self->test);
    hk_vocabulary_release(self->vocabulary);
}
