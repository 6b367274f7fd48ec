/* Rows of attention, compiled for any processor. */
#include "op/kernels/attention/attention_rows.h"

#include "op/kernels/elementwise/scalar_math.h"
#include "op/kernels/reduce/row_sums.h"

#include <math.h>

#define ROWS hki_attention_rows_portable
#include "op/kernels/attention/attention_rows.inc.c"
