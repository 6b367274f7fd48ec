/* What conv2d_image.c asks of the kernels of one vector width. Internal to conv2d_image*.
 *
 * Output channels go in groups of as many as a vector has lanes; a last group of no more than half of them goes in half
 * vectors, which take half as long. Of no more than a quarter of them, and pooled by windows of 2 x 2, the direct method
 * makes four results with one vector, or, of no more than half of them, with two.
 *
 * Where a vector of an element again and again takes a load of its own (all but AVX-512), two or three groups go side by
 * side: what is loaded serves all of them. */
#ifndef HOCKET_OP_KERNELS_CONV2D_IMAGE_KERNELS_H
#define HOCKET_OP_KERNELS_CONV2D_IMAGE_KERNELS_H

#include "op/conv/conv2d_image.h"
#include "op/simd/vector_zip.h"

enum {
    HKI_IMAGE_PIXELS = 13, /* of a row, that one step of the direct method takes, at most */
    HKI_IMAGE_ROWS = 2,    /* and of so many rows, where half as many pixels are left in a row */
    HKI_IMAGE_TILES = 12,  /* of one step of Winograd's; times vectors, too */
    HKI_IMAGE_VECTORS = 3, /* of its products, at most */
    HKI_IMAGE_WIDE = 2,   /* vectors of windows of 2 x 2, and of those for a quarter of the lanes */
    HKI_IMAGE_POINTS = 8, /* a tile of it takes 8 x 8 elements of x, */
    HKI_IMAGE_TILE = 4,   /* for 4 x 4 results */
    HKI_IMAGE_KERNEL = 5, /* of a kernel of 5 x 5 */
    HKI_IMAGE_DENSE = 4   /* vectors of one step of a dense layer */
};

/* rows x pixels results of a group. */
typedef struct hki_image_direct {
    const float *x; /* where the first weight of the first result finds its element */
    int64_t
        row; /* floats from there to the next result row's; the next result's is the next float */
    const float *weight;    /* [vector][terms][lane] */
    const int32_t *offsets; /* of terms, floats */
    int64_t terms;
    const float *bias; /* [vector][lane] */
    bool relu;
    float *y;
    int64_t y_row, y_stride;
    int64_t rows, pixels;
    int64_t vectors; /* of windows: 1 or HKI_IMAGE_WIDE */
} hki_image_direct;

typedef struct hki_image_dense {
    const float *x; /* [samples][pixels][channels] */
    int64_t x_sample, x_stride, pixels, channels;
    const float *weight; /* [pixel][channel][vectors][lane] */
    const float *bias;   /* [vectors][lane] */
    bool relu;
    float *y;
    int64_t y_sample;
    int64_t samples, vectors;
} hki_image_dense;

/* [vector][point][tile][lane] = sum over c of v[point][tile][c] * u[vector][point][c][lane]. */
typedef struct hki_image_products {
    const float *v, *u;
    int64_t v_point, v_tile, channels, tiles;
    int64_t vectors; /* hki_image_vectors at most */
    float *to;
} hki_image_products;

/* The results of a tile from its 64 sums, or the windows of 2 x 2 in it. */
typedef struct hki_image_tile {
    const float *sums; /* [point] at a distance of `stride` */
    int64_t stride;
    const float *bias; /* [lane] */
    bool relu;
    hki_block_pool pool; /* of windows of 2 x 2; NONE: y is the results themselves */
    float *y;
    int64_t y_row, y_stride;
    int64_t rows, columns; /* of results, that are wanted, at most the tile's */
} hki_image_tile;

/* A row of windows of a group. */
typedef struct hki_image_pool {
    const float *from; /* [row][column][lane] */
    int64_t from_row;
    hki_block_pool pool;
    int64_t height, width, windows;
    float *y;
    int64_t y_stride;
} hki_image_pool;

typedef struct hki_conv2d_image_kernels {
    int64_t lanes;
    int64_t vectors; /* side by side, at most: 1 or HKI_IMAGE_VECTORS */
    void (*direct)(const hki_image_direct *call);
    /* A row of windows of 2 x 2 from two rows of results; pixels: an even number. y_stride is from window to window. */
    void (*windows)(const hki_image_direct *call, hki_block_pool pool);
    /* The same for no more channels than a quarter of the lanes, or half of them in two vectors, from four pixels on: a
     * vector is [channel][pixel]. weight and bias have each element four times. Lanes of y up to half of them are written. */
    void (*quarter)(const hki_image_direct *call, hki_block_pool pool);
    void (*dense)(const hki_image_dense *call);
    /* The 8 x 8 window at x, of which rows [row0, row1) and columns [column0, column1) are there, the others zeros;
     * to `to`, 64 points at a distance of to_point. */
    void (*tile_in)(const float *x, int64_t x_row, int64_t x_stride, const int row[2],
                    const int column[2], float *to, int64_t to_point);
    void (*products)(const hki_image_products *call);
    /* The same for a quarter of the lanes' channels, whose sums fill half of the lanes, and a multiple of four channels of
     * x: u is [point][c / 4][lane / 4][c % 4]. */
    void (*quarter_products)(const hki_image_products *call);
    void (*tile_out)(const hki_image_tile *call);
    void (*pool)(const hki_image_pool *call);
    /* weight: [5][5][lane]; to 64 points. */
    void (*tile_weight)(const float *weight, float *to, int64_t to_point);
    /* As many floats of as many rows as there are lanes; `row` floats from row to row. */
    void (*transpose)(const float *rows, int64_t row, float *to);
} hki_conv2d_image_kernels;

/* Of an instruction set: whole vectors, and half of them or the same again. */
extern const hki_conv2d_image_kernels *const hki_conv2d_image_kernels_portable[2];
extern const hki_conv2d_image_kernels *const hki_conv2d_image_kernels_avx2[2];
extern const hki_conv2d_image_kernels *const hki_conv2d_image_kernels_avx512[2];

#endif
