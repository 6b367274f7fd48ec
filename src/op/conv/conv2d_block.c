#include "op/conv/conv2d_block.h"

#include "base/integer.h"
#include "base/kernel_isa.h"
#include "base/sync.h"
#include "op/conv/conv2d_block_kernels.h"

#include <string.h>

/* Packed weights begin with their plan, whose tables follow: they are the same for every block. */
enum { HEADER = (sizeof(hki_conv2d_plan) + HKI_CACHE_LINE - 1) / HKI_CACHE_LINE * HKI_CACHE_LINE };

static const hki_conv2d_block_kernels *kernels_get(bool f64)
{
    return f64 ? HKI_OF_ISA(&hki_conv2d_block_kernels, _f64)
               : HKI_OF_ISA(&hki_conv2d_block_kernels, _f32);
}

static int64_t window_height(const hki_conv2d_block *block)
{
    return block->pool == HKI_BLOCK_POOL_NONE ? 1 : block->pool_height;
}

static int64_t window_width(const hki_conv2d_block *block)
{
    return block->pool == HKI_BLOCK_POOL_NONE ? 1 : block->pool_width;
}

int64_t hki_conv2d_block_lanes(bool f64)
{
    return hki_conv2d_shape_get(f64)->lanes;
}

int64_t hki_conv2d_block_out_height(const hki_conv2d_block *block)
{
    return block->geometry.out_height / window_height(block);
}

int64_t hki_conv2d_block_out_width(const hki_conv2d_block *block)
{
    return block->geometry.out_width / window_width(block);
}

static bool product_fits(int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) &&
           !__builtin_mul_overflow(product, c, &product) &&
           !__builtin_mul_overflow(product, d, &product) && product <= INT32_MAX;
}

/* The source and the result of a sample, each with room for the padding, and the weights have fewer than 2^31
   elements, and so have strides and dilations. */
bool hki_conv2d_block_supports(const hki_conv2d_block *block, bool f64)
{
    const hki_conv2d_geometry *g = &block->geometry;
    (void)f64;
    const int64_t positive[] = {g->in_channels,   g->in_height,       g->in_width,
                                g->out_channels,  g->out_height,      g->out_width,
                                g->kernel_height, g->kernel_width,    g->stride_height,
                                g->stride_width,  g->dilation_height, g->dilation_width};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
        if (positive[i] < 1 || positive[i] > INT32_MAX)
            return false;
    if (g->pad_height < 0 || g->pad_height > INT32_MAX / 8 || g->pad_width < 0 ||
        g->pad_width > INT32_MAX / 8)
        return false;
    if (block->pool != HKI_BLOCK_POOL_NONE &&
        (block->pool_height < 1 || block->pool_width < 1 || block->pool_height > g->out_height ||
         block->pool_width > g->out_width))
        return false;
    int64_t height = g->in_height + 2 * g->pad_height + g->stride_height;
    int64_t width = g->in_width + 2 * g->pad_width + g->stride_width;
    return product_fits(g->in_channels, height, width, 1) &&
           product_fits(g->out_channels, height, width, 1) &&
           product_fits(g->out_channels, g->in_channels, g->kernel_height, g->kernel_width);
}

/* The plan of a pass over what the windows cover. */
static void plan_init(hki_conv2d_plan *plan, const hki_conv2d_block *block, hki_conv2d_pass pass,
                      bool f64)
{
    hki_conv2d_geometry covered = block->geometry;
    covered.out_height -= covered.out_height % window_height(block);
    covered.out_width -= covered.out_width % window_width(block);
    hki_conv2d_plan_init_block(plan, &covered, pass, hki_conv2d_shape_get(f64),
                               pass == HKI_CONV2D_FORWARD ? window_height(block) : 1);
}

size_t hki_conv2d_block_packed_bytes(const hki_conv2d_block *block, bool f64)
{
    hki_conv2d_plan forward, data;
    plan_init(&forward, block, HKI_CONV2D_FORWARD, f64);
    plan_init(&data, block, HKI_CONV2D_BACKWARD_DATA, f64);
    return HEADER + (forward.bytes > data.bytes ? forward.bytes : data.bytes);
}

size_t hki_conv2d_block_mask_bytes(const hki_conv2d_block *block, bool f64)
{
    if (!hki_conv2d_block_masks(block))
        return 0;
    int64_t rows = hki_conv2d_block_out_height(block) * window_height(block);
    int64_t columns = hki_conv2d_block_out_width(block) * window_width(block);
    size_t word = hki_conv2d_block_lanes(f64) > 8 ? 2 : 1;
    return hki_round_up_bytes((size_t)(block->geometry.out_channels * rows * columns) * word,
                              HKI_CACHE_LINE);
}

/* Room for the copy of a band of the source. */
static size_t band_bytes(const hki_conv2d_plan *plan)
{
    if (plan->in_place)
        return 0;
    return hki_round_up_bytes(
        (size_t)(plan->source_channels * plan->channel_stride * plan->element_size),
        HKI_CACHE_LINE);
}

