/* Recurrent cells, compiled for any processor. */
#include "op/recurrent/cell_loops.h"

#include "op/elementwise/scalar_math.h"

#define LOOPS hki_cell_loops_portable
#include "op/recurrent/cell_loops.inc.c"
