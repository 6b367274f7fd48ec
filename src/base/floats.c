#include "base/floats.h"

#include <fenv.h>

_Atomic(uint32_t) hki_floats_wanted = HKI_FLOATS_DEFAULT;

void hki_floats_begin(void)
{
    fesetenv(FE_DFL_ENV);
    if (hki_floats_flush())
        hki_floats_set(HKI_FLOATS_FLUSHED);
}

bool hki_floats_mend(uint32_t word)
{
    const uint32_t control = word & HKI_FLOATS_CONTROL;
    const bool is_usual =
        control == HKI_FLOATS_DEFAULT || (control == HKI_FLOATS_FLUSHED && hki_floats_flush());
    if (is_usual && word & HKI_FLOATS_SUBNORMAL)
        hki_floats_set(word & ~(uint32_t)HKI_FLOATS_SUBNORMAL);
    return is_usual;
}
