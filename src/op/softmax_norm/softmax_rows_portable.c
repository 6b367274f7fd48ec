/* Lines of softmax, compiled for any processor. */
#include "op/softmax_norm/softmax_rows.h"

#include "op/elementwise/scalar_math.h"
#include "op/reduce/row_sums.h"

#include <math.h>

#define ROWS hki_softmax_rows_portable
#include "op/softmax_norm/softmax_rows.inc.c"
