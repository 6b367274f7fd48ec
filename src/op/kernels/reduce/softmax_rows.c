#include "op/kernels/reduce/softmax_rows.h"

#include "base/kernel_isa.h"

const hki_softmax_rows *hki_softmax_rows_get(void)
{
    return hki_kernel_isa_get() != HKI_ISA_PORTABLE && hki_softmax_rows_avx2.max_f32
               ? &hki_softmax_rows_avx2
               : &hki_softmax_rows_portable;
}
