/* What attention does with the rows of a block of scores between products. Sums in double, in
 * lanes that are joined in a fixed order: the same bytes of the same scores on each instruction
 * set. Threads: pure functions. Internal to attention_*. */
#ifndef HOCKET_OP_ATTENTION_ROWS_H
#define HOCKET_OP_ATTENTION_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* A block of scores: query key^T of some queries, its rows, and keys. Items are float32 or
 * float64. */
typedef struct hki_attention_tile {
    int64_t rows, columns, row; /* row: elements from one to the next */
    int64_t sees;               /* row r sees columns 0 to r + sees, where there are so many */
    double scale;
    const void *mask; /* with rows mask_row apart, whose elements lie side by side; NULL: none */
    int64_t mask_row;
    bool mask_is_bool;
    void *scores;
    void *saved; /* of each row first: the largest score, and 1 / sum of the exponentials */
    int64_t saved_row;
    bool keeps;  /* the exponentials lie behind them: for slope */
    double *sum; /* of each row, of the exponentials up to now; of a gradient: of dy y */
    void *y;     /* rows of results, outputs each, side by side */
    int64_t outputs;
    bool is_first; /* nothing is in y, sum and saved yet */
    const void *dy;
    int64_t dy_row;
    void *slopes; /* of the weights, which become those of the scores before they were scaled */
} hki_attention_tile;

/* - is_finite: none of so many is NaN or infinite.
 * - weigh: exponentials in place of scores, about the largest score up to now, to which sums and
 *   results are brought.
 * - finish: results divided by their sums, of which the inverse is saved.
 * - dots: sums of dy y.
 * - slope: weights in place of scores, and their slopes become those of the scores.
 * - note_seen: whether a row of the mask leaves something of a column. */
#define HKI_ATTENTION_ROWS(name)                                                                   \
    bool (*is_finite_##name)(const void *x, int64_t count);                                        \
    void (*weigh_##name)(const hki_attention_tile *tile);                                          \
    void (*finish_##name)(const hki_attention_tile *tile);                                         \
    void (*dots_##name)(const hki_attention_tile *tile);                                           \
    void (*slope_##name)(const hki_attention_tile *tile);                                          \
    void (*note_seen_##name)(const hki_attention_tile *tile, uint8_t *seen);

typedef struct hki_attention_rows {
    HKI_ATTENTION_ROWS(f32)
    HKI_ATTENTION_ROWS(f64)
} hki_attention_rows;

extern const hki_attention_rows hki_attention_rows_portable, hki_attention_rows_avx2,
    hki_attention_rows_avx512;

#endif
