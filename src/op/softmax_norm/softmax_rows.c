#include "op/softmax_norm/softmax_rows.h"

#include "base/kernel_isa.h"

const hki_softmax_rows *hki_softmax_rows_get(void)
{
    return HKI_OF_ISA(&hki_softmax_rows, );
}
