/* Attention of one matrix of queries to one of keys, on one core, in blocks: the scores of a block
 * of queries with a block of keys are all that there is of scores at a time (Dao et al. 2022,
 * arXiv 2205.14135). float32 or float64.
 *
 * Results are a pure function of sizes, layout, what is computed from what, and the instruction
 * set; not of which blocks a call does, and whether it does queries and keys of the gradient
 * together. What no query of a block sees is not read but as a product with 0 where it is finite.
 * Every function is reentrant and allocates nothing. */
#ifndef HOCKET_OP_KERNELS_ATTENTION_KERNEL_H
#define HOCKET_OP_KERNELS_ATTENTION_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A matrix in memory; strides in elements, 0 and more. */
typedef struct hki_attention_side {
    const void *data;
    int64_t row, column;
} hki_attention_side;

/* n queries of d elements, m keys of d and values of e. */
typedef struct hki_attention {
    bool f64, mask_is_bool;
    bool causal; /* query i sees keys 0 to i; no mask */
    int64_t n, m, d, e;
    double scale; /* > 0 */
    hki_attention_side query, key, value;
    hki_attention_side mask; /* (n, m): bool, or numbers that are added; data NULL: none */
    void *y;                 /* (n, e), rows after rows; of a gradient read alone */
    void *
        saved; /* (n, hki_attention_saved_row): the largest score of each query, and the inverse of the sum of exponentials; 0
                    and 0 of one that sees no key. Of small matrices the exponentials follow. */
    /* Of the gradient: that of y, and where those of query, key and value go, rows after rows. */
    hki_attention_side dy;
    void *dquery, *dkey, *dvalue;
} hki_attention;

/* Numbers saved for each query. The scores of small matrices are about as many as other numbers,
 * and kept: the gradient takes four products then. */
int64_t hki_attention_saved_row(const hki_attention *of);

/* In how many blocks queries and keys are done. */
int64_t hki_attention_query_blocks(const hki_attention *of);
int64_t hki_attention_key_blocks(const hki_attention *of);

/* Workspace, 64-byte aligned; more than 0. */
size_t hki_attention_scratch_bytes(const hki_attention *of, bool is_gradient);

/* y and saved of blocks [begin, end) of the queries. */
void hki_attention_forward(const hki_attention *of, int64_t begin, int64_t end, void *scratch);
/* Of units [begin, end) the gradients: first come the blocks of queries, then those of keys, with
 * their values. All of them together take five products, and 3 and 4 by themselves. */
void hki_attention_backward(const hki_attention *of, int64_t begin, int64_t end, void *scratch);

#endif
