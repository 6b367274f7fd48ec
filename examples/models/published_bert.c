/* BERT (Devlin et al. 2018), as transformers has it: tokens (n, t), all of one segment and none of them padding, to what stands for
 * each, (n, t, features). Files of the whole have "bert." before these names; the pooler is called for its arrays to be there. */
#include "models/published.h"

typedef struct sizes {
    int64_t layers, features, heads, hidden, vocabulary, positions;
    double eps;
} sizes;

static hk_array *embeddings_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *tokens = inputs[0];
    (void)count;
    const hk_device device = hk_array_device(tokens);
    hk_array *places = hk_arange(0, (double)hk_dim(tokens, 1), 1, HK_I64, device);
    hk_array *segment = hk_zeros(hk_shape(1), HK_I64, device);
    hk_array *x = hk_add(published_call(self, "word_embeddings", tokens),
                         published_call(self, "position_embeddings", places));
    x = hk_add(x, published_call(self, "token_type_embeddings", segment));
    return published_call(self, "LayerNorm", x);
}

static hk_array *heads_of(hk_module *self, const char *name, hk_array *x)
{
    const sizes *its = hk_module_options(self);
    x = published_call(self, name, x);
    x = hk_reshape(x, hk_shape(hk_dim(x, 0), hk_dim(x, 1), its->heads, its->features / its->heads));
    return hk_permute_dims(x, hk_shape(0, 2, 1, 3));
}

static hk_array *attention_forward(hk_module *self, hk_array *const *inputs, int count)
{
    const sizes *its = hk_module_options(self);
    hk_array *x = inputs[0];
    (void)count;
    hk_array *y =
        hk_scaled_dot_product_attention(heads_of(self, "query", x), heads_of(self, "key", x),
                                        heads_of(self, "value", x), NULL, NULL);
    y = hk_permute_dims(y, hk_shape(0, 2, 1, 3));
    return hk_reshape(y, hk_shape(hk_dim(x, 0), hk_dim(x, 1), its->features));
}

/* Inputs: what was computed, and what it is added to. */
static hk_array *output_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return published_call(self, "LayerNorm",
                          hk_add(published_call(self, "dense", inputs[0]), inputs[1]));
}

static hk_module *output(const sizes *its)
{
    return PUBLISHED_ADD(hk_module_create("output", output_forward, NULL, 0),
                         {"dense", hk_linear_layer(its->features, NULL)},
                         {"LayerNorm", hk_layer_norm_layer(its->eps)});
}

static hk_array *add_output(hk_module *self, hk_array *x, hk_array *to)
{
    return hk_forward_all(hk_module_child(self, "output"), (hk_array *const[]){x, to}, 2);
}

static hk_array *attended_forward(hk_module *self, hk_array *const *inputs, int count)
{
    (void)count;
    return add_output(self, published_call(self, "self", inputs[0]), inputs[0]);
}

static hk_array *layer_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = published_call(self, "attention", inputs[0]);
    (void)count;
    return add_output(self, published_call(self, "intermediate", x), x);
}

static hk_module *layer(const sizes *its)
{
    hk_module *heads =
        PUBLISHED_ADD(hk_module_create("attention_of_bert", attention_forward, its, sizeof *its),
                      {"query", hk_linear_layer(its->features, NULL)},
                      {"key", hk_linear_layer(its->features, NULL)},
                      {"value", hk_linear_layer(its->features, NULL)});
    hk_module *attention = PUBLISHED_ADD(hk_module_create("attended", attended_forward, NULL, 0),
                                         {"self", heads}, {"output", output(its)});
    hk_module *intermediate = PUBLISHED_SEQUENCE({"dense", hk_linear_layer(its->hidden, NULL)},
                                                 {"act", published_function("gelu")});
    return PUBLISHED_ADD(hk_module_create("layer", layer_forward, NULL, 0),
                         {"attention", attention}, {"intermediate", intermediate},
                         {"output", output(its)});
}

static hk_array *bert_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = published_call(self, "encoder", published_call(self, "embeddings", inputs[0]));
    (void)count;
    published_call(self, "pooler", hk_index(x, 1, 0));
    return x;
}

hk_module *published_bert(const published_options *options)
{
    static const published_options usual = {0};
    const published_options *of = options ? options : &usual;
    const sizes its = {.layers = published_or(of->layers, 12),
                       .features = published_or(of->features, 768),
                       .heads = published_or(of->heads, 12),
                       .hidden = published_or(of->hidden, 3072),
                       .vocabulary = published_or(of->vocabulary, 30522),
                       .positions = published_or(of->positions, 512),
                       .eps = of->eps > 0 ? of->eps : 1e-12};
    hk_module *layers = hk_sequential_of(NULL, 0);
    for (int64_t i = 0; i < its.layers; i++)
        published_append(layers, layer(&its));
    hk_module *embeddings =
        PUBLISHED_ADD(hk_module_create("embeddings", embeddings_forward, NULL, 0),
                      {"word_embeddings", hk_embedding_layer(its.vocabulary, its.features)},
                      {"position_embeddings", hk_embedding_layer(its.positions, its.features)},
                      {"token_type_embeddings", hk_embedding_layer(2, its.features)},
                      {"LayerNorm", hk_layer_norm_layer(its.eps)});
    return PUBLISHED_ADD(
        hk_module_create("bert", bert_forward, NULL, 0), {"embeddings", embeddings},
        {"encoder", PUBLISHED_SEQUENCE({"layer", layers})},
        {"pooler", PUBLISHED_SEQUENCE({"dense", hk_linear_layer(its.features, NULL)},
                                      {"activation", published_function("tanh")})});
}
