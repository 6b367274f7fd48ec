/* How many cores a device has decides into how many pieces some calls are cut, and never about a byte. */
#include "tests/check.h"

#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORES = 3, MOST = 12 };

typedef struct outcome {
    char *bytes[MOST];
    size_t sizes[MOST];
    int count;
} outcome;

static hk_array *random_array(hk_dims shape, hk_dtype dtype)
{
    return hk_random_normal(shape, dtype, (hk_device){NULL});
}

static void keep(outcome *self, hk_array *x)
{
    const size_t size = (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
    char *bytes = malloc(size + 1);
    CHECK(bytes && hk_ok(hk_to_host(hk_contiguous(x), bytes, size)));
    self->sizes[self->count] = size;
    self->bytes[self->count++] = bytes;
}

static void products(outcome *self, hk_dtype dtype)
{
    HK_SCOPE;
    hk_array *x = random_array(hk_shape(1000003), dtype),
             *y = random_array(hk_shape(1000003), dtype);
    hk_array *a = random_array(hk_shape(300, 500), dtype),
             *b = random_array(hk_shape(500, 260), dtype);
    keep(self, hk_matmul(x, y));
    keep(self, hk_matmul(a, b));
    keep(self, hk_matmul(hk_transpose(b), hk_transpose(a)));
    keep(self, hk_linear(a, random_array(hk_shape(260, 500), dtype), NULL));
}

/* Few samples of many pixels, and their gradients. */
static void convolutions(outcome *self)
{
    HK_SCOPE;
    hk_array *x = random_array(hk_shape(6, 64, 20, 20), HK_F32), *dx[2];
    hk_array *w = random_array(hk_shape(64, 64, 3, 3), HK_F32);
    hk_attach_grad(x, HK_GRAD_TRACK);
    hk_attach_grad(w, HK_GRAD_TRACK);
    HK_RECORD;
    hk_array *y = hk_conv2d(x, w, NULL, &(hk_conv2d_options){.padding = {1, 1}});
    hk_array *loss = hk_sum(hk_square(y), NULL);
    CHECK(hk_ok(hk_gradients(&loss, 1, (hk_array *[]){x, w}, 2, NULL, dx)));
    keep(self, y);
    keep(self, dx[0]);
    keep(self, dx[1]);
}

static void recurrences(outcome *self)
{
    HK_SCOPE;
    hk_module *layer = hk_recurrent_layer(HK_RECURRENT_LSTM, 40, false);
    keep(self, hk_forward(layer, random_array(hk_shape(50, 12, 30), HK_F32)));
    hk_module_release(layer);
}

static outcome with_cores(int cores)
{
    outcome self = {.count = 0};
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1, .cpu_cores = cores})));
    hk_seed(3);
    products(&self, HK_F32);
    products(&self, HK_F64);
    convolutions(&self);
    recurrences(&self);
    hk_runtime_deinit();
    return self;
}

int main(void)
{
    outcome all[CORES];
    for (int i = 0; i < CORES; i++)
        all[i] = with_cores(1 + i);
    for (int i = 1; i < CORES; i++) {
        CHECK_EQ_I64(all[i].count, all[0].count);
        for (int j = 0; j < all[0].count; j++) {
            CHECK_EQ_I64((int64_t)all[i].sizes[j], (int64_t)all[0].sizes[j]);
            if (memcmp(all[i].bytes[j], all[0].bytes[j], all[0].sizes[j]) != 0) {
                fprintf(stderr, "result %d has other bytes with %d cores\n", j, 1 + i);
                CHECK(false);
            }
        }
    }
    for (int i = 0; i < CORES; i++)
        for (int j = 0; j < all[i].count; j++)
            free(all[i].bytes[j]);
    return check_result();
}
