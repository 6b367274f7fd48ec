/* Operands as the shapes of a recorded call tell them. They come from a file and may be anything. */
#include "forecast/scenario.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of an element of the dtype that the text begins with; 0: it is none. */
static double element_bytes_of(const char *text, size_t length)
{
    enum { DTYPES = 15 }; /* see hk_dtype */
    for (int i = 0; i < DTYPES; i++) {
        const char *name = hk_dtype_name((hk_dtype)i);
        if (name && strlen(name) == length && !memcmp(name, text, length))
            return (double)hk_dtype_bytes((hk_dtype)i);
    }
    return 0;
}

/* The product of the numbers between the brackets; *end is behind the closing one, NULL: there is none. */
static double elements_of(const char *text, const char **end)
{
    double elements = 1;
    while (*text && *text != ')') {
        if (*text >= '0' && *text <= '9') {
            char *behind;
            elements *= (double)strtoull(text, &behind, 10);
            text = behind;
        } else if (*text == ',') {
            text++;
        } else {
            break;
        }
    }
    *end = *text == ')' ? text + 1 : NULL;
    return elements;
}

bool hki_shapes_next(const char **at, bool *is_output, hki_shape_operand *operand)
{
    const char *text = *at, *end;
    text += strspn(text, ", ");
    if (!strncmp(text, "-> ", 3)) {
        *is_output = true;
        text += 3;
    }
    const size_t length = strcspn(text, "(, ");
    if (text[length] != '(')
        return false;
    operand->element_bytes = element_bytes_of(text, length);
    operand->elements = elements_of(text + length + 1, &end);
    if (!end || operand->element_bytes <= 0 || operand->elements > 1e15)
        return false;
    operand->text = text;
    operand->length = (int)(end - text);
    operand->is_output = *is_output;
    *at = end;
    return true;
}
