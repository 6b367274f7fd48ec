/* Layers of pooling: an operator each, and over all positions. */
#include "nn/module.h"

#include <hocket/hocket.h>

hk_module *hk_max_pool2d_layer(int64_t size, int64_t stride, int64_t padding)
{
    const hk_max_pool2d_options options = {
        .kernel = {size, size}, .stride = {stride, stride}, .padding = {padding, padding}};
    return hk_operator_layer("max_pool2d", &options, sizeof options);
}

hk_module *hk_avg_pool2d_layer(int64_t size, int64_t stride, int64_t padding)
{
    const hk_avg_pool2d_options options = {
        .kernel = {size, size}, .stride = {stride, stride}, .padding = {padding, padding}};
    return hk_operator_layer("avg_pool2d", &options, sizeof options);
}

hk_module *hk_max_pool1d_layer(int64_t size, int64_t stride, int64_t padding)
{
    const hk_max_pool1d_options options = {.kernel = size, .stride = stride, .padding = padding};
    return hk_operator_layer("max_pool1d", &options, sizeof options);
}

hk_module *hk_avg_pool1d_layer(int64_t size, int64_t stride, int64_t padding)
{
    const hk_avg_pool1d_options options = {.kernel = size, .stride = stride, .padding = padding};
    return hk_operator_layer("avg_pool1d", &options, sizeof options);
}

hk_module *hk_adaptive_avg_pool2d_layer(int64_t rows, int64_t columns)
{
    const hk_adaptive_avg_pool2d_options options = {.size = {rows, columns}};
    return hk_operator_layer("adaptive_avg_pool2d", &options, sizeof options);
}

hk_module *hk_adaptive_max_pool2d_layer(int64_t rows, int64_t columns)
{
    const hk_adaptive_max_pool2d_options options = {.size = {rows, columns}};
    return hk_operator_layer("adaptive_max_pool2d", &options, sizeof options);
}

hk_module *hk_adaptive_avg_pool1d_layer(int64_t size)
{
    const hk_adaptive_avg_pool1d_options options = {.size = size};
    return hk_operator_layer("adaptive_avg_pool1d", &options, sizeof options);
}

hk_module *hk_adaptive_max_pool1d_layer(int64_t size)
{
    const hk_adaptive_max_pool1d_options options = {.size = size};
    return hk_operator_layer("adaptive_max_pool1d", &options, sizeof options);
}

/* All axes but the first two, of three or more. */
static hk_dims positions(const hk_array *x)
{
    hk_dims axes = {.ndim = x->shape.ndim - 2};
    for (int i = 2; i < x->shape.ndim; i++)
        axes.dims[i - 2] = i;
    return axes;
}

static hk_array *global_avg_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *refused = NULL, *x = hki_module_input(inputs, 3, self->kind, &refused);
    (void)count;
    return x ? (hk_mean)(x, &(hk_mean_options){.axes = positions(x)}) : refused;
}

static hk_array *global_max_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *refused = NULL, *x = hki_module_input(inputs, 3, self->kind, &refused);
    (void)count;
    return x ? (hk_max)(x, &(hk_max_options){.axes = positions(x)}) : refused;
}

hk_module *hk_global_avg_pool_layer(void)
{
    return hki_layer_create("global_avg_pool", global_avg_forward, NULL, 0);
}

hk_module *hk_global_max_pool_layer(void)
{
    return hki_layer_create("global_max_pool", global_max_forward, NULL, 0);
}
