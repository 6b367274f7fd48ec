/* Cholesky's factors of large matrices: right-looking, on tiles that are arrays of their own, so
 * that calls on them conflict in nothing but what they share. */
#include "base/integer.h"
#include "op/call/capture.h"
#include "op/linalg/cholesky.h"
#include "op/linalg/tiles.h"
#include "op/linalg/triangular.h"
#include "op/linalg/updates.h"
#include "op/linalg/views.h"

#include <stdlib.h>

/* Sides of tiles, and from where on: pure functions of the shape. */
enum { TILED_FROM = 1024, TILE = 256, WIDE_FROM = 8192, WIDE_TILE = 512 };

bool hki_cholesky_is_tiled(const hk_dims *shape)
{
    return shape->dims[shape->ndim - 1] >= TILED_FROM;
}

/* ---- parts ----------------------------------------------------------------------------------- */

#define CHOLESKY_GATHER_OPTIONS(F, op)                                                             \
    HKI_BLOCK_OPTIONS(F, op)                                                                       \
    F(op, BOOL, triangle, "false", "of a tile on the diagonal: the lower triangle")
HKI_OPTIONS(cholesky_gather, CHOLESKY_GATHER_OPTIONS)
HKI_OPTIONS(cholesky_block, HKI_BLOCK_OPTIONS)

_Static_assert(offsetof(hki_cholesky_gather_options, first) == offsetof(hki_block_options, first),
               "options begin with those of blocks");

static bool gather_infer(hki_call *call)
{
    return hki_linalg_check(call);
}

static void gather_plan(const hki_call *call, hki_plan *plan)
{
    plan->extent = 1;
    plan->work_ns = 200 + 2 * (double)call->inputs[0]->size;
}

static void gather_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_cholesky_gather_options *options = call->options;
    const bool has_above = call->in[1].ndim >= 0;
    hki_linalg_work work;
    if (begin == end || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    work.block = call->options;
    if (!hki_blas_of(call->out[0].dtype)
             ->gather_hermitian(options->triangle, hki_matrix_of(&call->in[0], 0),
                                has_above ? hki_matrix_of(&call->in[1], 0)
                                          : (hki_blas_matrix){.data = NULL},
                                hki_matrix_of(&call->out[0], 0)))
        hki_linalg_fail(&work, 0, "has an element that is NaN or infinite");
    hki_linalg_end(&work);
}

const hk_op hki_op_cholesky_gather = {
    HKI_OP_NAMED(cholesky_gather),
    .refuses = true,
    HKI_OP_PARAMS(cholesky_gather),
    .signature = "x, above?",
    .doc = "A tile of the Hermitian matrix that cholesky factorises: the mean of x and the adjoint "
           "of `above`, or x.",
    .dtypes = HKI_INEXACT,
    .internal = true,
    .is_part = true,
    .host_only = true,
    .infer = gather_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = gather_plan,
    .kernel = {[HKI_CPU] = gather_kernel},
    .no_grad_why = "cholesky has the gradient",
    .untested = "tiles_test.c tests it",
};

static void block_plan(const hki_call *call, hki_plan *plan)
{
    const double n = (double)call->inputs[0]->shape.dims[0];
    const hki_stack stack = {1, call->inputs[0]->shape.dims[0], call->inputs[0]->shape.dims[0]};
    hki_linalg_plan(plan, &stack, n * n * n / 3);
}

static void block_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_linalg_work work;
    if (begin == end || !hki_linalg_begin(&work, call, piece, NULL, 0))
        return;
    work.block = call->options;
    hki_cholesky_factorise(&work, 0, true, hki_matrix_of(&call->in[0], 0),
                           hki_matrix_of(&call->out[0], 0));
    hki_linalg_end(&work);
}

const hk_op hki_op_cholesky_block = {
    HKI_OP_NAMED(cholesky_block),
    .refuses = true,
    HKI_OP_PARAMS(cholesky_block),
    .signature = "x",
    .doc = "The factor of a tile on the diagonal, of which the lower triangle is read.",
    .dtypes = HKI_INEXACT,
    .internal = true,
    .is_part = true,
    .host_only = true,
    .strided_output = true,
    .in_place = 1,
    .infer = hki_linalg_check_square,
    .split = HKI_SPLIT_PLAN,
    .plan = block_plan,
    .kernel = {[HKI_CPU] = block_kernel},
    .no_grad_why = "cholesky has the gradient",
    .untested = "tiles_test.c tests it",
};

/* ---- composition ----------------------------------------------------------------------------- */

typedef struct tiling {
    hki_block_options block;
    int64_t n, side, count;
    hk_array **tiles; /* count x count, of which the lower triangle is there */
} tiling;

static hk_array **tile_at(const tiling *self, int64_t i, int64_t j)
{
    return &self->tiles[i * self->count + j];
}

