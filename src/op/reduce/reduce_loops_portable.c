/* Loops of reductions, compiled for any processor. */
#include "op/reduce/reduce_loops.h"

#define LOOPS_HERE hki_reduce_portable
#include "op/reduce/reduce_loops.inc.c"

#define DENSE_HERE hki_reduce_dense_portable
#include "op/reduce/reduce_dense.inc.c"
