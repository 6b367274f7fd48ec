/* Recurrent cells, compiled for any processor. */
#include "op/kernels/recurrent/cell_loops.h"

#include "op/kernels/elementwise/scalar_math.h"

#define LOOPS hki_cell_loops_portable
#include "op/kernels/recurrent/cell_loops.inc.c"
