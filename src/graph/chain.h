/* A chain: calls that work sample by sample, done depth-first. The batch is cut into pieces, which run in parallel, and each
 * piece into blocks that take every step of the chain before the next block begins, so that what is in between stays
 * in the cache. Pieces are parts of the tree by which samples are added up, base/sum_tree.h; sums are kept per piece, and
 * added at the end. How it is cut is a pure function of shapes and the instruction set.
 *
 * What a chain computes on is its values, one for each array of samples; a value is in one or both of two layouts while
 * a block is worked on: *rows*, samples in C order, and *lanes*. Those of many samples lie side by side in the lanes,
 * op/conv/conv2d_block.h. A chain *of images* is for samples too few for that, and without a backward pass: the lanes of
 * its values are channels, op/conv/conv2d_image.h. A chain *of rows* has fully connected layers and no convolution:
 * nothing of it is ever in lanes, op/matmul/layer_kernel.h. */
#ifndef HOCKET_GRAPH_CHAIN_H
#define HOCKET_GRAPH_CHAIN_H

#include "base/sum_tree.h"
#include "base/sync.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "op/conv/conv2d_image.h"
#include "op/elementwise/elementwise.h"
#include "op/matmul/layer_kernel.h"

enum {
    HKI_CHAIN_NOWHERE = -1,
    /* Pieces and blocks are of so many sizes at most: parts of the tree have two sizes, and the last one may be shorter; of
     * blocks one more is whole. */
    HKI_CHAIN_SIZES = 4
};

/* What its convolutions and layers work on. */
typedef enum hki_chain_form {
    HKI_CHAIN_OF_LANES,
    HKI_CHAIN_OF_ROWS,
    HKI_CHAIN_OF_IMAGES
} hki_chain_form;

typedef struct hki_chain_value {
    int slot;
    hk_dtype dtype;
    int64_t elements; /* of a sample */
    int array; /* operand of the chain's node that holds all samples, read or written; -1: there is none */
    bool is_output;
    bool is_kept;        /* rows of a whole piece, for steps at its end; where there is no array */
    bool fits_lanes;     /* its elements are as large as the chain's lanes */
    int64_t rows, lanes; /* places in the workspace, bytes; HKI_CHAIN_NOWHERE: not needed */
    hki_image
        image; /* its lanes in a chain of images; stride 0: not known yet, or never in lanes */
} hki_chain_value;

/* A sum over all samples: an operand that is written at the end. */
typedef struct hki_chain_sum {
    int array;
    hk_dtype dtype;
    int64_t elements;
    int64_t at;     /* in a piece's part, bytes */
    double divisor; /* of the whole; 0: none */
    int part;
    bool accumulates; /* blocks add to that of a run; else one step at the end of a piece sets it */
} hki_chain_sum;

typedef enum hki_chain_step_kind {
    HKI_STEP_CALL,     /* an operator's own kernel on a block */
    HKI_STEP_CALL_END, /* the same on a whole piece, when its blocks are done: sums */
    HKI_STEP_FORWARD,  /* conv2d_block.h, conv2d_image.h, layer_kernel.h */
    HKI_STEP_BACKWARD,
    HKI_STEP_TO_LANES,
    HKI_STEP_TO_ROWS,
    HKI_STEP_SPREAD /* rows of one element */
} hki_chain_step_kind;

typedef enum hki_chain_ref_kind {
    HKI_REF_NONE,
    HKI_REF_VALUE,
    HKI_REF_SHARED, /* an operand that all samples share */
    HKI_REF_SUM
} hki_chain_ref_kind;

typedef struct hki_chain_ref {
    hki_chain_ref_kind kind;
    int index;      /* of the value or sum; shared: of the operand */
    bool is_last;   /* samples lie along the last of two axes */
    bool is_spread; /* the value has in rows what the call has as one element */
} hki_chain_ref;

/* What op->plan says of a call on so many samples. */
typedef struct hki_chain_extent {
    int64_t extent, grain;
    size_t partial_bytes;
} hki_chain_extent;

