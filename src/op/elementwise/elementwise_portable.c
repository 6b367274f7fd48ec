/* Loops for every row and wide type, compiled for any processor. */
#include "op/elementwise/elementwise_floats.inc.c"

#include "op/elementwise/elementwise_integers.inc.c"

#define TABLE hki_loops_portable
#define ALL_TYPES
#include "op/elementwise/elementwise_table.inc.c"
