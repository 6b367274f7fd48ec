#include "lenet_model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files' byte order");

/* What a valid convolution, then a 2x2 pool with stride 2, leaves of a side. */
static int64_t side_after(int64_t side, int64_t kernel)
{
    return (side - kernel + 1) / 2;
}

bool lenet_set_shapes(lenet *self, int64_t channels, int64_t height, int64_t width, int64_t classes)
{
    if (height < 14 || width < 14)
        return false;
    int64_t rows = side_after(side_after(height, 3), 5);
    int64_t columns = side_after(side_after(width, 3), 5);
    self->shapes[0] = hk_shape(20, channels, 3, 3);
    self->shapes[1] = hk_shape(20);
    self->shapes[2] = hk_shape(50, 20, 5, 5);
    self->shapes[3] = hk_shape(50);
    self->shapes[4] = hk_shape(128, 50 * rows * columns);
    self->shapes[5] = hk_shape(128);
    self->shapes[6] = hk_shape(classes, 128);
    self->shapes[7] = hk_shape(classes);
    return true;
}

const char *lenet_parameter_name(int parameter)
{
    static const char *const names[] = {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                        "fc1.weight",   "fc1.bias",   "fc2.weight",   "fc2.bias"};
    return names[parameter];
}

static hk_array *draw_weight(hk_dims shape, lenet_init init, hk_device device)
{
    if (init == LENET_BOOK)
        return hk_random_normal_from(NULL, 0, 0.01, shape, HK_F32, device);
    const int64_t *dims = shape.dims;
    const int64_t window = shape.ndim == 4 ? dims[2] * dims[3] : 1;
    const double bound = sqrt(6 / (double)((dims[0] + dims[1]) * window));
    return hk_random_uniform_from(NULL, -bound, bound, shape, HK_F32, device);
}

void lenet_draw(lenet *self, lenet_init init, uint64_t seed)
{
    HK_SCOPE;
    hk_device device = self->devices[0];
    hk_seed(seed);
    for (int i = 0; i < LENET_PARAMETERS; i++)
        self->params[0][i] = hk_take(i % 2 ? hk_zeros(self->shapes[i], HK_F32, device)
                                           : draw_weight(self->shapes[i], init, device));
}

void lenet_spread(lenet *self)
{
    HK_SCOPE;
    for (int d = 0; d < self->device_count; d++) {
        for (int i = 0; i < LENET_PARAMETERS; i++) {
            if (d > 0)
                self->params[d][i] = hk_take(hk_to_device(self->params[0][i], self->devices[d]));
            hk_attach_grad(self->params[d][i], HK_GRAD_WRITE);
            self->grads[i][d] = hk_grad(self->params[d][i]);
        }
    }
}

hk_array *lenet_forward(const lenet *self, int device, hk_array *images)
{
    const hk_avg_pool2d_options pool = {.kernel = {2, 2}, .stride = {2, 2}};
    hk_array *const *p = self->params[device];
    hk_array *x = images;
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[0], p[1], NULL)), &pool);
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[2], p[3], NULL)), &pool);
    x = hk_reshape(x, hk_shape(hk_dim(images, 0), self->shapes[4].dims[1]));
    x = hk_relu(hk_linear(x, p[4], p[5]));
    return hk_linear(x, p[6], p[7]);
}

void lenet_release(lenet *self)
{
    for (int d = 0; d < self->device_count; d++) {
        for (int i = 0; i < LENET_PARAMETERS; i++) {
            hk_array_release(self->params[d][i]);
            self->params[d][i] = NULL;
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------------- */

static size_t element_count(const hk_dims *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->ndim; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

/* The path of a parameter's file, which the caller frees; NULL when memory ran out. */
static char *parameter_path(const char *folder, int parameter)
{
    char *path = NULL;
    if (asprintf(&path, "%s/p%d.bin", folder, parameter) < 0) {
        fprintf(stderr, "hocket: no memory for a file's name\n");
        return NULL;
    }
    return path;
}

/* Reads exactly `bytes` bytes, the whole file. */
static bool read_file(const char *path, const char *what, void *data, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(data, 1, bytes, file) : 0;
    bool whole = file && got == bytes && fgetc(file) == EOF && !ferror(file);
    if (!file || ferror(file))
        fprintf(stderr, "hocket: %s of --init cannot be read: %s: %s\n", what, path,
                strerror(errno));
    else if (!whole)
        fprintf(stderr, "hocket: %s of --init must be %zu bytes, %zu float32 numbers: %s has %s\n",
                what, bytes, bytes / sizeof(float), path, got < bytes ? "fewer" : "more");
    if (file)
        fclose(file);
    return whole;
}

static bool write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(data, 1, bytes, file) == bytes;
    if (file && fclose(file))
        written = false;
    if (!written)
        fprintf(stderr, "hocket: cannot write %s: %s\n", path, strerror(errno));
    return written;
}

bool lenet_load(lenet *self, const char *folder)
{
    HK_SCOPE;
    bool loaded = true;
    for (int i = 0; i < LENET_PARAMETERS && loaded; i++) {
        size_t bytes = element_count(&self->shapes[i]) * sizeof(float);
        char *path = parameter_path(folder, i);
        void *data = malloc(bytes);
        loaded = path && data && read_file(path, lenet_parameter_name(i), data, bytes);
        if (loaded)
            self->params[0][i] =
                hk_take(hk_from_host(data, self->shapes[i], HK_F32, self->devices[0]));
        free(data);
        free(path);
    }
    return loaded;
}

bool lenet_dump(const lenet *self, const char *folder)
{
    bool dumped = !mkdir(folder, 0777) || errno == EEXIST;
    if (!dumped)
        fprintf(stderr, "hocket: cannot make the folder %s: %s\n", folder, strerror(errno));
    for (int i = 0; i < LENET_PARAMETERS && dumped; i++) {
        size_t bytes = element_count(&self->shapes[i]) * sizeof(float);
        char *path = parameter_path(folder, i);
        void *data = malloc(bytes);
        dumped = path && data;
        if (dumped) {
            const hk_status *status = hk_to_host(self->params[0][i], data, bytes);
            dumped = !hk_status_print(status, stderr) && write_file(path, data, bytes);
        }
        free(data);
        free(path);
    }
    return dumped;
}
