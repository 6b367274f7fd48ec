/* Forecasts: how long a recorded training step would take on more devices, by a model of the machines between them.
 *
 *     hk_trace *recording = hk_trace_read("run.json", NULL);
 *     hk_topology *topology = hk_topology_read("cluster.json", NULL);
 *     hk_forecast *forecast = hk_forecast_create(recording, topology, &(hk_forecast_options){.devices = 1024}, NULL);
 *     char *text = hk_forecast_text(forecast, NULL);
 *
 * The recorded calls are replayed with a virtual clock: by their dependencies, for the times that they took, in the queues of
 * the devices. Nothing is computed, and nothing of the machine that forecasts counts. What devices exchange is one
 * activity for each sum, whose time follows from the topology. docs/FORECAST.md says what is modelled, and what is not.
 *
 * All functions are thread-safe, start no runtime and wait for nothing but files. */
#ifndef HOCKET_FORECAST_H
#define HOCKET_FORECAST_H

#include <hocket/trace.h>

HK_BEGIN_DECLS

/* Machines, links and switches, as a file describes them: docs/FORECAST.md, "Topologies". Immutable, counted. */
typedef struct hk_topology hk_topology;

/* Reads a topology. The file may be anything: what is none gives NULL, and *status (unless NULL) names the key, its
 * value and what would be right. Belongs to the caller. */
HK_API hk_topology *hk_topology_read(const char *path, const hk_status **status);
/* The same from memory; `text` need not end with a zero byte, and is not kept. */
HK_API hk_topology *hk_topology_parse(const char *text, size_t bytes, const hk_status **status);
HK_API hk_topology *hk_topology_retain(hk_topology *topology); /* returns it; NULL is let through */
/* Drops one count; NULL is ignored. */
HK_API void hk_topology_release(hk_topology *topology);
/* Devices that it has room for; 0 for NULL. */
HK_API int64_t hk_topology_devices(const hk_topology *topology);

/* Zero means the default. */
typedef struct hk_forecast_options {
    int devices; /* at least 1: a multiple of those that the recording has; default: as many */
    /* Strong scaling: the recorded batch is divided. Times of computing calls, but for updates of parameters, shrink with
     * their share, except the topology's launch_ns. Default: weak scaling, each device keeps its recorded batch. */
    bool strong;
    double
        jitter; /* 0 to 2: spread of each computing call's time, the sigma of a log-normal factor with mean 1 */
    uint64_t seed; /* of the jitter: the same seed gives the same forecast */
    /* Devices that are slower than the others, or faster: slow[i] takes slow_factors[i] times as long to compute, 0.01 to
     * 100. slow_count of them, borrowed for the call. */
    const int *slow;
    const double *slow_factors;
    int slow_count;
    bool
        each_device; /* replays devices that are alike one by one: the same result, later. For tests. */
} hk_forecast_options;

/* Immutable, counted; outlives what it was made from. */
typedef struct hk_forecast hk_forecast;

/* Replays the recording. NULL when it cannot be done, and *status (unless NULL) says why: HK_INVALID_ARGUMENT for an
 * argument, HK_BAD_DATA for a recording without calls, or one that lost records, HK_OUT_OF_MEMORY. `options` may be NULL. Belongs to the caller.
 * Takes a time and a memory in proportion to the calls of all devices that differ. */
HK_API hk_forecast *hk_forecast_create(const hk_trace *recording, const hk_topology *topology,
                                       const hk_forecast_options *options,
                                       const hk_status **status);
HK_API hk_forecast *hk_forecast_retain(hk_forecast *forecast); /* returns it; NULL is let through */
/* Drops one count; NULL is ignored. */
HK_API void hk_forecast_release(hk_forecast *forecast);

/* What follows: a NULL forecast gives zeros.
 *
 * A step ends with its last update of a parameter, on all devices. Of several recorded steps it is the median one of those
 * after the first; without updates, the whole recording. Times in nanoseconds. */
typedef struct hk_forecast_summary {
    size_t struct_bytes; /* see "Structs that grow" in hocket/base.h */
    int devices, recorded_devices, steps;
    int64_t step_ns;
    int64_t recorded_step_ns; /* the same step in the recording */
    int64_t alone_step_ns;    /* forecast for as many devices as were recorded */
    double efficiency;        /* throughput of a device, against alone_step_ns */
    double bubble; /* share of the step in which a device computes nothing, mean over devices */
    int64_t exchange_ns; /* time of the step in which something is summed between devices */
    int64_t hidden_ns;   /* of that, while the first device computes */
    int sum_count;       /* exchanges in the step */
    int64_t sum_bytes;   /* that each device gives to them */
    int level_count;
} hk_forecast_summary;
HK_API void hk_forecast_read_summary(const hk_forecast *forecast, hk_forecast_summary *summary);
static inline hk_forecast_summary hk_forecast_get_summary(const hk_forecast *forecast)
{
    hk_forecast_summary filled;
    filled.struct_bytes = sizeof filled;
    hk_forecast_read_summary(forecast, &filled);
    return filled;
}

/* One level of the topology, from the devices outwards. */
typedef struct hk_forecast_level {
    size_t struct_bytes; /* see "Structs that grow" in hocket/base.h */
    const char *name;    /* lives as long as the forecast */
    int64_t links;       /* used */
    double link_bytes;   /* over the busiest link, in one direction, in the step */
    double total_bytes;  /* over all links, in one direction */
    double busy;         /* share of the step in which the busiest link carries something */
} hk_forecast_level;
/* 0 <= index < level_count; else nothing but zeros, and "" for the name. */
HK_API void hk_forecast_read_level(const hk_forecast *forecast, int index,
                                   hk_forecast_level *level);
static inline hk_forecast_level hk_forecast_get_level(const hk_forecast *forecast, int index)
{
    hk_forecast_level filled;
    filled.struct_bytes = sizeof filled;
    hk_forecast_read_level(forecast, index, &filled);
    return filled;
}

/* All of it as a page of text that ends with a zero byte, to be freed with free(); *bytes (may be NULL) without it.
 * NULL when host memory is short, or the forecast is NULL. */
HK_API char *hk_forecast_text(const hk_forecast *forecast, size_t *bytes);
/* The forecast step of a few devices, the first and the slowest, with the exchanges: hk_trace_write draws it. Counted, belongs to the
 * caller. NULL when host memory is short, or the forecast is NULL. */
HK_API hk_trace *hk_forecast_trace(const hk_forecast *forecast);

HK_END_DECLS

#endif
