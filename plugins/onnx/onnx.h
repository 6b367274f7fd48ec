/* Within the plug-in: a file as it is run. Nodes have rows of a table, values have slots.
 *
 * A value is constant where the model and the shapes of its inputs alone decide it: it is computed
 * on the host, once for these shapes, and kept in a memo, in the order in which it was made. All
 * other values are made by calls on the model's device. */
#ifndef HOCKET_ONNX_H
#define HOCKET_ONNX_H

#include "onnx.pb-c.h"

/* Records name the line of the program that runs the model. */
#define HK_SOURCE onnx_source
#include <hocket/hocket.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern _Thread_local hk_source onnx_source;

/* ---- what has been read -------------------------------------------------------------------------
 */

typedef struct onnx_call onnx_call;

typedef enum onnx_traits {
    ONNX_BY_SHAPE = 1, /* the shapes of its inputs alone decide its outputs */
    ONNX_NEW =
        2, /* never constant: random numbers; or it has graphs of its own, whose nodes are looked at */
} onnx_traits;

/* An operator. `run` makes its calls; false after onnx_refuse. */
typedef struct onnx_row {
    const char *name; /* with "domain:" in front where that is not ONNX's own */
    bool (*run)(onnx_call *call);
    unsigned traits;
} onnx_row;

typedef struct onnx_graph onnx_graph;

typedef struct onnx_node {
    const Onnx__NodeProto *proto;
    const onnx_row *row;   /* NULL: there is none */
    int number, opset;     /* in the file; of its domain */
    int *inputs, *outputs; /* slots; -1: left out */
    int input_count, output_count;
    onnx_graph **graphs; /* by attribute; NULL: it is none */
    bool is_folded;      /* into another one: it is not run */
    int *last;           /* slots that nobody needs behind it */
    int last_count;
    hk_generator *generator; /* of its random numbers; NULL: it has no seed of its own */
} onnx_node;

struct onnx_graph {
    onnx_node *nodes;
    int node_count, node_capacity;
    int *inputs, *outputs; /* slots; an input that is -1 is made within, as old files have it */
    int input_count, output_count;
};

typedef struct onnx_value onnx_value;

/* A block of malloc, or an attribute that has been unpacked. */
typedef struct onnx_owned {
    void *block;
    bool is_attribute;
} onnx_owned;

typedef struct onnx_model {
    hk_model_source source; /* the first member */
    Onnx__ModelProto *proto;
    char *folder; /* of the file, with the slash at its end, for data beside it */
    onnx_graph *main;
    int slot_count;
    const char **names;     /* by slot */
    onnx_value **constants; /* by slot: what the file has; NULL */
    onnx_owned *owned;      /* what reading has made */
    int owned_count;
    hk_device device, host;
    bool is_trainable;
} onnx_model;

/* What reading finds wrong. */
typedef struct onnx_problem {
    hk_code code; /* HK_OK: nothing */
    char *text;
    size_t bytes;
} onnx_problem;

/* Notes the first. Returns false. */
bool onnx_wrong(onnx_problem *problem, hk_code code, const char *format, ...) HK_PRINTF(3, 4);

bool onnx_read(onnx_model *self, const char *path, onnx_problem *problem);
bool onnx_fold(onnx_model *model, onnx_problem *problem);
/* Which slots are let go of behind each node of the main graph. */
bool onnx_find_lifetimes(onnx_model *self, onnx_problem *problem);
void onnx_graph_free(onnx_graph *graph);
void onnx_owned_free(onnx_model *model);
/* Whether all messages of the file are within a depth that can be read. */
bool onnx_depth_is_fine(const uint8_t *data, size_t bytes);
/* A tensor of the file as an array of the caller's, on the host; NULL: why stands in problem. */
hk_array *onnx_tensor_read(const onnx_model *self, const Onnx__TensorProto *tensor,
                           onnx_problem *problem);
/* The value of a node Constant, likewise. */
hk_array *onnx_constant_read(const onnx_model *self, const Onnx__NodeProto *node,
                             onnx_problem *problem);
/* False: none of Hocket's. */
bool onnx_dtype_of(int32_t onnx, hk_dtype *dtype);
const onnx_row *onnx_row_find(const char *domain, const char *name);
char *onnx_to_string(const hk_model_source *source);

/* ---- values -------------------------------------------------------------------------------------
 */

typedef enum onnx_kind { ONNX_TENSOR, ONNX_SEQUENCE, ONNX_NOTHING } onnx_kind;

