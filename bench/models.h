/* The models of bench_models, of public calls only: parameters, initial values, forward pass.
 *
 *     mlp       784 - 256 - 10, relu
 *     lenet     convolution 20 of 3x3, relu, average pool 2x2; convolution 50 of 5x5, relu, average pool
 *               2x2; dense 128, relu, dense 10
 *     resnet18  that of Dive into Deep Learning, "Concise Implementation for Multiple GPUs": convolution 64 of
 *               3x3 with padding 1, batch normalisation, relu; four stages of two residual blocks of 64, 128,
 *               256 and 512 channels; global average pooling, dense 10
 *
 * for images (n,1,28,28). A parameter's number is its place in the forward pass: p0.bin … in a folder. */
#ifndef HOCKET_BENCH_MODELS_H
#define HOCKET_BENCH_MODELS_H

#include <hocket/hocket.h>

enum { MODEL_MAX_PARAMETERS = 80, MODEL_MAX_AVERAGES = 40 };

typedef struct model model;

typedef struct model_kind {
    const char *name;
    void (*describe)(model *self); /* calls model_add and model_add_averages */
    /* Scores (n,10). Training: batch normalisation by the batch's statistics. */
    hk_array *(*forward)(const model *self, hk_array *images, bool training);
} model_kind;

struct model {
    const model_kind *kind;
    int count, average_count;
    hk_dims shapes[MODEL_MAX_PARAMETERS];
    bool is_scale[MODEL_MAX_PARAMETERS];    /* a normalisation's gamma: 1 at first */
    hk_array *params[MODEL_MAX_PARAMETERS]; /* counted, gradients attached */
    int64_t average_channels[MODEL_MAX_AVERAGES];
    hk_array *averages[MODEL_MAX_AVERAGES]; /* counted: mean and variance of each normalisation */
};

extern const model_kind model_mlp, model_lenet, model_resnet18;

/* NULL: no such model. */
const model_kind *model_find(const char *name);

/* Parameters of a kind on a device: Glorot uniform weights, biases 0, from the seed; or, with a folder, as
 * its files say. False, and printed, when these cannot be read. */
bool model_init(model *self, const model_kind *kind, hk_device device, const char *folder);
void model_deinit(model *self);
/* Writes the files; the folder must exist. Blocks. False, and printed, on failure. */
bool model_dump(const model *self, const char *folder);

/* For describe. */
void model_add(model *self, hk_dims shape, bool is_scale);
void model_add_averages(model *self, int64_t channels);

#endif
