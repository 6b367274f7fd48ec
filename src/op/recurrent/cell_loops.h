/* One step of recurrent cells for a run of units side by side: what gates let through, and the gradients of that. By the arithmetic
 * of the elementwise operators, in their order: the same bytes on each instruction set. Threads: pure functions. */
#ifndef HOCKET_OP_CELL_LOOPS_H
#define HOCKET_OP_CELL_LOOPS_H

#include <stdint.h>

enum {
    HKI_CELL_CHUNK = 256, /* units that a call takes at most */
    /* Parts of the sums; what is kept of a step; in their order. */
    HKI_LSTM_SUMS = 4, /* in, forget, candidate, out */
    HKI_LSTM_KEPT = 5, /* those behind their functions, and tanh of the new cell */
    HKI_GRU_SUMS = 3,  /* reset, update, candidate */
    HKI_GRU_KEPT =
        4, /* those behind their functions, and the candidate's part of the state's sums */
};

/* lstm: x and h are the sums of inputs and of the state, c the cell before; y and next: the state and the cell after.
 * lstm_back: dy, dnext, dkept: gradients of what `lstm` gives, none of them NULL; ds: of x, and of h; dc: of c.
 * add: y += x. tanh: y = tanh(x + h). tanh_back: its gradient, by what it gave.
 * gru: y is the state after `state`. gru_back: dx: of x, dh: of h, dstate: of state. */
#define HKI_CELL_LOOPS(T, name)                                                                    \
    void (*add_##name)(const T *x, T *y, int64_t count);                                           \
    void (*tanh_##name)(const T *x, const T *h, T *y, int64_t count);                              \
    void (*tanh_back_##name)(const T *y, const T *dy, T *dx, int64_t count);                       \
    void (*lstm_##name)(const T *const *x, const T *const *h, const T *c, T *y, T *next,           \
                        T *const *kept, int64_t count);                                            \
    void (*lstm_back_##name)(const T *const *kept, const T *c, const T *dy, const T *dnext,        \
                             const T *const *dkept, T *const *ds, T *dc, int64_t count);           \
    void (*gru_##name)(const T *const *x, const T *const *h, const T *state, T *y, T *const *kept, \
                       int64_t count);                                                             \
    void (*gru_back_##name)(const T *const *kept, const T *state, const T *dy,                     \
                            const T *const *dkept, T *const *dx, T *const *dh, T *dstate,          \
                            int64_t count);

typedef struct hki_cell_loops {
    HKI_CELL_LOOPS(float, f32)
    HKI_CELL_LOOPS(double, f64)
} hki_cell_loops;

/* As many as a call takes, of -0, which leaves what it is added to as it is: a gradient that is left out. */
extern const float hki_cell_none_f32[HKI_CELL_CHUNK];
extern const double hki_cell_none_f64[HKI_CELL_CHUNK];

/* Those of the best instruction set that this processor has. */
const hki_cell_loops *hki_cell_loops_get(void);

extern const hki_cell_loops hki_cell_loops_portable, hki_cell_loops_avx2, hki_cell_loops_avx512;

#endif
