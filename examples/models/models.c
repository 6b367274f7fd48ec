/* The list of models, and what several of them are made of. */
#include "models/models.h"

#include <string.h>

const model_kind models[MODEL_COUNT] = {
    {"softmax", "softmax regression", model_softmax, 28, 1, false, 0.1, false},
    {"mlp", "a layer of 256 units", model_mlp, 28, 1, false, 0.1, false},
    {"lenet5", "LeNet-5 (LeCun et al. 1998)", model_lenet5, 28, 12, false, 0.9, false},
    {"alexnet", "AlexNet (Krizhevsky et al. 2012)", model_alexnet, 224, 65, false, 0.01, false},
    {"vgg11", "VGG-11 (Simonyan, Zisserman 2014)", model_vgg11, 224, 32, false, 0.05, false},
    {"nin", "network in network (Lin et al. 2013)", model_nin, 224, 67, false, 0.05, false},
    {"googlenet", "GoogLeNet (Szegedy et al. 2015)", model_googlenet, 96, 16, false, 0.1, false},
    {"resnet18", "ResNet-18 (He et al. 2016)", model_resnet18, 96, 16, false, 0.05, false},
    {"densenet", "DenseNet (Huang et al. 2017)", model_densenet, 96, 32, false, 0.1, false},
    {"vit", "vision transformer (Dosovitskiy et al. 2021)", model_vit, 96, 16, false, 0.1, false},
    {"rnn", "recurrent network", model_rnn, 32, 1, true, 1, false},
    {"gru", "gated recurrent units (Cho et al. 2014)", model_gru, 32, 1, true, 1, false},
    {"lstm", "long short-term memory (Hochreiter, Schmidhuber 1997)", model_lstm, 32, 1, true, 1,
     false},
    {"gpt", "small transformer (Radford et al. 2019)", model_gpt, 32, 1, true, 0.5, false},
    {"seq2seq", "encoder, decoder, attention (Luong et al. 2015)", model_seq2seq, 10, 1, true, 2,
     true},
    {"transformer", "encoder, decoder, attention alone (Vaswani et al. 2017)", model_transformer,
     10, 1, true, 0.3, true},
};

const model_kind *model_find(const char *name)
{
    for (int i = 0; i < MODEL_COUNT; i++)
        if (!strcmp(models[i].name, name))
            return &models[i];
    return NULL;
}

int64_t model_channels(const model_options *options, int64_t channels)
{
    const double width = options->width > 0 ? options->width : 1;
    const int64_t scaled = (int64_t)((double)channels * width + 0.5);
    return scaled < 1 ? 1 : scaled;
}

hk_module *model_relu(void)
{
    return hk_operator_layer("relu", NULL, 0);
}

hk_module *model_conv(int64_t channels, int64_t size, int64_t stride, int64_t padding)
{
    return hk_conv2d_layer(
        channels, size,
        &(hk_conv2d_layer_options){.stride = {stride, stride}, .padding = {padding, padding}});
}

hk_module *model_conv_relu(int64_t channels, int64_t size, int64_t stride, int64_t padding)
{
    return hk_sequential(model_conv(channels, size, stride, padding), model_relu());
}

/* ---- branches ------------------------------------------------------------------------------------------ */

enum { MOST_BRANCHES = 8 };

static hk_array *branches_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *outputs[MOST_BRANCHES];
    int branches = 0;
    (void)count;
    for (hk_module *child;
         branches < MOST_BRANCHES && (child = hk_module_child_at(self, branches));)
        outputs[branches++] = hk_forward(child, inputs[0]);
    return hk_concat(outputs, branches, 1);
}

hk_module *model_branches(hk_module *const *children, int count)
{
    static const char *const names[MOST_BRANCHES] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    hk_module *self = hk_module_create("branches", branches_forward, NULL, 0);
    for (int i = 0; i < count && i < MOST_BRANCHES; i++)
        hk_module_add(self, names[i], children[i]);
    return self;
}

/* ---- blocks of transformers ------------------------------------------------------------------------------ */

hk_module *model_transformer_block(int64_t features, int64_t heads, bool causal)
{
    hk_module *attention =
        hk_sequential(hk_layer_norm_layer(0), hk_attention_layer(features, heads, causal));
    hk_module *mlp =
        hk_sequential(hk_layer_norm_layer(0), hk_linear_layer(4 * features, NULL),
                      hk_operator_layer("gelu", NULL, 0), hk_linear_layer(features, NULL));
    return hk_sequential(hk_residual_layer(attention, NULL), hk_residual_layer(mlp, NULL));
}
