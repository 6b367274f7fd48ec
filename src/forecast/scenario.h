/* A recording made ready for replay: what one process of the run did, with its sums between devices taken out and named.
 *
 * Nodes take a time in a queue, or none; edges say what must end before what begins. Of each sum there are two nodes for
 * each device: one that begins when the device's part is there, and one that ends when its sum has come. What is between
 * them is the replay's. */
#ifndef HOCKET_FORECAST_SCENARIO_H
#define HOCKET_FORECAST_SCENARIO_H

#include "trace/timeline.h"

typedef enum hki_node_kind {
    HKI_NODE_ISSUE, /* the thread of the program that makes the call; takes the time since the one before */
    HKI_NODE_CALL,
    HKI_NODE_ARRIVE, /* a device's part of a sum is there */
    HKI_NODE_DONE    /* a device has the sum */
} hki_node_kind;

typedef struct hki_node {
    hki_node_kind kind;
    int call;       /* of the recording: of a sum, its first */
    int queue;      /* of hki_scenario.queues; -1: takes no time */
    int device;     /* of the recorded devices; -1: the host's */
    int sum;        /* ARRIVE, DONE; else -1 */
    bool is_scaled; /* strong scaling: its time is that of its share of the batch */
    int64_t duration_ns;
    int64_t order; /* among what is ready: lower ones first */
} hki_node;

typedef struct hki_replay_queue {
    const char *device, *name; /* interned in the recording */
    int device_index;          /* -1: the host's */
    int capacity;              /* of calls that run at once */
    bool is_compute;           /* of a device that was recorded, and not for copies */
    bool is_issue;             /* of the thread that makes the calls */
    bool is_copy;
    bool is_accelerator; /* no CPU's */
} hki_replay_queue;

typedef struct hki_scenario_sum {
    double bytes; /* of each device's array */
    double element_bytes;
    bool is_sum; /* else something else that all take part in */
    int call;    /* its first, or the one it was put before */
    int step;
    int64_t order;
} hki_scenario_sum;

typedef struct hki_scenario {
    const hki_timeline *timeline; /* borrowed */
    hki_node *nodes;
    int node_count;
    hki_replay_queue *queues;
    int queue_count;
    int device_count;       /* recorded */
    int *compute_queues;    /* by recorded device */
    hki_scenario_sum *sums; /* by order */
    int sum_count;
    int *arrive, *done; /* nodes, by sum * device_count + device */
    /* Edges: what begins after node i are after[first_after[i]] ... after[first_after[i + 1] - 1]. */
    int *first_after, *after, *before_count;
    int edge_count;
    /* Steps: a call's, by index; step_count for those after the last. */
    int *step_of_call;
    bool *is_update; /* by call */
    int step_count;  /* at least 1 */
    bool has_updates;
} hki_scenario;

/* NULL, and *status (counted), when there are no calls, records were lost, or memory is short. bucket_bytes: see
 * hk_topology. The timeline outlives it. */
hki_scenario *hki_scenario_create(const hki_timeline *timeline, double bucket_bytes,
                                  const hk_status **status);
void hki_scenario_destroy(hki_scenario *self);

/* When the step ended in the recording; 0 where it has no such step. */
int64_t hki_scenario_end_ns(const hki_scenario *self, int step);

/* ---- parts, for the files of this room --------------------------------------------------------------- */

/* Finds which calls are sums, or parts of them: sum_of_call[i] becomes the sum's index, -1 elsewhere. */
bool hki_scenario_find_sums(hki_scenario *self, int *sum_of_call);

/* The operands of a call as its shapes tell: "float32(2,3), int64(2,) -> float32(2,)". Walks: *at is moved behind one
 * operand; false at the end, or where it is no operand. */
typedef struct hki_shape_operand {
    const char *text; /* of `length`: "float32(2,3)" */
    int length;
    bool is_output;
    double elements, element_bytes;
} hki_shape_operand;
bool hki_shapes_next(const char **at, bool *is_output, hki_shape_operand *operand);

#endif
