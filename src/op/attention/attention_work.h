/* What forward and backward share: blocks of matrices, where products find them, and what a mask
 * leaves of them. Internal to attention_*. */
#ifndef HOCKET_OP_ATTENTION_WORK_H
#define HOCKET_OP_ATTENTION_WORK_H

#include "op/attention/attention_kernel.h"
#include "op/attention/attention_rows.h"

/* Rows from `first` on, whose elements lie side by side. */
typedef struct hki_attention_block {
    const void *data;
    int64_t row; /* elements from one to the next */
} hki_attention_block;

typedef struct hki_attention_work {
    const hki_attention *of;
    const hki_attention_rows *rows;
    int64_t item;                   /* bytes */
    int64_t query_block, key_block; /* rows of a block */
    int64_t row;                    /* of scores */
    int64_t saved_row;
    bool keeps; /* exponentials */
    void *scores, *slopes, *query, *key, *value, *dy, *mask;
    double *sum;
    uint8_t *seen; /* of the keys of a block, or queries */
    void *product;
} hki_attention_work;

/* Shares out the scratch; returns its bytes. scratch NULL: nothing but that. */
size_t hki_attention_work_init(hki_attention_work *work, const hki_attention *of, bool is_gradient,
                               void *scratch);

/* Rows [first, first + rows) of a side: in place, or copied to the room where a product could not
 * read them. */
hki_attention_block hki_attention_rows_of(const hki_attention_work *work,
                                          const hki_attention_side *side, int64_t first,
                                          int64_t rows, int64_t columns, void *room);
/* The same without what is not seen, where that is not finite: 0 times it would be NaN. */
void hki_attention_leave_out(const hki_attention_work *work, hki_attention_block *block,
                             int64_t rows, int64_t columns, const uint8_t *seen, void *room);

typedef enum hki_attention_sight {
    HKI_ATTENTION_ALL, /* every key is seen by a query of the block */
    HKI_ATTENTION_SOME,
    HKI_ATTENTION_NONE
} hki_attention_sight;

/* Points the tile to its part of the mask, queries from i and keys from j on, and notes in
 * work->seen which keys a query sees. */
hki_attention_sight hki_attention_look(const hki_attention_work *work, hki_attention_tile *tile,
                                       int64_t i, int64_t j);

/* c = a b, or c += a b; a is m x k, or k x m where it is turned; b k x n, or n x k. */
typedef struct hki_attention_product {
    hki_attention_block a, b, c;
    int64_t m, n, k;
    bool turns_a, turns_b, adds;
} hki_attention_product;

void hki_attention_multiply(const hki_attention_work *work, const hki_attention_product *product);

/* The rows of the pair of blocks that see something of it: queries [i0, i1) and keys [j0, j1).
 * False: none does. */
typedef struct hki_attention_pair {
    int64_t i0, i1, j0, j1;
} hki_attention_pair;

bool hki_attention_pair_of(const hki_attention_work *work, int64_t query_block, int64_t key_block,
                           hki_attention_pair *pair);

static inline void *hki_attention_at(const hki_attention_work *work, const void *data,
                                     int64_t elements)
{
    return (char *)data + elements * work->item;
}

/* Calls the function of the rows for the item's type. */
#define HKI_ATTENTION_CALL(work, function, ...)                                                    \
    ((work)->of->f64 ? (work)->rows->function##_f64(__VA_ARGS__)                                   \
                     : (work)->rows->function##_f32(__VA_ARGS__))

#endif
