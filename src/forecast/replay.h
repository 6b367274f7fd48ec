/* Replays a recording on many devices with a virtual clock. */
#ifndef HOCKET_FORECAST_REPLAY_H
#define HOCKET_FORECAST_REPLAY_H

#include "forecast/cost.h"
#include "forecast/scenario.h"

enum {
    HKI_REPLAY_MOST = 1 << 24, /* nodes and queues of all processes: a gigabyte of them */
    HKI_COPIES_DEVICES = 64    /* whose sums are replayed copy by copy, at most */
};

/* Processes that do the same at the same time are replayed once. */
typedef struct hki_replay_process {
    int64_t number, count; /* the first of them, and how many */
} hki_replay_process;

typedef struct hki_replay_plan {
    const hki_scenario *scenario;
    const hk_topology *topology;
    int64_t devices;
    const hki_replay_process *processes;
    int process_count;
    const double
        *factors; /* of the time that computing takes: by process * recorded devices + device */
    double jitter, share; /* share: of the recorded batch, 1 in weak scaling */
    uint64_t seed;
} hki_replay_plan;

/* What happened. Nodes of process p are p * scenario->node_count + node; behind them come those of exchanges. */
typedef struct hki_replay {
    hki_replay_plan plan; /* its pointers are borrowed */
    int64_t *start_ns, *end_ns;
    int *cause; /* the node whose end let this one begin; -1: none */
    int node_count, first_exchange;
    bool is_stuck; /* some wait for each other: the rest means nothing */
    /* By node - first_exchange: */
    int *exchange_sum;
    int *exchange_queue;
    int queue_count; /* of one process; exchange_queue beyond those of all processes are for exchanges alone */
} hki_replay;

/* NULL when host memory is short. */
hki_replay *hki_replay_run(const hki_replay_plan *plan);
void hki_replay_destroy(hki_replay *self);

/* Nodes and queues that hki_replay_run would have; above HKI_REPLAY_MOST it is not to be called. */
int64_t hki_replay_nodes(const hki_replay_plan *plan);

/* When the step ended, in all processes. */
int64_t hki_replay_end_ns(const hki_replay *self, int step);
/* The node that ended then. */
int hki_replay_last(const hki_replay *self, int step);

/* What one computing call takes on a device of the plan. */
int64_t hki_replay_duration(const hki_replay_plan *plan, int process, int node);

#endif