static hk_array *block_of(const tiling *self, hk_array *x, int64_t i, int64_t j)
{
    return hki_tile(x, i * self->side, hki_min(self->n, (i + 1) * self->side), j * self->side,
                    hki_min(self->n, (j + 1) * self->side));
}

static void gather(const tiling *self, hk_array *x, bool one_triangle)
{
    hki_cholesky_gather_options options = {self->block.stack, self->block.matrix, 0, false};
    for (int64_t i = 0; i < self->count; i++)
        for (int64_t j = 0; j <= i; j++) {
            hk_array *inputs[] = {block_of(self, x, i, j),
                                  one_triangle ? NULL : block_of(self, x, j, i)};
            options.triangle = i == j;
            *tile_at(self, i, j) =
                hki_op_call(&hki_op_cholesky_gather, inputs, 2, &options, (hk_device){NULL}, NULL);
        }
}

static void factorise_column(const tiling *self, int64_t k)
{
    const hki_solve_triangular_options solve = {
        .right = true, .transposed = true, .conjugated = true};
    hki_block_options block = self->block;
    hk_array *corner = *tile_at(self, k, k);
    block.first = k * self->side;
    hki_op_call_into(&hki_op_cholesky_block, &corner, 1, &block, corner);
    for (int64_t i = k + 1; i < self->count; i++) {
        hk_array *tile = *tile_at(self, i, k);
        hki_op_call_into(&hki_op_solve_triangular, (hk_array *const[]){corner, tile}, 2, &solve,
                         tile);
    }
}

/* What column k leaves of column j, whose factor is next where j is k + 1. */
static void update_column(const tiling *self, int64_t k, int64_t j)
{
    const hki_addmm_options less = {.alpha = -1, .beta = 1};
    HK_SCOPE;
    hk_array *left = *tile_at(self, j, k), *corner = *tile_at(self, j, j);
    hk_array *turned = j + 1 < self->count ? hki_matrix_adjoint(left) : NULL;
    hki_op_call_into(&hki_op_syrk, (hk_array *const[]){corner, left}, 2,
                     &(const hki_syrk_options){.alpha = -1, .beta = 1}, corner);
    for (int64_t i = j + 1; i < self->count; i++) {
        hk_array *tile = *tile_at(self, i, j);
        hki_op_call_into(&hki_op_addmm, (hk_array *const[]){tile, *tile_at(self, i, k), turned}, 3,
                         &less, tile);
    }
}

static void put_together(const tiling *self, hk_array *to)
{
    for (int64_t i = 0; i < self->count; i++) {
        HK_SCOPE;
        for (int64_t j = 0; j <= i; j++)
            hki_call_into_unasked(&hki_op_copy, "cholesky", *tile_at(self, i, j), NULL,
                                  block_of(self, to, i, j));
        hki_clear(hki_tile(to, i * self->side, hki_min(self->n, (i + 1) * self->side),
                           hki_min(self->n, (i + 1) * self->side), self->n),
                  "cholesky");
    }
}

static void factorise(const tiling *self, hk_array *x, bool one_triangle, hk_array *to)
{
    HK_SCOPE;
    gather(self, x, one_triangle);
    for (int64_t k = 0; k < self->count; k++) {
        factorise_column(self, k);
        for (int64_t j = k + 1; j < self->count; j++)
            update_column(self, k, j);
    }
    put_together(self, to);
}

hk_array *hki_cholesky_tiled(const hki_call *call)
{
    const hki_cholesky_options *options = call->options;
    const hk_dims *shape = &call->out_shape[0];
    tiling self = {.n = shape->dims[shape->ndim - 1]};
    const hki_stack stack = hki_stack_of(shape->ndim, shape->dims);
    self.side = self.n < WIDE_FROM ? TILE : WIDE_TILE;
    self.count = hki_divide_up(self.n, self.side);
    self.tiles = calloc((size_t)(self.count * self.count), sizeof *self.tiles);
    if (!self.tiles)
        return hki_array_create_failed(call->device, call->operation, call->arrays, 1,
                                       HK_OUT_OF_MEMORY, "out of host memory");
    hk_array *result = hki_made_in_parts(call, 0);
    self.block.stack = *shape;
    self.block.stack.ndim -= 2;
    for (int64_t i = 0; i < stack.count && !result->failed; i++) {
        hk_array *x = hki_matrix_in_stack(call->arrays[0], i), *to = hki_matrix_in_stack(result, i);
        self.block.matrix = i;
        if (options->upper) { /* the lower one of both transposed */
            x = hki_op_call1(&hki_op_swapaxes, x, (const int64_t[]){-1, -2});
            to = hki_op_call1(&hki_op_swapaxes, to, (const int64_t[]){-1, -2});
        }
        factorise(&self, x, options->one_triangle, to);
    }
    free(self.tiles);
    return result;
}
