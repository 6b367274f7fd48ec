#include "op/op.h"

#include <string.h>

const hk_op *const hki_ops[] = {
#define HKI_OP(name) &hki_op_##name,
#include "op/op_table.def"
#undef HKI_OP
};
const int hki_op_count = HKI_OP_COUNT;

const hk_op *hki_op_find(const char *name)
{
    for (int i = 0; i < hki_op_count; i++) {
        if (strcmp(hki_ops[i]->name, name) == 0)
            return hki_ops[i];
    }
    return NULL;
}
