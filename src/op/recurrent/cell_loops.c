#include "op/recurrent/cell_loops.h"

#include "base/kernel_isa.h"

#define EIGHT     -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0
#define SIXTYFOUR EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT
const double hki_cell_none_f64[HKI_CELL_CHUNK] = {SIXTYFOUR, SIXTYFOUR, SIXTYFOUR, SIXTYFOUR};
const float hki_cell_none_f32[HKI_CELL_CHUNK] = {SIXTYFOUR, SIXTYFOUR, SIXTYFOUR, SIXTYFOUR};

const hki_cell_loops *hki_cell_loops_get(void)
{
    return HKI_OF_ISA(&hki_cell_loops, );
}
