/* Recurrent layers one upon the other, in one direction or both. */
#include "base/source.h"
#include "nn/cache.h"
#include "nn/module.h"

#include "base/text.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

typedef struct stack {
    hk_recurrent_kind kind;
    int64_t features;
    hk_recurrent_stack_options options;
} stack;

/* Numbers of one layer's state in one direction. */
static int64_t state_size(const stack *its)
{
    return its->kind == HK_RECURRENT_LSTM ? 2 * its->features : its->features;
}

static int directions(const stack *its)
{
    return its->options.is_bidirectional ? 2 : 1;
}

/* Child `index`, of one layer and direction: its states at all steps. */
static hk_array *states_of(hk_module *self, int index, hk_array *x, hk_array *state,
                           hk_array *lengths)
{
    const stack *its = self->options;
    const int64_t size = state_size(its);
    hk_array *own = state ? (hk_slice)(state, 1, index * size, (index + 1) * size) : NULL;
    return (hk_forward_all)(hk_module_child_at(self, index), (hk_array *const[]){x, own, lengths},
                            3);
}

/* What the states say to the next layer: h, of steps that are the sample's. */
static hk_array *outputs_of(const stack *its, hk_array *states, hk_array *lengths)
{
    hk_array *h = (hk_slice)(states, 2, 0, its->features);
    if (!lengths)
        return h;
    hk_array *is_within = (hk_expand_dims)((hk_length_mask)(lengths, hk_dim(states, 1)), 2);
    return (hk_where)(is_within, h, (hk_zeros)(hk_shape(), h->dtype, hk_array_device(h)));
}

/* All layers: h of the last one. states gets those of all, one or two for each. */
static hk_array *run(hk_module *self, hk_array *const *inputs, int count, hk_array **states)
{
    const stack *its = self->options;
    const int ways = directions(its);
    hk_array *x = inputs[0], *state = count > 1 ? inputs[1] : NULL;
    hk_array *lengths = count > 2 ? inputs[2] : NULL;
    for (int i = 0; i < its->options.layers; i++) {
        hk_array *both[2];
        if (i > 0 && its->options.dropout > 0)
            x = (hk_forward)(hk_module_child(self, "dropout"), x);
        for (int way = 0; way < ways; way++) {
            hk_array *own = states_of(self, i * ways + way, x, state, lengths);
            if (own->failed)
                return own;
            states[i * ways + way] = own;
            both[way] = outputs_of(its, own, lengths);
        }
        x = ways > 1 ? (hk_concat)(both, ways, 2) : both[0];
    }
    return x;
}

/* What is asked for in place of h. */
static hk_array *result_of(const stack *its, hk_array **states, hk_array *h)
{
    const int ways = directions(its), count = its->options.layers * ways;
    if (h->failed || !(its->options.final_state || its->options.whole_states))
        return h;
    for (int i = 0; i < count && its->options.final_state; i++)
        states[i] = (hk_index)(states[i], 1, i % ways ? 0 : hk_dim(states[i], 1) - 1);
    return count > 1 ? (hk_concat)(states, count, -1) : states[0];
}

static hk_array *stack_forward(hk_module *self, hk_array *const *inputs, int count)
{
    if (hki_cache_is_entered())
        return hki_cache_refusal(self, inputs, count);
    const stack *its = self->options;
    const int ways = its->options.layers * directions(its);
    const hk_array *state = count > 1 ? inputs[1] : NULL;
    if (count > 3 || (state && !state->failed &&
                      (state->shape.ndim != 2 || state->shape.dims[1] != ways * state_size(its)))) {
        char text[224];
        hki_array_describe(state, text, sizeof text);
        return hki_array_create_failed(NULL, self->kind, inputs, count, HK_INVALID_ARGUMENT,
                                       "there are %d inputs and state is %s, but must be 1 to 3, "
                                       "x, state, lengths; and (n, %lld)",
                                       count, text, (long long)(ways * state_size(its)));
    }
    hk_array **states = malloc((size_t)ways * sizeof *states);
    if (!states)
        return hki_array_create_failed(NULL, self->kind, inputs, count, HK_OUT_OF_MEMORY,
                                       "there was no host memory for the list of states");
    hk_array *y = result_of(its, states, run(self, inputs, count, states));
    free(states);
    return y;
}

static void add_layer(hk_module *self, const stack *its, int index)
{
    char name[HKI_MODULE_NAME_BYTES];
    hki_format(name, sizeof name, "%d", index);
    hk_module_add(self, name, hk_recurrent_layer(its->kind, its->features, true));
    hki_format(name, sizeof name, "%d_reversed", index);
    if (its->options.is_bidirectional)
        hk_module_add(self, name, hki_recurrent_reversed(its->kind, its->features, true));
}

hk_module *(hk_recurrent_stack)(hk_recurrent_kind kind, int64_t features,
                                const hk_recurrent_stack_options *options)
{
    HKI_TAKE_OPTIONS(hk_recurrent_stack_options, options);
    enum { MOST_LAYERS = 1024 };
    stack its = {.kind = kind, .features = features};
    if (options)
        its.options = *options;
    if (its.options.layers == 0)
        its.options.layers = 1;
    hk_module *self = hki_layer_create("recurrent_stack", stack_forward, &its, sizeof its);
    if (its.options.layers < 1 || its.options.layers > MOST_LAYERS) {
        hki_module_fail(self, HK_INVALID_ARGUMENT, "layers is %d, but must be from 1 to %d",
                        its.options.layers, MOST_LAYERS);
        return self;
    }
    for (int i = 0; i < its.options.layers; i++)
        add_layer(self, &its, i);
    if (its.options.dropout != 0)
        hk_module_add(self, "dropout", hk_dropout_layer(its.options.dropout));
    return self;
}
