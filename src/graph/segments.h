/* A replay in segments: neighbouring calls of one device that can record are one task, which the
 * device does from its recording (recorded.h). What comes between them, sums over devices and
 * ranks, a program's own kernels, calls of other devices, is issued by itself. */
#ifndef HOCKET_GRAPH_SEGMENTS_H
#define HOCKET_GRAPH_SEGMENTS_H

#include "graph/recorded.h"

#include <pthread.h>

typedef struct hki_segment {
    hki_recorded *recorded; /* NULL: its nodes one by one */
    int first, count;       /* of the order */
} hki_segment;

typedef struct hki_segments {
    int *order; /* of the nodes, segment by segment */
    hki_segment *list;
    int count;
    /* By slot: memory of the graph's for what one segment makes for another, so that recordings
     * find it at the same address. NULL: none. */
    hki_storage **kept;
    int kept_count;
    pthread_mutex_t lock; /* held while a replay is issued: all have that memory */
} hki_segments;

/* NULL where replays are to issue the calls one by one: no two neighbours are of one device that
 * records, with the option exact, in the serial engine; or for want of host memory. The graph is
 * indexed, and outlives it. */
hki_segments *hki_segments_create(hk_graph *graph);
/* No task of it is unfinished. NULL is ignored. Any thread. */
void hki_segments_destroy(hki_segments *self);

/* Replays so far of which a device did each segment from a recording. 0 for NULL. Any thread. */
int64_t hki_segments_recorded(const hki_segments *self);
/* Calls that devices do within kernels of several. 0 for NULL. */
int64_t hki_segments_fused_calls(const hki_segments *self);
/* Of a replay. */
int hki_segments_tasks(const hki_segments *self);

#endif