/* Counted. What is cached of it has a lock. */
struct onnx_value {
    atomic_int uses;
    onnx_kind kind;
    bool is_constant, is_parameter;
    hk_array *x;      /* TENSOR: a count of it; constant: on the host */
    hk_array *placed; /* a constant on the model's device; NULL: not yet */
    void *numbers;    /* of what has been read: int64 or float64; NULL: not yet */
    hk_dtype numbers_dtype;
    onnx_value **items; /* SEQUENCE */
    int item_count;
};

/* Takes the count of x. NULL: no memory, and x is released. */
onnx_value *onnx_value_of(hk_array *x, bool is_constant);
/* Takes the counts of the items. */
onnx_value *onnx_sequence_of(onnx_value **items, int count);
onnx_value *onnx_nothing(void);
onnx_value *onnx_value_retain(onnx_value *value);
void onnx_value_release(onnx_value *value);

/* ---- runs ---------------------------------------------------------------------------------------
 */

typedef struct onnx_run onnx_run;

/* One node, while its row runs, in a scope of its own. */
struct onnx_call {
    onnx_run *run;
    const onnx_node *node;
    hk_device device; /* of its calls: the host's where all inputs are constant */
    bool is_constant;
};

/* Input i on the call's device, borrowed; NULL: left out, or there are fewer. */
hk_array *onnx_in(onnx_call *call, int index);
onnx_value *onnx_in_value(onnx_call *call, int index);
/* The same of any value; NULL: it is no tensor. */
hk_array *onnx_array_of(onnx_call *call, onnx_value *value);
bool onnx_has(const onnx_call *call, int index);
bool onnx_wants(const onnx_call *call, int output);
int onnx_in_count(const onnx_call *call);
/* Output i is x, borrowed. True, for the end of a row; false where x is NULL. */
bool onnx_out(onnx_call *call, int index, hk_array *x);
bool onnx_out_value(onnx_call *call, int index, onnx_value *taken);
/* The call cannot be made; the text is given the node's name and operator. Returns false. */
bool onnx_refuse(onnx_call *call, hk_code code, const char *format, ...) HK_PRINTF(3, 4);

/* The elements of an input that decide what is called. Reads them, and waits where they are not
 * constant. Count: how many there are; -1 after refusing: it is left out, no numbers, or more than
 * most. */
int onnx_in_ints(onnx_call *call, int index, int64_t *values, int most);
int onnx_in_floats(onnx_call *call, int index, double *values, int most);

/* A condition, which is value `index` of a graph; false after refusing. */
bool onnx_value_truth(onnx_call *call, onnx_value *value, int index, bool *truth);

/* Attributes. */
const Onnx__AttributeProto *onnx_attribute(const onnx_call *call, const char *name);
int64_t onnx_int(const onnx_call *call, const char *name, int64_t otherwise);
double onnx_float(const onnx_call *call, const char *name, double otherwise);
/* Whether the text is this one, or is not there and `otherwise` is. */
bool onnx_text_is(const onnx_call *call, const char *name, const char *text, const char *otherwise);
/* How many; -1: it is not there; -2 after refusing: more than most. */
int onnx_ints(onnx_call *call, const char *name, int64_t *values, int most);
/* The attribute, or, from an opset on, the input; -1: neither; -2 after refusing. */
int onnx_ints_or_input(onnx_call *call, const char *name, int input, int64_t *values, int most);
onnx_graph *onnx_graph_of(const onnx_call *call, const char *name);
int onnx_opset(const onnx_call *call);

/* An axis, negative ones from the end, within [0, ndim); -1 after refusing. */
int onnx_axis(onnx_call *call, int64_t axis, int ndim);

/* A constant of the row's own, on the call's device, borrowed: made once for the shapes, as values
 * that come from outside cannot be noted. */
hk_array *onnx_held(onnx_call *call, const void *data, hk_dims shape, hk_dtype dtype);
/* The same of a tensor of an attribute; NULL after refusing. */
hk_array *onnx_held_tensor(onnx_call *call, const Onnx__TensorProto *tensor);
/* A constant value of one number, counted for the caller; NULL after refusing. */
onnx_value *onnx_held_number(onnx_call *call, int64_t number, hk_dtype dtype);
/* A number of the dtype of x beside it, of no axes. */
hk_array *onnx_number_like(double number, hk_array *x);

/* Runs a graph of the node's own. inputs: counted by the caller; outputs: counts for the caller;
 * false after refusing. */
bool onnx_run_graph(onnx_call *call, const onnx_graph *graph, onnx_value *const *inputs,
                    onnx_value **outputs);
/* What makes the run depend on more than shapes has been looked at. */
void onnx_note_loose(onnx_call *call);

#endif
