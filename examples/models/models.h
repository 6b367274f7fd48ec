/* Networks of Dive into Deep Learning, and two of later years, a file each: what `hocket models` lists and `hocket train` trains.
 *
 *     hk_module *net = model_find("resnet18")->create(&(model_options){.classes = 10});
 *     hk_array *scores = hk_forward(net, images);      images (n, channels, side, side), scores (n, classes)
 *     hk_array *scores = hk_forward(net, tokens);      of language models: tokens (n, t), scores (n, t, classes)
 *     hk_array *scores = hk_forward(net, pairs);       where has_pairs: tokens (n, 2, t)
 *
 * Parameters are made at the first call. The result of create belongs to the caller, and is never NULL. */
#ifndef HOCKET_EXAMPLES_MODELS_H
#define HOCKET_EXAMPLES_MODELS_H

#include <hocket/hocket.h>

typedef struct model_options {
    int64_t classes; /* of images; of language models tokens of the vocabulary */
    double
        width; /* how wide it is beside the published one, 0 to 1; 0: 1. For small machines, and tests */
    int64_t depth; /* blocks of transformers; 0: the usual number */
    int64_t steps; /* the longest text of a transformer; 0: 64 */
} model_options;

typedef struct model_kind {
    const char *name, *title;
    hk_module *(*create)(const model_options *options);
    int64_t
        size; /* of the book's images, rows and columns; of language models the length of samples */
    int64_t least_size; /* of images that it can take */
    bool is_language;
    double lr;      /* that plain gradient descent does well with */
    bool has_pairs; /* samples are two texts, (2, t): what is read, and what was written so far */
} model_kind;

extern const model_kind models[];
enum { MODEL_COUNT = 16 };
/* NULL where there is none of that name. */
const model_kind *model_find(const char *name);

hk_module *model_softmax(const model_options *options);
hk_module *model_mlp(const model_options *options);
hk_module *model_lenet5(const model_options *options);
hk_module *model_alexnet(const model_options *options);
hk_module *model_vgg11(const model_options *options);
hk_module *model_nin(const model_options *options);
hk_module *model_googlenet(const model_options *options);
hk_module *model_resnet18(const model_options *options);
hk_module *model_densenet(const model_options *options);
hk_module *model_vit(const model_options *options);
hk_module *model_rnn(const model_options *options);
hk_module *model_gru(const model_options *options);
hk_module *model_lstm(const model_options *options);
hk_module *model_gpt(const model_options *options);
hk_module *model_seq2seq(const model_options *options);
hk_module *model_transformer(const model_options *options);

/* ---- what several of them are made of ------------------------------------------------------------------ */

/* So many channels, of that width, at least one. */
int64_t model_channels(const model_options *options, int64_t channels);
/* hk_relu. */
hk_module *model_relu(void);
/* A convolution with so many zeros around; and with relu behind it. */
hk_module *model_conv(int64_t channels, int64_t size, int64_t stride, int64_t padding);
hk_module *model_conv_relu(int64_t channels, int64_t size, int64_t stride, int64_t padding);
/* What children (taken) make of one input, side by side along axis 1. */
hk_module *model_branches(hk_module *const *children, int count);
/* x + attention(norm(x)), then x + mlp(norm(x)): a block of a transformer that norms first (Xiong et al. 2020). */
hk_module *model_transformer_block(int64_t features, int64_t heads, bool causal);

#endif
