/* A transformer that reads from left to right (Radford et al. 2019), small: each token sees those before it. */
#include "models/models.h"

enum { HEADS = 4, DEPTH = 4, STEPS = 64 };

static const hk_init small = {.kind = HK_INIT_NORMAL, .value = 0.02};

/* (n, t, features), with what stands for the place of each token added. */
static hk_array *place_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const int64_t *steps = hk_module_options(self);
    hk_array *x = inputs[0];
    hk_array *places =
        hk_module_parameter(self, "places", hk_shape(*steps, hk_dim(x, -1)), &small, x);
    (void)count;
    hk_array *at = hk_cache_positions();
    return hk_add(x, at ? hk_expand_dims(hk_index_select(places, at, 0), 1)
                        : hk_slice(places, 0, 0, hk_dim(x, 1)));
}

hk_module *model_gpt(const model_options *options)
{
    const int64_t features = HEADS * model_channels(options, 32);
    const int64_t depth = options->depth ? options->depth : DEPTH;
    const int64_t steps = options->steps ? options->steps : STEPS;
    hk_module *blocks = hk_sequential_of(NULL, 0);
    for (int64_t i = 0; i < depth; i++) {
        char name[24];
        snprintf(name, sizeof name, "%d", (int)i);
        hk_module_add(blocks, name, model_transformer_block(features, HEADS, true));
    }
    hk_module *net =
        hk_sequential(hk_embedding_layer(options->classes, features),
                      hk_module_create("places", place_forward, &steps, sizeof steps), blocks,
                      hk_layer_norm_layer(0), hk_linear_layer(options->classes, NULL));
    hk_module_initialize(net, &small);
    return net;
}
