/* What a task that does several calls reads and writes: byte ranges of slots. */
#ifndef HOCKET_GRAPH_TOUCHES_H
#define HOCKET_GRAPH_TOUCHES_H

#include "graph/graph.h"

typedef struct hki_touch {
    int slot;
    hki_span span;
    hk_dtype dtype;
    unsigned mode;
} hki_touch;

/* Appends it to the list, which has room, in the order of calls. False: others cover it; what the
 * calls themselves have written is no input. */
bool hki_touches_add(hki_touch *list, int *count, const hki_touch *added);
/* Of a storage that stands for the slot, where a bound array begins at element `base`. */
hki_access hki_touch_access(const hki_touch *which, hki_storage *storage, int64_t base);

#endif
