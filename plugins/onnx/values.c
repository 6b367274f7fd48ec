/* Values while a model runs: arrays, sequences of them, and nothing. */
#include "onnx.h"

#include <stdlib.h>

static onnx_value *create(onnx_kind kind)
{
    onnx_value *self = calloc(1, sizeof *self);
    if (self) {
        atomic_init(&self->uses, 1);
        self->kind = kind;
    }
    return self;
}

onnx_value *onnx_value_of(hk_array *x, bool is_constant)
{
    onnx_value *self = create(ONNX_TENSOR);
    if (!self) {
        hk_array_release(x);
        return NULL;
    }
    self->x = x;
    self->is_constant = is_constant;
    return self;
}

onnx_value *onnx_sequence_of(onnx_value **items, int count)
{
    onnx_value *self = create(ONNX_SEQUENCE);
    if (self)
        self->items = calloc((size_t)count + 1, sizeof(onnx_value *));
    if (!self || !self->items) {
        for (int i = 0; i < count; i++)
            onnx_value_release(items[i]);
        free(self);
        return NULL;
    }
    self->is_constant = true;
    for (int i = 0; i < count; i++) {
        self->items[i] = items[i];
        self->is_constant = self->is_constant && items[i]->is_constant;
    }
    self->item_count = count;
    return self;
}

onnx_value *onnx_nothing(void)
{
    onnx_value *self = create(ONNX_NOTHING);
    if (self)
        self->is_constant = true;
    return self;
}

onnx_value *onnx_value_retain(onnx_value *value)
{
    if (value)
        atomic_fetch_add(&value->uses, 1);
    return value;
}

void onnx_value_release(onnx_value *value)
{
    if (!value || atomic_fetch_sub(&value->uses, 1) > 1)
        return;
    hk_array_release(value->x);
    hk_array_release(value->placed);
    for (int i = 0; i < value->item_count; i++)
        onnx_value_release(value->items[i]);
    free(value->items);
    free(value->numbers);
    free(value);
}
