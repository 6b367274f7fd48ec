/* Conversions, compiled for any processor. */
#include "op/shape/convert_kernels.h"

#define CONVERT hki_convert_portable
#include "op/shape/convert.inc.c"
