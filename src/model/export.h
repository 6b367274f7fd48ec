/* Within the room: calls on their way out of the library, as values and nodes (hocket/model.h) that
 * a plug-in writes. Externally synchronised. What cannot be described is noted, and nothing more is
 * added then: functions give -1 or false. */
#ifndef HOCKET_MODEL_EXPORT_H
#define HOCKET_MODEL_EXPORT_H

#include "array/array.h"
#include "graph/graph.h"

#include <hocket/model.h>

typedef struct hki_export {
    hk_export_value *values;
    hk_export_node *nodes;
    int value_count, value_capacity, node_count, node_capacity;
    int *inputs, *outputs;
    int input_count, output_count;
    const hk_status *failure; /* counted; NULL: nothing is wrong */
    /* The call that is being described, of which nodes get the name and the line. */
    const char *called;
    hk_source source;
    void **blocks; /* that it owns */
    int block_count, block_capacity;
} hki_export;

void hki_export_deinit(hki_export *self);
/* Zeroed, and owned by it. NULL after failing. */
void *hki_export_allocate(hki_export *self, size_t bytes);
/* Notes the first; the message begins with the call that is being described. Returns false. */
bool hki_export_fail(hki_export *self, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
bool hki_export_no_memory(hki_export *self);

/* ---- values and nodes (export.c) ------------------------------------------------------------- */

int hki_export_add_value(hki_export *self, hk_dtype dtype, hk_dims shape);
/* Of x's values, which are read; x is borrowed. */
int hki_export_add_constant(hki_export *self, hk_array *x);
/* A node with room for so many inputs, outputs and options; their values are still to be set. */
hk_export_node *hki_export_add_node(hki_export *self, const char *operation, int inputs,
                                    int outputs, int options);
/* A node of one input and one output, with at most one option, a list: its output. */
int hki_export_add_unary(hki_export *self, const char *operation, int input, hk_dims shape,
                         const char *option, const int64_t *ints, int count);

/* ---- views (export_views.c) ------------------------------------------------------------------ */

int hki_export_reshape(hki_export *self, int value, hk_dims shape);
/* What a tensor shows of the elements of a value in C order. narrow: axes along which one element
 * is repeated have size 1. */
int hki_export_view(hki_export *self, int value, const hki_tensor *shows, bool narrow);
/* Axes of more than one element, without those along which one is repeated, from the longest steps
 * to the shortest. Returns how many. */
int hki_export_sort_axes(const hki_tensor *tensor, int axes[HK_MAX_NDIM]);

/* ---- what slots hold (export_slots.c) -------------------------------------------------------- */

typedef struct hki_export_slots hki_export_slots;

/* Arrays that are known by name, all borrowed. */
typedef struct hki_export_names {
    hk_array *const *arrays; /* NULL ones are passed over */
    const char *const *names;
    int count;
} hki_export_names;

/* given: the bound arrays, borrowed; NULL: not known. NULL after failing. */
hki_export_slots *hki_export_slots_create(hki_export *self, const hk_graph *graph,
                                          hk_array *const *given, hki_export_names names);
int hki_export_read(hki_export_slots *slots, int slot, const hki_tensor *tensor, bool narrow);
bool hki_export_write(hki_export_slots *slots, int slot, const hki_tensor *tensor, int value);
/* An array of the program's: what the graph has made it, or what it is. */
int hki_export_read_array(hki_export_slots *slots, hk_array *x);
/* Whether its values were there before. */
bool hki_export_is_from_before(const hki_export *self, int value);

/* ---- graphs (export_graph.c) ----------------------------------------------------------------- */

typedef struct hki_export_request {
    const hk_graph *graph;
    hk_array *const *given; /* see hki_export_slots_create */
    hki_export_names names;
    hk_array *const *results; /* outputs that are not bound */
    int result_count;
} hki_export_request;

bool hki_export_graph(hki_export *self, const hki_export_request *request);

/* ---- batches (export_batch.c) ---------------------------------------------------------------- */

/* Sizes of self, which has been made from inputs of n rows, become multiples of the batch, where
 * the same made from m rows says so. */
bool hki_export_free_batch(hki_export *self, int64_t n, const hki_export *other, int64_t m);

#endif
