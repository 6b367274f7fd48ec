/* How a convolution pass is cut for the lane kernels: a pure function of geometry and lane shape.
   Internal to conv2d_*. */
#ifndef HOCKET_OP_KERNELS_CONV2D_PLAN_H
#define HOCKET_OP_KERNELS_CONV2D_PLAN_H

#include "base/integer.h"
#include "op/conv/conv2d_kernel.h"

enum {
    HKI_CONV2D_TILE_O_MAX = 10, /* channels of a register tile */
    HKI_CONV2D_TILE_W_MAX = 6,  /* columns (or weights) of a register tile */
    HKI_CONV2D_LANES_MAX = 16,
    HKI_WINOGRAD_WIDE_BYTES = 4, /* of elements that have tiles of 6 x 6 products */
    HKI_WINOGRAD_TILE_O =
        8, /* channels of a register tile of Winograd's products; or half of that */
};

/* What the plan needs to know of an instruction set and dtype. */
typedef struct hki_conv2d_lane_shape {
    int64_t lanes;        /* elements of a vector */
    int64_t element_size; /* bytes */
    /* tile_w[o] is the widest tile of o channels whose accumulators stay in registers; 0: none */
    uint8_t tile_w[HKI_CONV2D_TILE_O_MAX + 1];
} hki_conv2d_lane_shape;

/* That of this machine, see kernel_isa.h. */
const hki_conv2d_lane_shape *hki_conv2d_shape_get(bool f64);

/* One axis of "target = correlation of source". Target index phase + phases * t takes, for each tap
   of that phase, the source index t * step + tap_offset. Forward has one phase and step = stride;
   backward_data has `stride` phases and step 1. */
typedef struct hki_conv2d_axis {
    int64_t source, target, kernel, stride, pad, dilation;
    bool backward;
    int64_t phases, step;
    int64_t per_phase; /* t runs below this, in the longest phase */
    int64_t offset_min, offset_max;
    int64_t *tap_kernel;  /* [kernel], grouped by phase */
    int64_t *tap_offset;  /* [kernel]; columns: in elements of the transposed row */
    int64_t *phase_begin; /* [phases + 1] */
} hki_conv2d_axis;

/* Columns [t, t + width) of a column phase, and the taps of the phase that touch the source. Ragged: some of
   them touch it for some of the columns only. */
typedef struct hki_conv2d_segment {
    int32_t t, width, tap_begin, tap_end;
    bool ragged;
} hki_conv2d_segment;

typedef struct hki_conv2d_plan {
    hki_conv2d_pass pass;
    int64_t lanes, element_size;
    hki_conv2d_lane_shape shape;
    int64_t source_channels, target_channels;
    int64_t parts, part_begin, part_end; /* of the target channels: the geometry's, none as one */
    int64_t weight_source_stride, weight_target_stride;
    hki_conv2d_axis row, column;
    bool direct; /* columns in the lanes, see conv2d_direct.inc.c; no strips, bands, chunks */
    bool
        winograd; /* see conv2d_winograd.inc.c; band_t counts rows of tiles then; no strips, chunks */
    int64_t tile_n,
        tile_m; /* winograd: tiles of m x m results, of n x n products for each weight's place */
    int64_t tile_rows, tile_columns; /* winograd: tiles of an image */
    bool tiles_in_lanes;             /* winograd: not samples, of which there are few; no bands */
    int64_t group;                   /* winograd: tiles, or vectors of them, done at a time */
    /* winograd: from one of the n x n matrices to the next, in elements; odd in lines, for they are
       written side by side and a cache has few places for one remainder */
    int64_t source_part, target_part, weight_part;
    int64_t *channel_offset; /* winograd: [source_channels], in elements of transformed input */
    int64_t strips;          /* per sample; 1 unless the batch is small */
    int64_t strip_t;         /* t of the row axis per strip */
    int64_t strip_rows;      /* target rows per strip */
    bool block;              /* the samples lie in lanes already: conv2d_block.h */
    bool in_place;           /* block: the source is read where the caller has it */
    int64_t row_stride, channel_stride; /* of the source rows that tiles read, in elements */
    int64_t left;                       /* zero columns before column 0 */
    int64_t positions;                  /* vectors of a transposed row */
    int64_t column_pitch;               /* positions between the columns modulo step */
    int64_t band_t;                     /* t of the row axis done at a time */
    int64_t band_rows;                  /* source rows that a band takes, at most */
    int64_t chunk;                      /* source channels done at a time */
    int64_t target_chunk;               /* weigh, winograd: target channels likewise */
    int64_t sub_t; /* t per tile of results in L1: apply transposes so many, weigh sums them */
    int64_t tile_o, tile_w;
    int64_t inner_begin, inner_end; /* t of the row axis at which all taps touch the source */
    hki_conv2d_segment *segments;
    int64_t *segment_begin; /* [column.phases + 1] */
    int64_t *row_offset; /* [row.kernel]: a row tap's place in the transposed band, in elements */
    int64_t *column_position; /* [source columns], in elements */
    int32_t *pixel_position;  /* [band_rows * source columns], in elements; direct: two a point */
    int64_t *weight_offset;   /* backward_weight: [chunk * kernel], in elements */
    void *work;               /* the tiling search */
    /* bytes from the start of scratch */
    size_t packed_at, source_at, target_at, bytes;
    size_t winograd_source_at,
        winograd_sums_at; /* transformed input; sums, or transformed gradient */
} hki_conv2d_plan;

