/* What an operator says of its inputs and outputs. */
#include "op/op.h"

#include <stdio.h>
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

int hki_op_output_count(const hk_op *op)
{
    int count = 1;
    for (const char *at = op->outputs; at && (at = strchr(at, ',')); at++)
        count++;
    return count;
}

void hki_op_output_name(const hk_op *op, int index, char *name, size_t bytes)
{
    const char *at = op->outputs ? op->outputs : "y";
    while (index-- > 0)
        at = strchr(at, ',') + 2;
    snprintf(name, bytes, "%.*s", (int)strcspn(at, ","), at);
}
