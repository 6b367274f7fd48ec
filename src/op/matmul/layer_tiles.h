/* What layer_kernel.c asks of the kernels of one instruction set and type. Internal to layer_*.

   A panel is the weights of so many outputs as two vectors have, [input][output]; the last one may have one vector, and
   zeros where there are no outputs. */
#ifndef HOCKET_OP_KERNELS_LAYER_TILES_H
#define HOCKET_OP_KERNELS_LAYER_TILES_H

#include "base/sum_tree.h"
#include "base/sync.h"
#include "op/matmul/layer_kernel.h"
#include "op/matmul/product_kernel.h"

enum {
    HKI_LAYER_PANEL_VECTORS = 2,
    /* Of so many rows at most several panels go side by side: of one row, and of more. */
    HKI_LAYER_WIDE_ROWS = 3,
    HKI_LAYER_WIDE = 4,
    HKI_LAYER_WIDE_OF_MORE = 2,
    HKI_PRODUCT_PAIRS = 127,
    HKI_PRODUCT_WAITS = 128,
    HKI_PRODUCT_NEAR_BYTES = 256 << 10 /* matrices that stay in the second cache */
};

/* Cache lines to prefetch, of rows to come: 2^shift of each, `row` bytes from one to the next; from line `begin` on, and at the end the last one
   again and again. */
typedef struct hki_prefetch {
    const char *from;
    int64_t row, begin, last;
    int shift;
} hki_prefetch;

typedef struct hki_layer_call {
    const hki_layer *layer;
    const void *x;
    int64_t samples, x_row; /* elements from sample to sample */
    const void *packed, *bias;
    void *y;
} hki_layer_call;

/* A product, and how it is cut. */
typedef struct hki_product_call {
    const hki_product *product;
    int64_t rows, columns, depth; /* and terms of the sums: done at a time */
    /* Elements between rows of the copy of a, where there is one. Of one that is transposed, or of samples: rows of a tile,
       elements between terms, and between tiles. */
    int64_t tile_rows, a_row, a_tile;
    /* By run: HKI_PRODUCT_PAIRS, how many sums the tree joins after it, and HKI_PRODUCT_WAITS, where what it gives is joined
       after the next copy alone. NULL: sums are in the order of k. */
    const uint8_t *pairs;
    void *a, *b; /* room for copies; `a` NULL where it is read in place */
    void *stack; /* room for the sums of a tile */
    void *
        waiting; /* the same for those that wait, of each tile of a block, waiting_step elements apart; 0: none do */
    int64_t waiting_step;
} hki_product_call;

typedef struct hki_layer_kernels {
    int64_t lanes;
    /* Rows of a register tile at most, and elements between terms in a copy of them; of sums by the tree. */
    int64_t rows, step, tree_rows, tree_step;
    void (*pack)(const hki_layer *layer, const void *weight, bool transposed, void *packed);
    void (*run)(const hki_layer_call *call);
    void (*product)(const hki_product_call *call);
    void (*pack_b)(const hki_product_call *call, void *packed);
} hki_layer_kernels;

extern const hki_layer_kernels hki_layer_kernels_portable_f32;
extern const hki_layer_kernels hki_layer_kernels_portable_f64;
extern const hki_layer_kernels hki_layer_kernels_avx2_f32;
extern const hki_layer_kernels hki_layer_kernels_avx2_f64;
extern const hki_layer_kernels hki_layer_kernels_avx512_f32;
extern const hki_layer_kernels hki_layer_kernels_avx512_f64;

#endif