typedef struct hki_chain_step {
    hki_chain_step_kind kind;
    int call;       /* of chain->calls: what failures are blamed on */
    int call_count; /* how many calls it stands for */
    int part;

    /* CALL, CALL_END */
    hki_chain_ref in[HKI_MAX_INPUTS], out[HKI_MAX_OUTPUTS];
    bool in_lanes;                             /* CALL: elementwise on lanes */
    hki_chain_extent extents[HKI_CHAIN_SIZES]; /* by size: of blocks, or of pieces */
    bool
        is_dense; /* CALL: a row of elementwise.def that refuses nothing, of dense rows and single elements */
    hki_row row;

    /* FORWARD: y = pool(relu(conv2d(x, weight) + bias)). BACKWARD: of a FORWARD step or of a convolution without
     * anything. TO_LANES, TO_ROWS: of x. SPREAD: the element `weight` to the rows of x. Values,
     * operands (weight, bias) and sums; -1: none. */
    hki_conv2d_block block;
    bool x_in_rows; /* FORWARD of images: x is read as it is */
    int x, y, weight, bias;
    int dx, dy, dweight, dbias;
    int mask; /* index of chain->masks */
    int pack; /* index of chain->packs */
} hki_chain_step;

extern const hki_chain_step hki_chain_no_step; /* a call on nothing */

/* Weights in the form that blocks want, made once for all pieces. */
typedef struct hki_chain_pack {
    hki_conv2d_block block;
    bool is_backward;
    bool
        is_constant; /* no call of the graph writes the weight, and it is the same array at each replay */
    hki_image x; /* of images: the layout that the weights are packed for */
    int weight;  /* operand */
    int part;
    int64_t at; /* in the memory for constant packs, or for the others */
} hki_chain_pack;

typedef struct hki_chain_mask {
    int64_t at; /* in the workspace */
    int64_t bytes;
} hki_chain_mask;

/* Some of a chain's steps, as a task of its own: chain_cut.c. */
typedef struct hki_chain_part {
    int begin, end; /* steps for each block */
    int *arrays;    /* owned: of the chain's, which it reads, then which it writes */
    int read_count, array_count;
    _Atomic(int64_t)
        took_ns; /* a run of all pieces, one after the other, smoothed; 0: there was none */
} hki_chain_part;

struct hki_chain {
    atomic_uint refs; /* its node's and those of its tasks */
    hki_device *device;
    bool f64;         /* of its lanes and layers */
    bool accumulates; /* some sum does */
    hki_chain_form form;
    int64_t samples, block_samples, piece_samples,
        piece_count; /* samples of a block or piece: at most */
    hki_sum_cut cut; /* the pieces; not of images, of which nothing is added up */
    int64_t block_sizes[HKI_CHAIN_SIZES],
        piece_sizes[HKI_CHAIN_SIZES]; /* all that there are; then 0 */
    hki_node *calls;                  /* owned, in their order */
    int call_count;
    hki_chain_value *values;
    int value_count;
    hki_chain_sum *sums;
    int sum_count;
    hki_chain_step
        *steps; /* end_steps of them for each block, the others when a piece's blocks are done */
    int step_count, end_steps;
    hki_chain_pack *packs;
    int pack_count;
    hki_chain_mask *masks;
    int mask_count;
    hki_node_operand *arrays; /* what it reads, then what it writes: the node's operands */
    bool *array_is_new;       /* temporaries, which a replay makes */
    int read_count, array_count;
    /* Bytes: workspace of a running piece, the part of it that a block uses, where its scratch and the sums of runs that
     * wait begin, a piece's part of the sums, packed weights, those that are kept. Rows of a whole piece begin at kept_at. */
    int64_t workspace_bytes, block_bytes, kept_at, scratch_at, waiting_at, sum_bytes, packed_bytes,
        kept_bytes;
    hki_chain_part *parts; /* one, unless it is cut */
    int part_count;
    int state_slot; /* cut: of what blocks and pieces hold between parts, so many bytes a block and a piece */
    int64_t block_state_bytes, piece_state_bytes;
    hki_keeper keeper; /* of packs of constants */
};

/* ---- forming ----------------------------------------------------------------------------------------------------- */

/* Where a node comes, seen from a chain. */
typedef enum hki_chain_place {
    HKI_PLACE_BEFORE,
    HKI_PLACE_BEFORE_BY_SHAPE, /* it reads the shape alone of what is known after the chain */
    HKI_PLACE_WITHIN,
    HKI_PLACE_AFTER
} hki_chain_place;

/* Into how many pieces a chain of so many samples is cut; with convolutions up to twice as many. */
int64_t hki_chain_piece_count(int64_t samples);

/* chain_find.c: the places of all nodes, for one more chain; sets *samples. Nodes before `from` do
 * not begin one. Returns the node that it was found by, or -1. */
