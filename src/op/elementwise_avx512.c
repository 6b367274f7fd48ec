/* Loops for the float dtypes, compiled for AVX512. */
#include "op/elementwise_floats.inc.c"

#define ROW(kind, name, ...) [HKI_ELEMENT_##name] = {ENTRIES_FLOATS(name)},
#define CHECKED              ROW

const hki_loop_table hki_loops_avx512 = {
#include "op/elementwise.def"
};
