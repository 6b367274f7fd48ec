/* All steps of a recurrent layer, and their gradients, for a range of rows: samples, which are independent of each other. Products go
   by layer_kernel.h, whose weights are packed once for all steps, and what gates do by cell_loops.h.

   Arrays lie in C order and overlap nowhere. Every function is reentrant and allocates nothing. A row has the same bytes whatever
   other rows there are. */
#ifndef HOCKET_OP_RECURRENCE_KERNEL_H
#define HOCKET_OP_RECURRENCE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hki_recurrence_kind {
    HKI_RECURRENCE_TANH,
    HKI_RECURRENCE_GRU,
    HKI_RECURRENCE_LSTM,
    HKI_RECURRENCE_KINDS
} hki_recurrence_kind;

/* Parts of the sums of a kind, and of what gradients read of a step: of TANH what it gives. */
typedef struct hki_recurrence_parts {
    int64_t sums, kept;
} hki_recurrence_parts;
extern const hki_recurrence_parts hki_recurrence_parts_of[HKI_RECURRENCE_KINDS];

typedef struct hki_recurrence {
    hki_recurrence_kind kind;
    bool f64, is_reversed; /* is_reversed: steps go from the last to the first */
    int64_t steps, units;
    int64_t inputs;     /* a row of x in a step; of gradients 0 where that of x is not wanted */
    const void *weight; /* of the state: (sums units, units) */
} hki_recurrence;

/* x is (rows, steps, inputs), h and c before the first step are (rows, units), all else (rows, steps, parts units). */
typedef struct hki_recurrence_forward {
    hki_recurrence of;
    const void *x, *x_weight, *x_bias; /* x_weight: (sums units, inputs) */
    const void *bias, *h0, *c0;        /* bias: of the state; h0, c0: NULL: zeros */
    void *h, *c, *kept; /* c: of LSTM; kept: of LSTM and GRU, NULL: nobody wants it */
} hki_recurrence_forward;

/* past and first: c and c0 of LSTM, h and h0 of GRU; first NULL: zeros. What is NULL of the gradients of h, c and kept is left out. */
typedef struct hki_recurrence_backward {
    hki_recurrence of;
    const void *kept, *past, *first, *dh, *dc, *dkept, *x_weight;
    void *dx_sums, *dsums; /* of the sums of x and of h; dsums: of GRU, else they are the same */
    void *dh0, *dc0;       /* dc0: of LSTM; NULL: nobody wants them */
    void *dx;              /* NULL, or by x_weight (sums units, inputs) */
} hki_recurrence_backward;

/* Workspace for so many rows: 64-byte aligned, as it has to be. */
size_t hki_recurrence_scratch_bytes(const hki_recurrence *of, bool is_backward, int64_t rows);
void hki_recurrence_run(const hki_recurrence_forward *call, int64_t begin, int64_t end,
                        void *scratch);

/* The same of a few rows, with weights that are packed once, for several threads: in rounds, of which each is done for all units before
   the next one begins. Round 0 makes sums of x, each round behind it is a step. What of it a call does is some of the units, which
   begin at a multiple of HKI_RECURRENCE_UNITS. */
enum { HKI_RECURRENCE_UNITS = 32 };
bool hki_recurrence_has_rounds(const hki_recurrence *of, int64_t rows);
static inline int64_t hki_recurrence_rounds(const hki_recurrence *of)
{
    return of->steps + 1;
}
size_t hki_recurrence_packed_bytes(const hki_recurrence *of);
void hki_recurrence_pack(const hki_recurrence_forward *call, void *packed);
/* What all rounds share, and what one has for itself while it does so many units; 64-byte aligned. */
size_t hki_recurrence_shared_bytes(const hki_recurrence *of, int64_t rows);
size_t hki_recurrence_round_scratch_bytes(const hki_recurrence *of, int64_t rows, int64_t units);
void hki_recurrence_round(const hki_recurrence_forward *call, int64_t rows, const void *packed,
                          void *shared, int64_t round, int64_t first, int64_t units, void *scratch);

void hki_recurrence_run_backward(const hki_recurrence_backward *call, int64_t begin, int64_t end,
                                 void *scratch);

#endif
