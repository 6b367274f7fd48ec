/* Loops for the float dtypes, compiled for AVX2. */
#include "op/elementwise_floats.inc.c"

#define ROW(kind, name, ...) [HKI_ELEMENT_##name] = {ENTRIES_FLOATS(name)},
#define CHECKED              ROW

const hki_loop_table hki_loops_avx2 = {
#include "op/elementwise.def"
};
