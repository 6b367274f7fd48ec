/* Loops for every row and wide type, compiled for any processor. */
#include "op/kernels/elementwise/elementwise_floats.inc.c"

#include "op/kernels/elementwise/elementwise_integers.inc.c"

#define TABLE hki_loops_portable
#define ALL_TYPES
#include "op/kernels/elementwise/elementwise_table.inc.c"
