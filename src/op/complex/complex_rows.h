/* The loops of complex.def. */
#ifndef HOCKET_OP_COMPLEX_ROWS_H
#define HOCKET_OP_COMPLEX_ROWS_H

#include "op/elementwise/elementwise.h"

/* For runs as those of elementwise.def's loops, of double _Complex, given hki_numbers; results are double _Complex, double, or
 * bool. Refuse nothing. */
#define ROW(kind, name, ns, expression, gradient)                                                  \
    int64_t hki_complex_loop_##name(const hki_run *run);
#define OWN   ROW
#define PARTS ROW
#include "op/complex/complex.def"
#undef ROW
#undef OWN
#undef PARTS

/* Pairs of doubles, real and imaginary parts, as double _Complex. */
int64_t hki_complex_loop_pair(const hki_run *run);

#endif
