/* Fully connected layers: whatever the compiler has by default, with 16-byte vectors. */
#include "op/matmul/layer_tiles.h"

#include <string.h>

#define LANES_TARGET
/* 2 (rows + 1) + 1 registers, and one more where multiply and add are apart */
#define LAYER_ROWS     5
#define LAYER_TILES(X) X(1) X(2) X(3) X(4) X(5)

/* 4 rows + 3, and one more */
#define TREE_ROWS     3
#define TREE_TILES(X) X(1) X(2) X(3)
/* Elements from one sum to the next in copies of a tile's rows. */
#define LAYER_STEP 8
#define TREE_STEP  4

#define LANES_T        float
#define LANES_N        4
#define LANES_FN(name) name##_portable_f32
#include "op/matmul/layer_tiles.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN

#define LANES_T        double
#define LANES_N        2
#define LANES_FN(name) name##_portable_f64
#include "op/matmul/layer_tiles.inc.c"
#undef LANES_T
#undef LANES_N
#undef LANES_FN
