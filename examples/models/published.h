/* Networks in the form, and under the names of arrays, in which torchvision and Hugging Face's transformers publish their weights:
 *
 *     const published_network *kind = published_find("resnet50");
 *     hk_module *net = kind->create(NULL);
 *     hk_status_print(published_load(kind, net, "resnet50.pth"), stderr);
 *     hk_module_set_training(net, false);
 *     hk_array *scores = hk_forward(net, images);      images (n, 3, h, w), scores (n, classes)
 *     hk_array *scores = hk_forward(net, tokens);      tokens (n, t): what the network says of each, see its file
 *
 * The result of create belongs to the caller, and is never NULL. What those libraries add for training alone, such as outputs in
 * between, is left out. */
#ifndef HOCKET_EXAMPLES_PUBLISHED_H
#define HOCKET_EXAMPLES_PUBLISHED_H

#include <hocket/hocket.h>

/* 0: what the usual one of that name has. */
typedef struct published_options {
    int64_t classes;                                    /* of images */
    int64_t layers, features, heads, key_heads, hidden; /* of transformers */
    int64_t vocabulary, positions;
    double eps, base; /* base: of the angles of positions */
} published_options;

typedef struct published_network {
    const char *name, *title;
    hk_module *(*create)(const published_options *options); /* options may be NULL */
    bool is_language;
    int64_t parameters; /* of the usual one; 0: not compared */
    const hk_rename
        *renames; /* what files call otherwise, or have besides, up to NULL; NULL: nothing */
} published_network;

enum { PUBLISHED_COUNT = 23 };
extern const published_network published[PUBLISHED_COUNT];
/* NULL where there is none of that name. */
const published_network *published_find(const char *name);
/* hk_module_load of a file of that network's weights. */
const hk_status *published_load(const published_network *kind, hk_module *net, const char *path);

/* ---- what they are made of ------------------------------------------------------------------------------- */

typedef struct published_part {
    const char *name;
    hk_module *module; /* taken; NULL: left out */
} published_part;

/* Adds them to the module, and returns it. */
hk_module *published_add(hk_module *self, const published_part *parts, int count);
#define PUBLISHED_ADD(self, ...)                                                                   \
    published_add(self, (const published_part[]){__VA_ARGS__},                                     \
                  (int)(sizeof((const published_part[]){__VA_ARGS__}) / sizeof(published_part)))
/* One after another, by these names. */
#define PUBLISHED_SEQUENCE(...) PUBLISHED_ADD(hk_sequential_of(NULL, 0), __VA_ARGS__)
/* Adds a part to a sequence, by the next number. */
void published_append(hk_module *sequence, hk_module *part);
/* What a child makes of x. */
hk_array *published_call(hk_module *self, const char *child, hk_array *x);

int64_t published_or(int64_t given, int64_t usual);
int64_t published_classes(const published_options *options);
/* An operator without parameters or options. */
hk_module *published_function(const char *name);
/* Without a bias, and so padded that a stride of 1 keeps the size. groups 0: 1. */
hk_module *published_conv(int64_t channels, int64_t size, int64_t stride, int64_t groups);
/* The same, batch norm, and a function, NULL: none, as 0, 1 and 2. */
hk_module *published_conv_norm(int64_t channels, int64_t size, int64_t stride, int64_t groups,
                               double eps, hk_module *function);

hk_module *published_resnet(const published_options *options, bool is_deep, const int counts[4]);
hk_module *published_vgg(const published_options *options, const int counts[5]);
hk_module *published_densenet(const published_options *options, const int counts[4]);
hk_module *published_alexnet(const published_options *options);
hk_module *published_googlenet(const published_options *options);
hk_module *published_mobilenet_v2(const published_options *options);
hk_module *published_mobilenet_v3_small(const published_options *options);
hk_module *published_mobilenet_v3_large(const published_options *options);
hk_module *published_efficientnet_b0(const published_options *options);
hk_module *published_convnext_tiny(const published_options *options);
hk_module *published_vit_b_16(const published_options *options);
hk_module *published_gpt2(const published_options *options);
hk_module *published_bert(const published_options *options);
hk_module *published_llama(const published_options *options);

#endif
