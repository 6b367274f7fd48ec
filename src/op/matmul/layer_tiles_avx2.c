/* Fully connected layers: AVX2 and FMA, 16 registers. */
#include "base/kernel_isa.h"
#include "op/matmul/layer_tiles.h"

#include <string.h>

#if HKI_HAVE_X86_ISAS

#define LANES_TARGET HKI_TARGET_AVX2
/* 2 (rows + 1) + 1 registers */
#define LAYER_ROWS     6
#define LAYER_TILES(X) X(1) X(2) X(3) X(4) X(5) X(6)

/* 4 rows + 3 registers */
#define TREE_ROWS     3
#define TREE_TILES(X) X(1) X(2) X(3)
/* Elements from one sum to the next in copies of a tile's rows. */
#define LAYER_STEP 8
#define TREE_STEP  4

#define LANES_T        float
#define LANES_N        8
#define LANES_FN(name) name##_avx2_f32
#include "op/matmul/layer_tiles.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN

#define LANES_T        double
#define LANES_N        4
#define LANES_FN(name) name##_avx2_f64
#include "op/matmul/layer_tiles.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN

#endif
