/* The functions that convert dtypes, for each instruction set. */
#ifndef HOCKET_OP_CONVERT_KERNELS_H
#define HOCKET_OP_CONVERT_KERNELS_H

#include "base/dtype.h"
#include "base/half.h"
#include "base/integer_dtypes.h"
#include "base/kernel_isa.h"
#include "op/shape/convert.h"

/* See convert.h. */
typedef struct hki_convert {
    hki_load_fn (*load_of)(hk_dtype from, hk_dtype wide);
    hki_store_fn (*store_of)(hk_dtype to);
    hki_store_fn (*cast_of)(hk_dtype wide, hk_dtype to);
} hki_convert;

/* Empty where the compiler does not know the instruction set. */
extern const hki_convert hki_convert_portable, hki_convert_avx2;

#endif