int hki_chain_find(const hk_graph *graph, int from, hki_chain_place *places, int64_t *samples);

/* chain_steps.c: steps, values, sums and arrays from chain->calls, which are in place. outside[slot]: somebody but the
 * chain looks at the slot. False: out of host memory. */
bool hki_chain_make_steps(hki_chain *chain, int slot_count, const bool *outside);
/* The tensor of the whole batch that a call's operand is for its step, without storage and data. */
void hki_chain_ref_tensor(const hki_node *node, int operand, const hki_chain_ref *ref,
                          hki_tensor *tensor);
/* chain_fuse.c: a FORWARD or BACKWARD step from the call and, where nobody looks at what is in between, what follows it;
 * notes in done[] which other calls it stands for. True: *step is filled, but for slots in the places of what it makes,
 * and hki_chain_input in those of what it reads. *backward: the gradient that goes with it, to be done in the place of
 * backward->call; of kind HKI_STEP_CALL: there is none. */
bool hki_chain_fuse(const hki_chain *chain, const bool *outside, int call, hki_chain_step *step,
                    hki_chain_step *backward, bool *done);
static inline int hki_chain_input(int call, int input)
{
    return call * HKI_MAX_INPUTS + input;
}
/* chain_layout.c: inserts conversions between layouts, and gives everything its place. False: out of host memory, or a
 * step on images cannot read what another makes. */
bool hki_chain_lay_out(hki_chain *chain);

/* chain_cut.c: sets chain->parts, one or several. False: out of host memory. */
bool hki_chain_cut(hki_chain *chain, const hk_graph *graph, const hki_chain_place *places);
void hki_chain_parts_destroy(hki_chain *chain);
/* The nodes of all parts are in place: behind[i] becomes the part that the graph's node i, which comes after the chain, can
 * follow at once. False: out of host memory. */
bool hki_chain_follow(const hk_graph *graph, const hki_chain_place *places, const hki_node *parts,
                      int count, int *behind);
static inline int64_t hki_chain_state_bytes(const hki_chain *chain)
{
    return chain->piece_count * chain->piece_state_bytes;
}

/* How a noted call treats the batch: op->batch with its operands. *batch points into *views. */
typedef struct hki_chain_views {
    hki_shape_view in[HKI_MAX_INPUTS], out[HKI_MAX_OUTPUTS];
} hki_chain_views;
hki_batch_kind hki_chain_ask(const hki_node *node, hki_batch *batch, hki_chain_views *views);
/* C order without gaps. */
bool hki_chain_is_dense(const hki_tensor *tensor);
/* One element, shown several times, along all axes. */
bool hki_chain_is_spread(const hki_tensor *tensor);

/* ---- packed weights: chain_packs.c ------------------------------------------------------------------------------- */

/* For the chain's keeper: of which operands constant packs are. False: out of host memory. */
bool hki_chain_note_constants(hki_chain *chain);
/* The layer that a step of a chain of rows is, or a pack: what it reads are its inputs. */
hki_layer hki_chain_layer(const hki_conv2d_block *block, bool is_backward);
/* Packs one weight into its memory. */
void hki_chain_pack_weight(const hki_chain *chain, const hki_chain_pack *pack, const void *weight,
                           void *packed);
size_t hki_chain_pack_bytes(const hki_chain *chain, const hki_chain_pack *pack);

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* One piece at work. */
typedef struct hki_chain_run {
    const hki_chain *chain;
    hki_task *task;
    int64_t piece;
    int64_t begin, end;   /* samples of the piece */
    int64_t first, count; /* of the block, or of the piece at its end */
    char *workspace,
        *rows;     /* where offsets of the block count from; those of rows of a whole piece */
    char *scratch; /* and sums of runs that wait */
    char *piece_sums, *sums;   /* sums: of the run */
    const char *packed, *kept; /* weights: NULL, or those that are constant */
    char *const *arrays;       /* where the operands' first elements are */
    hki_storage *storage;      /* some storage of the device, for kernels that ask where they are */
} hki_chain_run;

/* The samples of a piece. */
void hki_chain_piece(const hki_chain *chain, int64_t piece, int64_t *begin, int64_t *end);
/* chain_run.c: false when the step failed, and so has the task. */
bool hki_chain_run_step(const hki_chain_run *run, const hki_chain_step *step);

#endif
