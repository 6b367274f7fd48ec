#include "op/shape/convert_kernels.h"

static const hki_convert *convert(void)
{
    return hki_kernel_isa_get() != HKI_ISA_PORTABLE && hki_convert_avx2.load_of
               ? &hki_convert_avx2
               : &hki_convert_portable;
}

hki_load_fn hki_load_of(hk_dtype from, hk_dtype wide)
{
    return convert()->load_of(from, wide);
}

hki_store_fn hki_store_of(hk_dtype to)
{
    return convert()->store_of(to);
}

hki_store_fn hki_cast_of(hk_dtype wide, hk_dtype to)
{
    return convert()->cast_of(wide, to);
}
