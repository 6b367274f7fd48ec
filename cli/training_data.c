#include "training_data.h"

#include "number_words.h"

#include <stdlib.h>

enum { TRAIN_PAIRS = 20000, TEST_PAIRS = 2000 };

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

/* count pairs from numbers drawn anew by that seed: x (count, 2, steps), y (count, steps). */
static hk_data_set *number_pairs(int64_t count, uint64_t seed)
{
    HK_SCOPE;
    const size_t steps = NUMBER_WORDS_STEPS;
    int32_t *x = malloc((size_t)count * 2 * steps * sizeof *x),
            *y = malloc((size_t)count * steps * sizeof *y);
    for (int64_t i = 0; i < count && x && y; i++) {
        int32_t *pair = x + (size_t)i * 2 * steps;
        number_words_make(number_words_draw(&seed), pair, pair + steps, y + (size_t)i * steps);
    }
    hk_array *arrays[2] = {NULL, NULL};
    if (x && y) {
        arrays[0] = hk_from_host(x, hk_shape(count, 2, NUMBER_WORDS_STEPS), HK_I32, (hk_device){0});
        arrays[1] = hk_from_host(y, hk_shape(count, NUMBER_WORDS_STEPS), HK_I32, (hk_device){0});
    }
    free(x);
    free(y);
    return hk_data_set_of_arrays(arrays, 2);
}

bool training_data_numbers(training_data *self)
{
    self->train = number_pairs(TRAIN_PAIRS, 1);
    self->test = number_pairs(TEST_PAIRS, 2);
    self->source = "numbers in words";
    self->classes = NUMBER_WORDS_TOKENS;
    return !hk_status_print(hk_data_set_status(self->train), stderr) &&
           !hk_status_print(hk_data_set_status(self->test), stderr);
}

void training_data_deinit(training_data *self)
{
    hk_data_set_release(self->train);
    hk_data_set_release(self->test);
    hk_vocabulary_release(self->vocabulary);
}
