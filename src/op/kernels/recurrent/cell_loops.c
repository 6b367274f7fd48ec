#include "op/kernels/recurrent/cell_loops.h"

#include "base/kernel_isa.h"

const hki_cell_loops *hki_cell_loops_get(void)
{
    return hki_kernel_isa_get() != HKI_ISA_PORTABLE && hki_cell_loops_avx2.lstm_f32
               ? &hki_cell_loops_avx2
               : &hki_cell_loops_portable;
}
