/* Within what reads files: names in sight, and functions of the file, whose nodes stand in for
 * calls of them. */
#ifndef HOCKET_ONNX_READER_H
#define HOCKET_ONNX_READER_H

#include "onnx.h"

/* Names that can be seen from where one is: those of this graph, then those of the graphs around
 * it. */
typedef struct onnx_names {
    struct onnx_names *around;
    struct {
        const char *name;
        int slot;
    } * table; /* open addressing */
    size_t count, capacity;
} onnx_names;

/* A function of the file, while its nodes are read in place of a call of it. */
typedef struct onnx_inlined {
    const struct onnx_inlined *around;
    const Onnx__FunctionProto *function;
    const Onnx__NodeProto *call;
    int depth;
} onnx_inlined;

typedef struct onnx_reader {
    onnx_model *model;
    onnx_problem *problem;
    int slot_capacity, node_count, missing_count;
    char missing[512];           /* what the nodes need that cannot run */
    const onnx_inlined *inlined; /* NULL: none */
} onnx_reader;

bool onnx_no_memory(onnx_problem *problem);

enum { ONNX_LEFT_OUT = -1, ONNX_UNKNOWN = -2 };

/* The slot of a name, ONNX_LEFT_OUT, or ONNX_UNKNOWN. */
int onnx_name_find(const onnx_names *self, const char *name);
int onnx_name_find_here(const onnx_names *self, const char *name);
/* A slot for a name that is new here; -1 after a problem. */
int onnx_name_define(onnx_reader *reader, onnx_names *self, const char *name);
/* The name stands for a slot, or for what is left out. */
bool onnx_name_put(onnx_reader *reader, onnx_names *self, const char *name, int slot);

/* The function that a node calls; NULL: it calls none. */
const Onnx__FunctionProto *onnx_function_of(const onnx_reader *reader, const Onnx__NodeProto *node);
/* The node with values in place of references to attributes of the function around it: itself, or a
 * copy that the model owns; NULL after a problem. */
const Onnx__NodeProto *onnx_node_resolved(onnx_reader *reader, const Onnx__NodeProto *node);
/* The version of the domain where the reader is. */
int onnx_opset_where(const onnx_reader *reader, const char *domain);
/* A name that no other call of the function has; NULL after a problem. */
const char *onnx_name_within(onnx_reader *reader, const char *name);

#endif