size_t hki_conv2d_block_forward_scratch_bytes(const hki_conv2d_block *block, bool f64)
{
    hki_conv2d_plan plan;
    plan_init(&plan, block, HKI_CONV2D_FORWARD, f64);
    int64_t vectors = HKI_CONV2D_TILE_O_MAX * plan.sub_t * plan.column.target;
    return band_bytes(&plan) +
           hki_round_up_bytes((size_t)(vectors * plan.lanes * plan.element_size), HKI_CACHE_LINE);
}

/* The scratch of a backward pass: tables of the weights' plan, a band of the source, the gradient. */
static size_t band_at(const hki_conv2d_plan *weigh)
{
    return hki_round_up_bytes(weigh->bytes, HKI_CACHE_LINE);
}

size_t hki_conv2d_block_backward_scratch_bytes(const hki_conv2d_block *block, bool f64)
{
    hki_conv2d_plan data, weigh;
    plan_init(&data, block, HKI_CONV2D_BACKWARD_DATA, f64);
    plan_init(&weigh, block, HKI_CONV2D_BACKWARD_WEIGHT, f64);
    int64_t for_data = data.source_channels * data.channel_stride + data.left * data.lanes;
    int64_t for_weigh =
        HKI_CONV2D_TILE_O_MAX * (weigh.sub_t * weigh.column.target | 1) * weigh.lanes;
    int64_t gradient = for_data > for_weigh ? for_data : for_weigh;
    return band_at(&weigh) + band_bytes(&weigh) +
           hki_round_up_bytes((size_t)(gradient * data.element_size), HKI_CACHE_LINE);
}

static void pack(const hki_conv2d_block *block, bool f64, hki_conv2d_pass pass, const void *weight,
                 void *packed)
{
    hki_conv2d_plan plan;
    char *tables = (char *)packed + HEADER;
    plan_init(&plan, block, pass, f64);
    hki_conv2d_plan_build(&plan, tables);
    memcpy(packed, &plan, sizeof plan);
    kernels_get(f64)->pack(&plan, weight, tables + plan.packed_at);
}

void hki_conv2d_block_pack_forward(const hki_conv2d_block *block, bool f64, const void *weight,
                                   void *packed)
{
    pack(block, f64, HKI_CONV2D_FORWARD, weight, packed);
}

void hki_conv2d_block_pack_backward(const hki_conv2d_block *block, bool f64, const void *weight,
                                    void *packed)
{
    pack(block, f64, HKI_CONV2D_BACKWARD_DATA, weight, packed);
}

/* The plan of packed weights, wherever they were copied to since; returns the weights. */
static const void *unpack(const void *packed, hki_conv2d_plan *plan)
{
    char *tables = (char *)(uintptr_t)packed + HEADER; /* read only from here on */
    memcpy(plan, packed, sizeof *plan);
    hki_conv2d_plan_place(plan, tables);
    return tables + plan->packed_at;
}

void hki_conv2d_block_forward(const hki_conv2d_block *block, bool f64, const void *x,
                              const void *packed, const void *bias, void *y, void *mask,
                              void *scratch)
{
    hki_conv2d_plan plan;
    const void *weight = unpack(packed, &plan);
    const hki_conv2d_block_forward_call call = {
        .block = block,
        .plan = &plan,
        .x = x,
        .weight = weight,
        .bias = bias,
        .y = y,
        .mask = hki_conv2d_block_masks(block) ? mask : NULL,
        .band = scratch,
        .result = (char *)scratch + band_bytes(&plan),
    };
    kernels_get(f64)->forward(&call);
}

void hki_conv2d_block_backward(const hki_conv2d_block *block, bool f64, const void *x,
                               const void *dy, const void *mask, const void *packed,
                               int64_t samples, void *dx, void *dweight, void *dbias, void *scratch)
{
    hki_conv2d_plan data, weigh;
    const void *weight = dx ? unpack(packed, &data) : NULL;
    plan_init(&weigh, block, HKI_CONV2D_BACKWARD_WEIGHT, f64);
    bool weighs = (dweight || dbias) && !hki_conv2d_block_dense(&block->geometry);
    if (weighs)
        hki_conv2d_plan_build(&weigh, scratch);
    char *band = (char *)scratch + band_at(&weigh);
    const hki_conv2d_block_backward_call call = {
        .block = block,
        .height = weigh.row.target,
        .width = weigh.column.target,
        .data = dx ? &data : NULL,
        .weigh = weighs ? &weigh : NULL,
        .x = x,
        .dy = dy,
        .mask = hki_conv2d_block_masks(block) ? mask : NULL,
        .weight = weight,
        .samples = samples,
        .dx = dx,
        .dweight = dweight,
        .dbias = dbias,
        .band = band,
        .gradient = band + band_bytes(&weigh),
    };
    kernels_get(f64)->backward(&call);
}

void hki_block_gather(bool f64, const void *rows, int64_t count, int64_t elements, void *lanes)
{
    kernels_get(f64)->gather(rows, count, elements, lanes);
}

void hki_block_scatter(bool f64, const void *lanes, int64_t count, int64_t elements, void *rows)
{
    kernels_get(f64)->scatter(lanes, count, elements, rows);
}
