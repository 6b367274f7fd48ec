/* The transformer (Vaswani et al. 2017), as the book builds it: an encoder that reads all of a text at once, and a decoder that writes
 * another, where each position sees those before it, and all that was read. Inputs: the source's tokens (n, s), and those written so
 * far (n, t); or both as one, (n, 2, t). Scores (n, t, classes) of what follows each. */
#include "models/models.h"

enum { HEADS = 4, DEPTH = 2, WIDER = 4 };

/* ---- blocks ---------------------------------------------------------------------------------------------- */

/* norm(x + y) */
static hk_array *add_norm(hk_module *self, const char *norm, hk_array *x, hk_array *y)
{
    return hk_forward(hk_module_child(self, norm), hk_add(x, y));
}

/* x, and what the positions of y say to those of x. */
static hk_array *encoder_block(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = inputs[0];
    (void)count;
    x = add_norm(self, "norm", x, hk_forward(hk_module_child(self, "attention"), x));
    return add_norm(self, "mlp_norm", x, hk_forward(hk_module_child(self, "mlp"), x));
}

/* Of what was written so far, and what was read. */
static hk_array *decoder_block(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *y = inputs[0], *read = inputs[1];
    (void)count;
    y = add_norm(self, "norm", y, hk_forward(hk_module_child(self, "attention"), y));
    hk_array *seen =
        hk_forward_all(hk_module_child(self, "look"), (hk_array *[]){y, read, read}, 3);
    y = add_norm(self, "look_norm", y, seen);
    return add_norm(self, "mlp_norm", y, hk_forward(hk_module_child(self, "mlp"), y));
}

static hk_module *block(int64_t features, bool is_decoder)
{
    hk_module *self = is_decoder ? hk_module_create("decoder_block", decoder_block, NULL, 0)
                                 : hk_module_create("encoder_block", encoder_block, NULL, 0);
    hk_module_add(self, "attention", hk_attention_layer(features, HEADS, is_decoder));
    hk_module_add(self, "norm", hk_layer_norm_layer(0));
    if (is_decoder) {
        hk_module_add(self, "look", hk_attention_layer(features, HEADS, false));
        hk_module_add(self, "look_norm", hk_layer_norm_layer(0));
    }
    hk_module_add(self, "mlp",
                  hk_sequential(hk_linear_layer(WIDER * features, NULL), model_relu(),
                                hk_linear_layer(features, NULL)));
    hk_module_add(self, "mlp_norm", hk_layer_norm_layer(0));
    return self;
}

static hk_module *blocks(int64_t features, int64_t depth, bool is_decoder)
{
    hk_module *self = hk_sequential_of(NULL, 0);
    for (int64_t i = 0; i < depth; i++) {
        char name[24];
        snprintf(name, sizeof name, "%d", (int)i);
        hk_module_add(self, name, block(features, is_decoder));
    }
    return self;
}

/* ---- the network ----------------------------------------------------------------------------------------- */

/* Embeddings are of about the size of positions from the start, so that nothing scales them. */
static hk_array *transformer_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *x = count > 1 ? inputs[0] : hk_index(inputs[0], 1, 0);
    hk_array *y = count > 1 ? inputs[1] : hk_index(inputs[0], 1, 1);
    hk_module *decoder = hk_module_child(self, "decoder"), *its;
    x = hk_forward(hk_module_child(self, "encoder"),
                   hk_forward(hk_module_child(self, "embedding"), x));
    y = hk_forward(hk_module_child(self, "embedding"), y);
    for (int i = 0; (its = hk_module_child_at(decoder, i)); i++)
        y = hk_forward_all(its, (hk_array *[]){y, x}, 2);
    return hk_forward(hk_module_child(self, "output"), y);
}

hk_module *model_transformer(const model_options *options)
{
    const int64_t features = HEADS * model_channels(options, 64);
    const int64_t depth = options->depth ? options->depth : DEPTH;
    hk_module *self = hk_module_create("transformer", transformer_forward, NULL, 0);
    hk_module_add(self, "embedding",
                  hk_sequential(hk_embedding_layer(options->classes, features),
                                hk_sinusoidal_positions_layer()));
    hk_module_add(self, "encoder", blocks(features, depth, false));
    hk_module_add(self, "decoder", blocks(features, depth, true));
    hk_module_add(self, "output", hk_linear_layer(options->classes, NULL));
    return self;
}
