/* ViT-B/16 (Dosovitskiy et al. 2021), as torchvision has it, for images of 224 x 224. */
#include "models/published.h"

#include <stdio.h>

enum { PATCH = 16, FEATURES = 768, HEADS = 12, LAYERS = 12, HIDDEN = 3072 };
#define EPS 1e-6

static const hk_init small = {.kind = HK_INIT_NORMAL, .value = 0.02};

static hk_array *layer_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = inputs[0];
    (void)count;
    x = hk_add(x, published_call(self, "self_attention", published_call(self, "ln_1", x)));
    return hk_add(x, published_call(self, "mlp", published_call(self, "ln_2", x)));
}

static hk_module *layer(void)
{
    hk_module *mlp = hk_sequential(hk_linear_layer(HIDDEN, NULL), published_function("gelu"),
                                   hk_dropout_layer(0), hk_linear_layer(FEATURES, NULL));
    return PUBLISHED_ADD(hk_module_create("encoder_layer", layer_forward, NULL, 0),
                         {"ln_1", hk_layer_norm_layer(EPS)},
                         {"self_attention", hk_attention_layer(FEATURES, HEADS, false)},
                         {"ln_2", hk_layer_norm_layer(EPS)}, {"mlp", mlp});
}

static hk_array *encoder_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = inputs[0];
    (void)count;
    x = hk_add(x, hk_module_parameter(self, "pos_embedding", hk_shape(1, hk_dim(x, 1), FEATURES),
                                      &small, x));
    return published_call(self, "ln", published_call(self, "layers", x));
}

/* Patches become rows; the row before them is for the class. */
static hk_array *vit_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = published_call(self, "conv_proj", inputs[0]);
    const int64_t n = hk_dim(x, 0);
    (void)count;
    x = hk_permute_dims(hk_reshape(x, hk_shape(n, FEATURES, -1)), hk_shape(0, 2, 1));
    hk_array *first = hk_module_parameter(self, "class_token", hk_shape(1, 1, FEATURES), &small, x);
    x = hk_concat((hk_array *const[]){hk_broadcast_to(first, hk_shape(n, 1, FEATURES)), x}, 2, 1);
    return published_call(self, "heads", hk_index(published_call(self, "encoder", x), 1, 0));
}

hk_module *published_vit_b_16(const published_options *options)
{
    hk_module *layers = hk_sequential_of(NULL, 0);
    for (int i = 0; i < LAYERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "encoder_layer_%d", i);
        hk_module_add(layers, name, layer());
    }
    hk_module *encoder = PUBLISHED_ADD(hk_module_create("encoder", encoder_forward, NULL, 0),
                                       {"layers", layers}, {"ln", hk_layer_norm_layer(EPS)});
    return PUBLISHED_ADD(
        hk_module_create("vit", vit_forward, NULL, 0),
        {"conv_proj",
         hk_conv2d_layer(FEATURES, PATCH, &(hk_conv2d_layer_options){.stride = {PATCH, PATCH}})},
        {"encoder", encoder},
        {"heads", PUBLISHED_SEQUENCE({"head", hk_linear_layer(published_classes(options), NULL)})});
}
