/* Llama (Touvron et al. 2023), as transformers has it: tokens (n, t) to scores of what follows each, (n, t, vocabulary). Positions
 * turn queries and keys by angles (Su et al. 2021); several queries may share a key. */
#include "models/published.h"

#include <math.h>
#include <stdlib.h>

typedef struct sizes {
    int64_t layers, features, heads, key_heads, hidden, vocabulary;
    double eps, base;
} sizes;

static const hk_linear_layer_options without_bias = {.no_bias = true};

/* Cosines and sines of position p and pair i of features, (t, features of a head): what stands in the first half is turned with
 * what stands in the second. */
static hk_array *turns(const sizes *its, int64_t t, bool is_sine, hk_array *like)
{
    const int64_t size = its->features / its->heads, half = size / 2;
    float *values = malloc((size_t)(t * size) * sizeof *values);
    for (int64_t p = 0; values && p < t; p++)
        for (int64_t i = 0; i < half; i++) {
            const float angle = (float)p * (float)pow(its->base, -2.0 * (double)i / (double)size);
            values[p * size + i] = values[p * size + half + i] =
                is_sine ? sinf(angle) : cosf(angle);
        }
    hk_array *made = hk_from_host(values, hk_shape(t, size), HK_F32, hk_array_device(like));
    free(values);
    return made;
}

/* x (n, heads, t, size). */
static hk_array *turned(hk_array *x, hk_array *cosines, hk_array *sines)
{
    const int64_t size = hk_dim(x, 3);
    hk_array *halves[] = {hk_negative(hk_slice(x, 3, size / 2, size)), hk_slice(x, 3, 0, size / 2)};
    return hk_add(hk_multiply(x, cosines), hk_multiply(hk_concat(halves, 2, 3), sines));
}

static hk_array *heads_of(hk_module *self, const char *name, hk_array *x, int64_t heads)
{
    const sizes *its = hk_module_options(self);
    x = published_call(self, name, x);
    x = hk_reshape(x, hk_shape(hk_dim(x, 0), hk_dim(x, 1), heads, its->features / its->heads));
    return hk_permute_dims(x, hk_shape(0, 2, 1, 3));
}

/* (n, key heads, t, size) to (n, heads, t, size): each one as many times as queries share it. */
static hk_array *shared(const sizes *its, hk_array *x)
{
    const int64_t n = hk_dim(x, 0), t = hk_dim(x, 2), size = hk_dim(x, 3);
    const int64_t times = its->heads / its->key_heads;
    if (times == 1)
        return x;
    x = hk_broadcast_to(hk_expand_dims(x, 2), hk_shape(n, its->key_heads, times, t, size));
    return hk_reshape(x, hk_shape(n, its->heads, t, size));
}

static hk_array *attention_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const sizes *its = hk_module_options(self);
    hk_array *x = inputs[0];
    const int64_t n = hk_dim(x, 0), t = hk_dim(x, 1);
    hk_array *cosines = turns(its, t, false, x), *sines = turns(its, t, true, x);
    (void)count;
    hk_array *query = turned(heads_of(self, "q_proj", x, its->heads), cosines, sines);
    hk_array *key = turned(heads_of(self, "k_proj", x, its->key_heads), cosines, sines);
    hk_array *value = heads_of(self, "v_proj", x, its->key_heads);
    hk_array *y =
        hk_scaled_dot_product_attention(query, shared(its, key), shared(its, value), NULL,
                                        &(hk_scaled_dot_product_attention_options){.causal = true});
    y = hk_reshape(hk_permute_dims(y, hk_shape(0, 2, 1, 3)), hk_shape(n, t, its->features));
    return published_call(self, "o_proj", y);
}

static hk_array *mlp_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *gate = hk_silu(published_call(self, "gate_proj", inputs[0]));
    (void)count;
    return published_call(self, "down_proj",
                          hk_multiply(gate, published_call(self, "up_proj", inputs[0])));
}

static hk_array *block_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = inputs[0];
    (void)count;
    x = hk_add(x, published_call(self, "self_attn", published_call(self, "input_layernorm", x)));
    return hk_add(x,
                  published_call(self, "mlp", published_call(self, "post_attention_layernorm", x)));
}

static hk_module *block(const sizes *its)
{
    const int64_t keys = its->features / its->heads * its->key_heads;
    hk_module *attention =
        PUBLISHED_ADD(hk_module_create("attention_of_llama", attention_forward, its, sizeof *its),
                      {"q_proj", hk_linear_layer(its->features, &without_bias)},
                      {"k_proj", hk_linear_layer(keys, &without_bias)},
                      {"v_proj", hk_linear_layer(keys, &without_bias)},
                      {"o_proj", hk_linear_layer(its->features, &without_bias)});
    hk_module *mlp = PUBLISHED_ADD(hk_module_create("gated_mlp", mlp_forward, NULL, 0),
                                   {"gate_proj", hk_linear_layer(its->hidden, &without_bias)},
                                   {"up_proj", hk_linear_layer(its->hidden, &without_bias)},
                                   {"down_proj", hk_linear_layer(its->features, &without_bias)});
    return PUBLISHED_ADD(hk_module_create("block", block_forward, NULL, 0),
                         {"self_attn", attention}, {"mlp", mlp},
                         {"input_layernorm", hk_rms_norm_layer(its->eps)},
                         {"post_attention_layernorm", hk_rms_norm_layer(its->eps)});
}

hk_module *published_llama(const published_options *options)
{
    static const published_options usual = {0};
    const published_options *of = options ? options : &usual;
    sizes its = {.layers = published_or(of->layers, 32),
                 .features = published_or(of->features, 4096),
                 .heads = published_or(of->heads, 32),
                 .hidden = published_or(of->hidden, 11008),
                 .vocabulary = published_or(of->vocabulary, 32000),
                 .eps = of->eps > 0 ? of->eps : 1e-6,
                 .base = of->base > 0 ? of->base : 10000};
    its.key_heads = published_or(of->key_heads, its.heads);
    hk_module *layers = hk_sequential_of(NULL, 0);
    for (int64_t i = 0; i < its.layers; i++)
        published_append(layers, block(&its));
    hk_module *model =
        PUBLISHED_SEQUENCE({"embed_tokens", hk_embedding_layer(its.vocabulary, its.features)},
                           {"layers", layers}, {"norm", hk_rms_norm_layer(its.eps)});
    return PUBLISHED_SEQUENCE({"model", model},
                              {"lm_head", hk_linear_layer(its.vocabulary, &without_bias)});
}
