#include "op/matmul/layer_kernel.h"

#include "base/integer.h"
#include "base/kernel_isa.h"
#include "base/sync.h"
#include "op/matmul/layer_tiles.h"

#include <string.h>

static const hki_layer_kernels *kernels_get(bool f64)
{
    return f64 ? HKI_OF_ISA(&hki_layer_kernels, _f64) : HKI_OF_ISA(&hki_layer_kernels, _f32);
}

static size_t item_bytes(bool f64)
{
    return f64 ? sizeof(double) : sizeof(float);
}

size_t hki_layer_packed_bytes(const hki_layer *layer, bool f64)
{
    const int64_t lanes = kernels_get(f64)->lanes;
    const int64_t vectors = hki_divide_up(layer->outputs, lanes);
    return hki_round_up_bytes((size_t)(vectors * lanes * layer->inputs) * item_bytes(f64),
                              HKI_CACHE_LINE);
}

static int64_t x_row_of(const hki_layer *layer)
{
    return layer->x_row ? layer->x_row : layer->inputs;
}

/* Rows that begin at such distances share a few places of the first cache, so that a tile's would push each other out:
   then they are copied to rows that lie further apart, by an odd number of lines. */
static size_t spread_row_bytes(const hki_layer *layer, bool f64)
{
    enum { BAD_DISTANCE = 1024, LINE = 64 };
    if ((size_t)x_row_of(layer) * item_bytes(f64) % BAD_DISTANCE)
        return 0;
    const size_t bytes = hki_round_up_bytes((size_t)layer->inputs * item_bytes(f64), LINE);
    return bytes / LINE % 2 ? bytes : bytes + LINE;
}

size_t hki_layer_scratch_bytes(const hki_layer *layer, bool f64, int64_t samples)
{
    return spread_row_bytes(layer, f64) * (size_t)samples;
}

int64_t hki_layer_copied_row(const hki_layer *layer, bool f64)
{
    return (int64_t)(spread_row_bytes(layer, f64) / item_bytes(f64));
}

void hki_layer_pack(const hki_layer *layer, bool f64, const void *weight, bool transposed,
                    void *packed)
{
    kernels_get(f64)->pack(layer, weight, transposed, packed);
}

void hki_layer_run(const hki_layer *layer, bool f64, const void *x, int64_t samples,
                   const void *packed, const void *bias, void *y, void *scratch)
{
    const size_t row = (size_t)layer->inputs * item_bytes(f64);
    const size_t x_row = (size_t)x_row_of(layer) * item_bytes(f64);
    const size_t spread = spread_row_bytes(layer, f64);
    for (int64_t s = 0; spread && s < samples; s++)
        memcpy((char *)scratch + (size_t)s * spread, (const char *)x + (size_t)s * x_row, row);
    kernels_get(f64)->run(&(hki_layer_call){
        .layer = layer,
        .x = spread ? scratch : x,
        .samples = samples,
        .x_row = (int64_t)((spread ? spread : x_row) / item_bytes(f64)),
        .packed = packed,
        .bias = bias,
        .y = y,
    });
}
