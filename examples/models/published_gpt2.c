/* GPT-2 (Radford et al. 2019), as transformers has it: tokens (n, t) to scores of what follows each, (n, t, vocabulary). The last
 * layer's weights are those of the first. Files of the whole have "transformer." before these names, and lm_head beside them. */
#include "models/published.h"

typedef struct sizes {
    int64_t layers, features, heads, vocabulary, positions;
    double eps;
} sizes;

/* Their linear layers have weights (in, out). */
static hk_array *conv1d_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const int64_t out = *(int64_t *)hk_module_options(self), in = hk_dim(inputs[0], -1);
    static const hk_init zeros = {.kind = HK_INIT_CONSTANT}, small = {HK_INIT_NORMAL, 0.02, 0};
    (void)count;
    hk_array *weight = hk_module_parameter(self, "weight", hk_shape(in, out), &small, inputs[0]);
    hk_array *bias = hk_module_parameter(self, "bias", hk_shape(out), &zeros, inputs[0]);
    return hk_add(hk_matmul(inputs[0], weight), bias);
}

static hk_module *conv1d(int64_t out)
{
    return hk_module_create("conv1d_of_gpt2", conv1d_forward, &out, sizeof out);
}

/* (n, t, features) as (n, heads, t, …): part of three. */
static hk_array *heads_of(hk_array *x, const sizes *its, int part)
{
    x = hk_slice(x, 2, part * its->features, (part + 1) * its->features);
    x = hk_reshape(x, hk_shape(hk_dim(x, 0), hk_dim(x, 1), its->heads, its->features / its->heads));
    return hk_permute_dims(x, hk_shape(0, 2, 1, 3));
}

static hk_array *attention_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const sizes *its = hk_module_options(self);
    hk_array *x = published_call(self, "c_attn", inputs[0]);
    (void)count;
    hk_array *y = hk_scaled_dot_product_attention(
        heads_of(x, its, 0), heads_of(x, its, 1), heads_of(x, its, 2), NULL,
        &(hk_scaled_dot_product_attention_options){.causal = true});
    y = hk_permute_dims(y, hk_shape(0, 2, 1, 3));
    return published_call(self, "c_proj",
                          hk_reshape(y, hk_shape(hk_dim(x, 0), hk_dim(x, 1), its->features)));
}

static hk_array *block_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = inputs[0];
    (void)count;
    x = hk_add(x, published_call(self, "attn", published_call(self, "ln_1", x)));
    return hk_add(x, published_call(self, "mlp", published_call(self, "ln_2", x)));
}

static hk_module *block(const sizes *its)
{
    hk_module *attention =
        PUBLISHED_ADD(hk_module_create("attention_of_gpt2", attention_forward, its, sizeof *its),
                      {"c_attn", conv1d(3 * its->features)}, {"c_proj", conv1d(its->features)});
    hk_module *mlp = PUBLISHED_SEQUENCE({"c_fc", conv1d(4 * its->features)},
                                        {"act", published_function("gelu_tanh")},
                                        {"c_proj", conv1d(its->features)});
    return PUBLISHED_ADD(hk_module_create("block", block_forward, NULL, 0),
                         {"ln_1", hk_layer_norm_layer(its->eps)}, {"attn", attention},
                         {"ln_2", hk_layer_norm_layer(its->eps)}, {"mlp", mlp});
}

static hk_array *gpt2_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *tokens = inputs[0];
    (void)count;
    hk_array *places = hk_arange(0, (double)hk_dim(tokens, 1), 1, HK_I64, hk_array_device(tokens));
    hk_array *x = hk_add(published_call(self, "wte", tokens), published_call(self, "wpe", places));
    x = published_call(self, "ln_f", published_call(self, "h", x));
    hk_module_entry words;
    hk_module_entries(hk_module_child(self, "wte"), &words, 1);
    return hk_linear(x, words.array, NULL);
}

hk_module *published_gpt2(const published_options *options)
{
    static const published_options usual = {0};
    const published_options *of = options ? options : &usual;
    const sizes its = {.layers = published_or(of->layers, 12),
                       .features = published_or(of->features, 768),
                       .heads = published_or(of->heads, 12),
                       .vocabulary = published_or(of->vocabulary, 50257),
                       .positions = published_or(of->positions, 1024),
                       .eps = of->eps};
    hk_module *blocks = hk_sequential_of(NULL, 0);
    for (int64_t i = 0; i < its.layers; i++)
        published_append(blocks, block(&its));
    return PUBLISHED_ADD(hk_module_create("gpt2", gpt2_forward, NULL, 0),
                         {"wte", hk_embedding_layer(its.vocabulary, its.features)},
                         {"wpe", hk_embedding_layer(its.positions, its.features)}, {"h", blocks},
                         {"ln_f", hk_layer_norm_layer(its.eps)});
}
