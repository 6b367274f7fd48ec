/* A vision transformer (Dosovitskiy et al. 2021) of the size ViT-Ti: patches of an image are read like words. */
#include "models/models.h"

enum { PATCH = 16, HEADS = 3, DEPTH = 12 };

static const hk_init small = {.kind = HK_INIT_NORMAL, .value = 0.02};

/* (n, channels, height, width) to (n, 1 + patches, features): a patch becomes a row; the row before them is for the class. */
static hk_array *embed_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = hk_forward(hk_module_child(self, "patches"), inputs[0]);
    const int64_t n = hk_dim(x, 0), features = hk_dim(x, 1);
    (void)count;
    x = hk_permute_dims(hk_reshape(x, hk_shape(n, features, -1)), hk_shape(0, 2, 1));
    hk_array *first = hk_module_parameter(self, "class", hk_shape(1, 1, features), &small, x);
    x = hk_concat((hk_array *[]){hk_broadcast_to(first, hk_shape(n, 1, features)), x}, 2, 1);
    return hk_add(
        x, hk_module_parameter(self, "positions", hk_shape(hk_dim(x, 1), features), &small, x));
}

static hk_module *embed(int64_t features)
{
    hk_module *self = hk_module_create("embed", embed_forward, NULL, 0);
    hk_module_add(self, "patches", model_conv(features, PATCH, PATCH, 0));
    return self;
}

static hk_array *first_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)self;
    (void)count;
    return hk_index(inputs[0], 1, 0);
}

hk_module *model_vit(const model_options *options)
{
    const int64_t features = HEADS * model_channels(options, 64);
    const int64_t depth = options->depth ? options->depth : DEPTH;
    hk_module *blocks = hk_sequential_of(NULL, 0);
    for (int64_t i = 0; i < depth; i++) {
        char name[24];
        snprintf(name, sizeof name, "%d", (int)i);
        hk_module_add(blocks, name, model_transformer_block(features, HEADS, false));
    }
    return hk_sequential(embed(features), blocks, hk_layer_norm_layer(0),
                         hk_module_create("first", first_forward, NULL, 0),
                         hk_linear_layer(options->classes, NULL));
}
