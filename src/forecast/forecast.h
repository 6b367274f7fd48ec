/* What a forecast keeps, and what its files share. */
#ifndef HOCKET_FORECAST_FORECAST_H
#define HOCKET_FORECAST_FORECAST_H

#include "forecast/replay.h"

enum { HKI_FORECAST_PATH = 6, HKI_FORECAST_SLOWEST = 5 };

/* What the critical path consists of, the longest first. */
typedef struct hki_path_part {
    const char *name; /* an operation, interned in the recording; or static */
    int64_t ns;
    int count;
} hki_path_part;

typedef struct hki_slow_device {
    int64_t device;
    int64_t busy_ns;
} hki_slow_device;

struct hk_forecast {
    atomic_uint refs;
    hk_trace *recording;
    hk_topology *topology;
    hki_scenario *scenario;
    hki_replay *replay;
    hki_replay_process *processes;
    double *factors;
    hk_forecast_summary summary;
    hk_forecast_level levels[HKI_TOPOLOGY_LEVELS];
    int step;                 /* which one of the recording is told of */
    int64_t begin_ns, end_ns; /* of it, in the replay */
    hki_path_part path[HKI_FORECAST_PATH];
    int path_count, path_nodes;
    int64_t path_rest_ns;
    hki_slow_device slowest[HKI_FORECAST_SLOWEST];
    int slowest_count;
    double jitter;
    bool is_strong, has_factors;
};

/* Fills in what the replay tells. False when host memory is short. */
bool hki_forecast_measure(hk_forecast *self);

/* Of the step that a replay is judged by, the median one after the first: its number, begin and end. */
int hki_forecast_step(const hki_replay *replay, int64_t *begin_ns, int64_t *end_ns);

/* In which step the node is of the recording. */
int hki_node_step(const hki_replay *replay, int node);

#endif
