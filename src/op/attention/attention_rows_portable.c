/* Rows of attention, compiled for any processor. */
#include "op/attention/attention_rows.h"

#include "op/elementwise/scalar_math.h"
#include "op/reduce/row_sums.h"

#include <math.h>

#define ROWS hki_attention_rows_portable
#include "op/attention/attention_rows.inc.c"
