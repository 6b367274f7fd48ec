/* What an operator says of its inputs. */
#include "op/op.h"

#include <string.h>

int hki_op_input_count(const hk_op *op, int *required)
{
    int count = 0, optional = 0;
    for (const char *c = op->signature; *c; c++) {
        count += c == op->signature || *c == ',';
        optional += *c == '?';
    }
    if (required)
        *required = count - optional;
    return count;
}

bool hki_op_input_name(const hk_op *op, int index, char *name, size_t bytes)
{
    const char *c = op->signature;
    for (int i = 0; i < index && *c; i++) {
        c += strcspn(c, ",");
        c += strspn(c, ", ");
    }
    size_t length = strcspn(c, ",");
    bool optional = length > 0 && c[length - 1] == '?';
    length -= optional;
    if (length >= bytes)
        length = bytes - 1;
    memcpy(name, c, length);
    name[length] = '\0';
    return optional;
}
