/* Encoder and decoder with attention (Luong et al. 2015): what comes next follows from what was written, and from where the decoder
 * looks in what was read. Inputs: the source's tokens (n, s), and those written so far (n, t); or both as one, (n, 2, t). Scores
 * (n, t, classes) of what follows each. */
#include "models/models.h"

static hk_array *seq2seq_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *source = count > 1 ? inputs[0] : hk_index(inputs[0], 1, 0);
    hk_array *written = count > 1 ? inputs[1] : hk_index(inputs[0], 1, 1);
    source = hk_forward(hk_module_child(self, "embedding"), source);
    written = hk_forward(hk_module_child(self, "embedding"), written);
    hk_array *read = hk_forward(hk_module_child(self, "encoder"), source);
    hk_array *last = hk_index(read, 1, hk_dim(read, 1) - 1); /* the decoder begins with it */
    hk_array *states =
        hk_forward_all(hk_module_child(self, "decoder"), (hk_array *[]){written, last}, 2);
    hk_array *seen = hk_scaled_dot_product_attention(states, read, read, NULL, NULL);
    hk_array *both = hk_concat((hk_array *[]){states, seen}, 2, 2);
    return hk_forward(hk_module_child(self, "output"), both);
}

hk_module *model_seq2seq(const model_options *options)
{
    const int64_t units = model_channels(options, 256);
    hk_module *self = hk_module_create("seq2seq", seq2seq_forward, NULL, 0);
    hk_module_add(self, "embedding",
                  hk_embedding_layer(options->classes, model_channels(options, 64)));
    hk_module_add(self, "encoder", hk_recurrent_layer(HK_RECURRENT_GRU, units, false));
    hk_module_add(self, "decoder", hk_recurrent_layer(HK_RECURRENT_GRU, units, false));
    hk_module_add(self, "output",
                  hk_sequential(hk_linear_layer(units, NULL), hk_operator_layer("tanh", NULL, 0),
                                hk_linear_layer(options->classes, NULL)));
    return self;
}
