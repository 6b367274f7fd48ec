/* Copies of a rectangle of elements whose rows and columns may lie in any order: transposition, by tiles of a few cache lines of
 * both sides. Threads: pure functions. */
#ifndef HOCKET_OP_RECTANGLE_H
#define HOCKET_OP_RECTANGLE_H

#include <stdint.h>

/* `rows` of `columns` elements; steps in bytes. Fast where in_row, by which the input lies closest, and out_column are an
 * element's bytes. */
typedef struct hki_rectangle {
    int64_t rows, columns;
    int64_t in_row, in_column, out_row, out_column;
} hki_rectangle;

/* bytes: of an element, 1, 2, 4, 8 or 16. The two memories do not overlap. */
void hki_copy_rectangle(const hki_rectangle *self, int64_t bytes, const char *in, char *out);

/* Of dense rows and dense columns whose numbers are multiples of these: a register full of each row is stored at once. */
typedef struct hki_turn {
    int64_t rows, columns; /* 0: there is none */
    void (*run)(const hki_rectangle *self, const char *in, char *out);
} hki_turn;
/* By log2 of an element's bytes. */
enum { HKI_TURNS = 4 };
extern const hki_turn hki_turns_avx2[HKI_TURNS], hki_turns_avx512[HKI_TURNS];

#endif
