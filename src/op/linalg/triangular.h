/* Options of solve_triangular, for those who call it. */
#ifndef HOCKET_OP_TRIANGULAR_H
#define HOCKET_OP_TRIANGULAR_H

#include "op/op.h"

#define SOLVE_TRIANGULAR_OPTIONS(F, op)                                                            \
    F(op, BOOL, upper, "false", "the upper triangle of t is read, not the lower one")              \
    F(op, BOOL, unit_diagonal, "false", "the diagonal of t counts as 1 and is not read")           \
    F(op, BOOL, transposed, "false", "the transpose of t in its place")                            \
    F(op, BOOL, conjugated, "false", "of complex t: its conjugate")                                \
    F(op, BOOL, right, "false", "t on the right: y t = b")
HKI_OPTIONS_STRUCT(solve_triangular, SOLVE_TRIANGULAR_OPTIONS)

#endif
