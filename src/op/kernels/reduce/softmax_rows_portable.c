/* Lines of softmax, compiled for any processor. */
#include "op/kernels/reduce/softmax_rows.h"

#include "op/kernels/elementwise/scalar_math.h"
#include "op/kernels/reduce/row_sums.h"

#include <math.h>

#define ROWS hki_softmax_rows_portable
#include "op/kernels/reduce/softmax_rows.inc.c"
