/* What the operators of attention share: those of ONNX, and those that exporters write. */
#ifndef HOCKET_ONNX_ATTENTION_H
#define HOCKET_ONNX_ATTENTION_H

#include "onnx.h"

typedef enum onnx_scores {
    ONNX_SCORES_PLAIN,   /* products of queries and keys */
    ONNX_SCORES_CAPPED,  /* after softcap */
    ONNX_SCORES_BIASED,  /* and with the bias */
    ONNX_SCORES_SOFTMAX, /* after softmax */
    ONNX_SCORES_NONE
} onnx_scores;

typedef struct onnx_attention {
    hk_array *q, *k, *v; /* (n, heads, l, d), (n, key heads, s, d), (n, key heads, s, e) */
    hk_array *seen;      /* bool, broadcasts to (n, heads, l, s); NULL: all are */
    hk_array *bias;      /* numbers, likewise; NULL: none */
    bool is_causal;      /* besides: query i sees keys 0 … i alone */
    double scale, cap;   /* cap 0: none */
    hk_dtype dtype;      /* in which it is computed: float32 or float64 */
    onnx_scores wanted;
    hk_array *scores; /* out: (n, heads, l, s); NULL: none is wanted */
} onnx_attention;

/* (n, heads, l, e) of self->dtype. A query that sees no key gives 0. */
hk_array *onnx_attend(onnx_attention *self);
/* q, k and v fit each other; false after refusing. */
bool onnx_attention_fits(onnx_call *call, const onnx_attention *self);

/* Whether query i, which is at i + offset, sees key j, up to left entries before it and right
 * ones behind it; -1: any number. offset: integers that broadcast to (n, 1, 1, 1), or NULL: 0.
 * Gives (…, l, s), or NULL where both are -1. */
hk_array *onnx_seen_near(onnx_call *call, int64_t l, int64_t s, hk_array *offset, int64_t left,
                         int64_t right);
/* Keys 0 … count - 1 alone. counts: (n) integers. (n, 1, 1, s) */
hk_array *onnx_seen_first(onnx_call *call, int64_t s, hk_array *counts);
/* Both; either may be NULL. */
hk_array *onnx_seen_both(hk_array *x, hk_array *y);
hk_array *onnx_integer_like(int64_t number, hk_array *x);

/* (n, l, heads d) as (n, heads, l, d), and back. heads divides the last axis; false after
 * refusing. */
bool onnx_split_heads(onnx_call *call, const char *name, int64_t heads, hk_array **x);
hk_array *onnx_join_heads(hk_array *x);

/* x (n, heads, l, d) with its first `width` numbers turned by angles, of which cos and sin, (n
 * or 1, l, width / 2), are given: pairs are neighbours, or number i and i + width / 2. */
hk_array *onnx_rotate(hk_array *x, hk_array *cos, hk_array *sin, int64_t width, bool interleaved);

bool onnx_run_ms_attention(onnx_call *call);
bool onnx_run_ms_multi_head(onnx_call *call);
bool onnx_run_ms_group_query(onnx_call *call);
bool onnx_run_ms_rotary(onnx_call *call);

#endif
