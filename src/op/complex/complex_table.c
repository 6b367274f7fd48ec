/* Which operator takes the place of which where an input is complex. */
#include "op/op.h"

const hk_op *const hki_complex_table[HKI_OP_COUNT] = {
#define HKI_COMPLEX_OP(name)                      [HKI_OP_ID_##name] = &hki_op_complex_##name,
#define ROW(kind, name, ns, expression, gradient) HKI_COMPLEX_OP(name)
#define OWN(kind, name, ns, expression, gradient)
#define PARTS ROW
#include "op/complex/complex.def"
    HKI_COMPLEX_OP(sum) HKI_COMPLEX_OP(mean) HKI_COMPLEX_OP(prod) HKI_COMPLEX_OP(sum_to)
        HKI_COMPLEX_OP(count_nonzero) HKI_COMPLEX_OP(any) HKI_COMPLEX_OP(all) HKI_COMPLEX_OP(matmul)
            HKI_COMPLEX_OP(inv) HKI_COMPLEX_OP(solve)
#undef ROW
#undef OWN
#undef PARTS
};
