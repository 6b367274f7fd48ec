#include "models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_add(model *self, hk_dims shape, bool is_scale)
{
    self->is_scale[self->count] = is_scale;
    self->shapes[self->count++] = shape;
}

void model_add_averages(model *self, int64_t channels)
{
    self->average_channels[self->average_count++] = channels;
    self->average_channels[self->average_count++] = channels;
}

/* ---- the small ones ---------------------------------------------------------------------------------- */

static void mlp_describe(model *self)
{
    model_add(self, hk_shape(256, 784), false);
    model_add(self, hk_shape(256), false);
    model_add(self, hk_shape(10, 256), false);
    model_add(self, hk_shape(10), false);
}

static hk_array *mlp_forward(const model *self, hk_array *images, bool training)
{
    hk_array *const *p = self->params;
    (void)training;
    hk_array *x = hk_reshape(images, hk_shape(hk_dim(images, 0), 784));
    return hk_linear(hk_relu(hk_linear(x, p[0], p[1])), p[2], p[3]);
}

static void lenet_describe(model *self)
{
    model_add(self, hk_shape(20, 1, 3, 3), false);
    model_add(self, hk_shape(20), false);
    model_add(self, hk_shape(50, 20, 5, 5), false);
    model_add(self, hk_shape(50), false);
    model_add(self, hk_shape(128, 800), false);
    model_add(self, hk_shape(128), false);
    model_add(self, hk_shape(10, 128), false);
    model_add(self, hk_shape(10), false);
}

static hk_array *lenet_forward(const model *self, hk_array *images, bool training)
{
    const hk_avg_pool2d_options pool = {.kernel = {2, 2}};
    hk_array *const *p = self->params;
    hk_array *x = images;
    (void)training;
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[0], p[1], NULL)), &pool);
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[2], p[3], NULL)), &pool);
    x = hk_reshape(x, hk_shape(hk_dim(images, 0), 800));
    return hk_linear(hk_relu(hk_linear(x, p[4], p[5])), p[6], p[7]);
}

const model_kind model_mlp = {"mlp", mlp_describe, mlp_forward};
const model_kind model_lenet = {"lenet", lenet_describe, lenet_forward};

const model_kind *model_find(const char *name)
{
    static const model_kind *const kinds[] = {&model_mlp, &model_lenet, &model_resnet18};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i]->name, name))
            return kinds[i];
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------------------ */

static size_t bytes_of(const hk_dims *shape)
{
    size_t bytes = sizeof(float);
    for (int i = 0; i < shape->ndim; i++)
        bytes *= (size_t)shape->dims[i];
    return bytes;
}

static hk_array *drawn(const model *self, int index, hk_device device)
{
    const hk_dims *shape = &self->shapes[index];
    double field = 1;
    if (shape->ndim == 1)
        return hk_full(*shape, self->is_scale[index], HK_F32, device);
    for (int i = 2; i < shape->ndim; i++)
        field *= (double)shape->dims[i];
    double bound = sqrt(6 / ((double)(shape->dims[0] + shape->dims[1]) * field));
    return hk_random_uniform_from(NULL, -bound, bound, *shape, HK_F32, device);
}

/* Opens pINDEX.bin of the folder; NULL, and printed, when it cannot be. */
static FILE *open_file(const char *folder, int index, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/p%d.bin", folder, index);
    FILE *file = fopen(path, mode);
    if (!file)
        perror(path);
    return file;
}

/* Reads or writes parameter `index`. */
static bool transfer(model *self, int index, const char *folder, bool write, hk_device device)
{
    size_t bytes = bytes_of(&self->shapes[index]), done = 0;
    FILE *file = open_file(folder, index, write ? "wb" : "rb");
    void *data = malloc(bytes);
    if (file && data && write)
        done =
            hk_ok(hk_to_host(self->params[index], data, bytes)) ? fwrite(data, 1, bytes, file) : 0;
    else if (file && data)
        done = fread(data, 1, bytes, file);
    if (done == bytes && !write)
        self->params[index] = hk_take(hk_from_host(data, self->shapes[index], HK_F32, device));
    if (file && fclose(file))
        done = 0;
    if (file && done != bytes)
        fprintf(stderr, "%s/p%d.bin: not the %zu bytes of parameter %d\n", folder, index, bytes,
                index);
    free(data);
    return done == bytes;
}

bool model_init(model *self, const model_kind *kind, hk_device device, const char *folder)
{
    HK_SCOPE;
    bool ok = true;
    *self = (model){.kind = kind};
    kind->describe(self);
    hk_seed(1);
    for (int i = 0; i < self->count && ok; i++) {
        if (folder)
            ok = transfer(self, i, folder, false, device);
        else
            self->params[i] = hk_take(drawn(self, i, device));
        if (ok)
            hk_attach_grad(self->params[i], HK_GRAD_WRITE);
    }
    for (int i = 0; i < self->average_count && ok; i++)
        self->averages[i] =
            hk_take(hk_full(hk_shape(self->average_channels[i]), i % 2, HK_F32, device));
    return ok;
}

void model_deinit(model *self)
{
    for (int i = 0; i < self->count; i++)
        hk_array_release(self->params[i]);
    for (int i = 0; i < self->average_count; i++)
        hk_array_release(self->averages[i]);
}

bool model_dump(const model *self, const char *folder)
{
    model copy = *self;
    for (int i = 0; i < self->count; i++)
        if (!transfer(&copy, i, folder, true, (hk_device){NULL}))
            return false;
    return true;
}
