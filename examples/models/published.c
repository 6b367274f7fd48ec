/* The list of published networks, and what several of them are made of. */
#include "models/published.h"

#include <stdio.h>
#include <string.h>

hk_module *published_add(hk_module *self, const published_part *parts, int count)
{
    for (int i = 0; i < count; i++)
        if (parts[i].module)
            hk_module_add(self, parts[i].name, parts[i].module);
    return self;
}

void published_append(hk_module *sequence, hk_module *part)
{
    char name[16];
    int count = 0;
    while (hk_module_child_at(sequence, count))
        count++;
    snprintf(name, sizeof name, "%d", count);
    hk_module_add(sequence, name, part);
}

hk_array *published_call(hk_module *self, const char *child, hk_array *x)
{
    return hk_forward(hk_module_child(self, child), x);
}

int64_t published_or(int64_t given, int64_t usual)
{
    return given ? given : usual;
}

int64_t published_classes(const published_options *options)
{
    return published_or(options ? options->classes : 0, 1000);
}

hk_module *published_function(const char *name)
{
    return hk_operator_layer(name, NULL, 0);
}

hk_module *published_conv(int64_t channels, int64_t size, int64_t stride, int64_t groups)
{
    return hk_conv2d_layer(channels, size,
                           &(hk_conv2d_layer_options){.stride = {stride, stride},
                                                      .padding = {size / 2, size / 2},
                                                      .groups = groups,
                                                      .no_bias = true});
}

hk_module *published_conv_norm(int64_t channels, int64_t size, int64_t stride, int64_t groups,
                               double eps, hk_module *function)
{
    return PUBLISHED_SEQUENCE({"0", published_conv(channels, size, stride, groups)},
                              {"1", hk_batch_norm_layer(eps, 0)}, {"2", function});
}

/* ---- families -------------------------------------------------------------------------------------------- */

#define RESNET(depth, is_deep, ...)                                                                \
    static hk_module *resnet##depth(const published_options *options)                              \
    {                                                                                              \
        return published_resnet(options, is_deep, (const int[]){__VA_ARGS__});                     \
    }
RESNET(18, false, 2, 2, 2, 2)
RESNET(34, false, 3, 4, 6, 3)
RESNET(50, true, 3, 4, 6, 3)
RESNET(101, true, 3, 4, 23, 3)
RESNET(152, true, 3, 8, 36, 3)

#define VGG(depth, ...)                                                                            \
    static hk_module *vgg##depth(const published_options *options)                                 \
    {                                                                                              \
        return published_vgg(options, (const int[]){__VA_ARGS__});                                 \
    }
VGG(11, 1, 1, 2, 2, 2)
VGG(13, 2, 2, 2, 2, 2)
VGG(16, 2, 2, 3, 3, 3)
VGG(19, 2, 2, 4, 4, 4)

#define DENSENET(depth, ...)                                                                       \
    static hk_module *densenet##depth(const published_options *options)                            \
    {                                                                                              \
        return published_densenet(options, (const int[]){__VA_ARGS__});                            \
    }
DENSENET(121, 6, 12, 24, 16)
DENSENET(169, 6, 12, 32, 32)
DENSENET(201, 6, 12, 48, 32)

/* Names had dots before PyTorch 0.4. */
static const hk_rename of_densenet[] = {{"norm.1.", "norm1."},
                                        {"norm.2.", "norm2."},
                                        {"conv.1.", "conv1."},
                                        {"conv.2.", "conv2."},
                                        {NULL, NULL}};
static const hk_rename of_vit[] = {
    {"mlp.linear_1.", "mlp.0."}, {"mlp.linear_2.", "mlp.3."}, {NULL, NULL}};
static const hk_rename of_googlenet[] = {{"aux1.", NULL}, {"aux2.", NULL}, {NULL, NULL}};
static const hk_rename of_gpt2[] = {
    {".attn.bias", NULL}, {".attn.masked_bias", NULL}, {NULL, NULL}};
static const hk_rename of_bert[] = {{"LayerNorm.gamma", "LayerNorm.weight"},
                                    {"LayerNorm.beta", "LayerNorm.bias"},
                                    {"position_ids", NULL},
                                    {NULL, NULL}};
static const hk_rename of_llama[] = {{"rotary_emb.inv_freq", NULL}, {NULL, NULL}};

const published_network published[PUBLISHED_COUNT] = {
    {"resnet18", "ResNet-18 (He et al. 2016)", resnet18, false, 11689512, NULL},
    {"resnet34", "ResNet-34", resnet34, false, 21797672, NULL},
    {"resnet50", "ResNet-50", resnet50, false, 25557032, NULL},
    {"resnet101", "ResNet-101", resnet101, false, 44549160, NULL},
    {"resnet152", "ResNet-152", resnet152, false, 60192808, NULL},
    {"vgg11", "VGG-11 (Simonyan, Zisserman 2014)", vgg11, false, 132863336, NULL},
    {"vgg13", "VGG-13", vgg13, false, 133047848, NULL},
    {"vgg16", "VGG-16", vgg16, false, 138357544, NULL},
    {"vgg19", "VGG-19", vgg19, false, 143667240, NULL},
    {"densenet121", "DenseNet-121 (Huang et al. 2017)", densenet121, false, 7978856, of_densenet},
    {"densenet169", "DenseNet-169", densenet169, false, 14149480, of_densenet},
    {"densenet201", "DenseNet-201", densenet201, false, 20013928, of_densenet},
    {"mobilenet_v2", "MobileNet v2 (Sandler et al. 2018)", published_mobilenet_v2, false, 3504872,
     NULL},
    {"alexnet", "AlexNet (Krizhevsky 2014)", published_alexnet, false, 61100840, NULL},
    {"googlenet", "GoogLeNet (Szegedy et al. 2015)", published_googlenet, false, 6624904,
     of_googlenet},
    {"mobilenet_v3_small", "MobileNet v3, small (Howard et al. 2019)", published_mobilenet_v3_small,
     false, 2542856, NULL},
    {"mobilenet_v3_large", "MobileNet v3, large", published_mobilenet_v3_large, false, 5483032,
     NULL},
    {"efficientnet_b0", "EfficientNet-B0 (Tan, Le 2019)", published_efficientnet_b0, false, 5288548,
     NULL},
    {"convnext_tiny", "ConvNeXt-T (Liu et al. 2022)", published_convnext_tiny, false, 28589128,
     NULL},
    {"vit_b_16", "ViT-B/16 (Dosovitskiy et al. 2021)", published_vit_b_16, false, 86567656, of_vit},
    {"gpt2", "GPT-2 (Radford et al. 2019)", published_gpt2, true, 0, of_gpt2},
    {"bert", "BERT (Devlin et al. 2018)", published_bert, true, 0, of_bert},
    {"llama", "Llama (Touvron et al. 2023)", published_llama, true, 0, of_llama},
};

const published_network *published_find(const char *name)
{
    for (int i = 0; i < PUBLISHED_COUNT; i++)
        if (published[i].name && !strcmp(published[i].name, name))
            return &published[i];
    return NULL;
}

const hk_status *published_load(const published_network *kind, hk_module *net, const char *path)
{
    hk_module_load_options options = {.names = HK_NAMES_TORCH, .renames = kind->renames};
    while (kind->renames && kind->renames[options.rename_count].from)
        options.rename_count++;
    return hk_module_load(net, path, &options);
}
