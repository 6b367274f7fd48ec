/* Names of values, and the slots that they stand for. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

static size_t hash(const char *name)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (; *name; name++)
        sum = (sum ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(sum ^ sum >> 29);
}

int onnx_name_find_here(const onnx_names *self, const char *name)
{
    for (size_t at = hash(name); self->capacity; at++) {
        at &= self->capacity - 1;
        if (!self->table[at].name)
            return ONNX_UNKNOWN;
        if (!strcmp(self->table[at].name, name))
            return self->table[at].slot;
    }
    return ONNX_UNKNOWN;
}

int onnx_name_find(const onnx_names *self, const char *name)
{
    int slot = ONNX_UNKNOWN;
    for (; self && slot == ONNX_UNKNOWN; self = self->around)
        slot = onnx_name_find_here(self, name);
    return slot;
}

static void put(onnx_names *self, const char *name, int slot)
{
    size_t at = hash(name) & (self->capacity - 1);
    while (self->table[at].name)
        at = (at + 1) & (self->capacity - 1);
    self->table[at].name = name;
    self->table[at].slot = slot;
}

static bool grow(onnx_names *self)
{
    onnx_names wider = {.capacity = self->capacity ? 2 * self->capacity : 64};
    wider.table = calloc(wider.capacity, sizeof *wider.table);
    if (!wider.table)
        return false;
    for (size_t i = 0; i < self->capacity; i++)
        if (self->table[i].name)
            put(&wider, self->table[i].name, self->table[i].slot);
    free(self->table);
    self->table = wider.table;
    self->capacity = wider.capacity;
    return true;
}

bool onnx_name_put(onnx_reader *reader, onnx_names *self, const char *name, int slot)
{
    if (onnx_name_find_here(self, name) != ONNX_UNKNOWN)
        return onnx_wrong(reader->problem, HK_BAD_DATA, "the value %.100s is made twice", name);
    if (2 * self->count >= self->capacity && !grow(self))
        return onnx_no_memory(reader->problem);
    put(self, name, slot);
    self->count++;
    return true;
}

/* Room for one more slot. */
static bool widen(onnx_reader *reader)
{
    onnx_model *model = reader->model;
    if (model->slot_count < reader->slot_capacity)
        return true;
    const int capacity = reader->slot_capacity ? 2 * reader->slot_capacity : 256;
    const char **texts = realloc(model->names, (size_t)capacity * sizeof *texts);
    model->names = texts ? texts : model->names;
    onnx_value **constants = realloc(model->constants, (size_t)capacity * sizeof *constants);
    model->constants = constants ? constants : model->constants;
    if (!texts || !constants)
        return onnx_no_memory(reader->problem);
    reader->slot_capacity = capacity;
    return true;
}

int onnx_name_define(onnx_reader *reader, onnx_names *self, const char *name)
{
    onnx_model *model = reader->model;
    if (!widen(reader) || !onnx_name_put(reader, self, name, model->slot_count))
        return -1;
    model->names[model->slot_count] = name;
    model->constants[model->slot_count] = NULL;
    return model->slot_count++;
}
