/* A block of a transformer, as in Dive into Deep Learning, "The Transformer Architecture", from operators: it learns to write a
 * row of numbers backwards. usage: transformer [STEPS]; 150 by default. */
#include <hocket/hocket.h>
#include <stdlib.h>

enum { TOKENS = 10, LENGTH = 8, FEATURES = 32, HEADS = 4, BATCH = 32, MOST = 32 };

typedef struct net {
    hk_module *embedding, *places, *attention, *first_norm, *mlp, *second_norm, *output;
} net;

static hk_array *forward(const net *self, hk_array *tokens)
{
    hk_array *x = hk_forward(self->places, hk_forward(self->embedding, tokens));
    x = hk_forward(self->first_norm, hk_add(x, hk_forward(self->attention, x)));
    x = hk_forward(self->second_norm, hk_add(x, hk_forward(self->mlp, x)));
    return hk_reshape(hk_forward(self->output, x), hk_shape(-1, TOKENS));
}

static hk_array *draw(void)
{
    return hk_random_int(0, TOKENS, hk_shape(BATCH, LENGTH), HK_I64, (hk_device){NULL});
}

/* What is to be written: the row backwards, all rows one after the other. */
static hk_array *answers(hk_array *tokens)
{
    return hk_reshape(hk_flip(tokens, 1), hk_shape(-1));
}

static double train_step(const net *self, hk_optimizer *adam, bool tells)
{
    HK_SCOPE;
    hk_array *tokens = draw();
    hk_record_begin();
    hk_array *loss =
        hk_mean(hk_softmax_cross_entropy(forward(self, tokens), answers(tokens)), NULL);
    hk_record_end();
    hk_backward(loss);
    hk_optimizer_step(adam);
    return tells ? hk_item(loss, NULL) : 0;
}

int main(int count, char **arguments)
{
    const int steps = count > 1 ? atoi(arguments[1]) : 150;
    HK_SCOPE;
    hk_seed(1);
    const net self = {
        .embedding = hk_embedding_layer(TOKENS, FEATURES),
        .places = hk_learned_positions_layer(LENGTH),
        .attention = hk_attention_layer(FEATURES, HEADS, false),
        .first_norm = hk_layer_norm_layer(0),
        .mlp = hk_sequential(hk_linear_layer(2 * FEATURES, NULL),
                             hk_operator_layer("gelu", NULL, 0), hk_linear_layer(FEATURES, NULL)),
        .second_norm = hk_layer_norm_layer(0),
        .output = hk_linear_layer(TOKENS, NULL),
    };
    hk_module *const parts[] = {self.embedding,   self.places, self.attention, self.first_norm,
                                self.second_norm, self.mlp,    self.output};
    const int part_count = sizeof parts / sizeof *parts;
    hk_array *params[MOST];
    int param_count = 0;
    forward(&self, draw()); /* makes the parameters */
    for (int i = 0; i < part_count; i++)
        param_count += hk_module_parameters(parts[i], params + param_count, MOST - param_count);
    hk_optimizer *adam =
        hk_optimizer_create("adam", params, param_count, &(hk_optimizer_options){.lr = 0.01});
    for (int step = 1; step <= steps; step++) {
        const bool tells = step % 50 == 0;
        const double loss = train_step(&self, adam, tells);
        if (tells)
            printf("step %3d: loss %.4f\n", step, loss);
    }
    hk_array *tokens = draw();
    hk_array *right = hk_equal(hk_argmax(forward(&self, tokens), 1), answers(tokens));
    const double share = hk_item(hk_mean(hk_cast(right, HK_F32), NULL), NULL);
    printf("%.0f %% of the numbers are right\n", 100 * share);
    hk_optimizer_release(adam);
    for (int i = 0; i < part_count; i++)
        hk_module_release(parts[i]);
    return hk_status_print(hk_wait_all(), stderr);
}
