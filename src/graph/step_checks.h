/* Which of a replay's checks what it writes depends on: known when the graph is made, by places and byte ranges in the order of
 * calls, as failures would spread. A set of checks has bit i for check i (hki_recorder_class). */
#ifndef HOCKET_GRAPH_STEP_CHECKS_H
#define HOCKET_GRAPH_STEP_CHECKS_H

#include "graph/graph.h"

/* A range that has been written, of a place. */
typedef struct hki_written {
    int place;
    hki_span span;
    hk_dtype dtype;
    uint64_t checks; /* with which its value fails */
} hki_written;

/* The ranges of a place are disjoint, and in the order of their last writes. */
typedef struct hki_writes {
    hki_written *list;
    int count, capacity;
} hki_writes;

void hki_writes_deinit(hki_writes *self);
uint64_t hki_writes_find(const hki_writes *self, int place, const hki_tensor *tensor);
/* keeps: notes the range also where no check fails it. False: no memory. */
bool hki_writes_note(hki_writes *self, int place, const hki_tensor *tensor, uint64_t checks,
                     bool keeps);

#endif
