/* Conversions, compiled for any processor. */
#include "op/kernels/convert/convert_kernels.h"

#define CONVERT hki_convert_portable
#include "op/kernels/convert/convert.inc.c"