/* Everything but the tables; `bytes` is the scratch needed. */
void hki_conv2d_plan_init(hki_conv2d_plan *plan, const hki_conv2d_geometry *geometry,
                          hki_conv2d_pass pass, const hki_conv2d_lane_shape *shape);
/* The same for a block of samples in lanes: no strips, no chunks, no direct way; bands and `sub_t` are
   multiples of `unit` rows (forward: a pool's height). Source channels lie apart by whole images, or
   bands, [channel][row][position]. `bytes` is that of the tables and the packed weights. */
void hki_conv2d_plan_init_block(hki_conv2d_plan *plan, const hki_conv2d_geometry *geometry,
                                hki_conv2d_pass pass, const hki_conv2d_lane_shape *shape,
                                int64_t unit);
/* Points the tables into memory where they are, or will be. */
void hki_conv2d_plan_place(hki_conv2d_plan *plan, void *memory);
/* Places the tables in scratch and fills them. */
void hki_conv2d_plan_build(hki_conv2d_plan *plan, void *scratch);

/* Between the files of a plan (conv2d_tiling.c): sets tile_o and tile_w for `points` vectors of results a channel; then the
 * segments. */
void hki_conv2d_choose_tile(hki_conv2d_plan *plan, int64_t points);
void hki_conv2d_cut_columns(hki_conv2d_plan *plan);

/* Part `index` of [0, total) cut into parts that differ by one at most, none above `most`. */
static inline int64_t hki_conv2d_part_begin(int64_t total, int64_t most, int64_t index)
{
    int64_t parts = hki_divide_up(total, most);
    int64_t size = total / parts, longer = total % parts;
    return index * size + (index < longer ? index : longer);
}

/* First of the channels, a multiple of whole register tiles, of a part of the target channels. */
static inline int64_t hki_conv2d_part_channel(const hki_conv2d_plan *plan, int64_t part)
{
    const int64_t tiles = hki_divide_up(plan->target_channels, plan->tile_o);
    return hki_conv2d_part_begin(plan->target_channels, plan->tile_o, tiles * part / plan->parts);
}

/* again: scratch is as another call of weigh with the plan left it. */
#define HKI_CONV2D_DECLARE(ISA, T, DT)                                                             \
    void hki_conv2d_apply_##ISA##_##DT(const hki_conv2d_plan *plan, const T *source,               \
                                       const T *weight, const T *bias, T *target, int64_t begin,   \
                                       int64_t end, void *scratch);                                \
    bool hki_conv2d_weigh_##ISA##_##DT(const hki_conv2d_plan *plan, const T *x, const T *dy,       \
                                       T *dweight, T *dbias, int64_t begin, int64_t end,           \
                                       bool again, void *scratch);                                 \
    extern const hki_conv2d_lane_shape hki_conv2d_shape_##ISA##_##DT;

HKI_CONV2D_DECLARE(portable, float, f32)
HKI_CONV2D_DECLARE(portable, double, f64)
HKI_CONV2D_DECLARE(avx2, float, f32)
HKI_CONV2D_DECLARE(avx2, double, f64)
HKI_CONV2D_DECLARE(avx512, float, f32)
HKI_CONV2D_DECLARE(avx512, double, f64)

#endif
