/* Topologies: levels of switches, each with links to what lies below it. */
#ifndef HOCKET_FORECAST_TOPOLOGY_H
#define HOCKET_FORECAST_TOPOLOGY_H

#include <hocket/forecast.h>
#include <stdatomic.h>

enum { HKI_TOPOLOGY_LEVELS = 8, HKI_TOPOLOGY_DEVICES = 1 << 20, HKI_LEVEL_MESSAGES = 32 };

/* How a sum is made: of a level, those up to BEST; of the whole, RING, DIRECT and those behind BEST. */
typedef enum hki_collective_kind {
    HKI_COLLECTIVE_RING,
    HKI_COLLECTIVE_DIRECT,
    HKI_COLLECTIVE_TREE,
    HKI_COLLECTIVE_HALVING,
    HKI_COLLECTIVE_BEST, /* what takes the least time, of a ring, a tree and halving */
    HKI_COLLECTIVE_HIERARCHICAL,
    HKI_COLLECTIVE_COPIES,
    HKI_COLLECTIVE_KINDS
} hki_collective_kind;

/* What a message of so many bytes takes. */
typedef struct hki_message {
    double bytes, ns;
} hki_message;

/* A switch joins `children` devices or switches of the level below by a link each. */
typedef struct hki_level {
    char name[48];
    int children;
    double bytes_per_second; /* of a link, in each direction; 0: messages say it */
    double latency_ns;       /* of a message from one child to another */
    /* By size, of which the first is 0. None: bytes_per_second says it. */
    hki_message messages[HKI_LEVEL_MESSAGES + 1];
    int message_count;
    double switch_bytes_per_second; /* all that the switch passes on; INFINITY: no limit */
    double cores;                   /* that all devices below a switch share; INFINITY: no limit */
    double cpu_ns_per_byte; /* of a core, for what a device sends and receives by the link */
    double cpu_ns_per_message;
    hki_collective_kind collective; /* where the whole is hierarchical */
} hki_level;

struct hk_topology {
    atomic_uint refs;
    char name[96];
    hki_collective_kind collective;
    double bucket_bytes; /* sums that follow each other are joined up to this; 0: none is */
    double speed;        /* of a device, against a recorded one */
    double launch_ns;    /* of a call, whatever it computes */
    double cores;        /* that a device's computing keeps busy */
    double memory_bytes_per_second, flops; /* of additions; INFINITY: they take no time */
    hki_level levels[HKI_TOPOLOGY_LEVELS];
    int level_count;
    int64_t devices; /* that there is room for */
};

extern const char *const hki_collective_names[HKI_COLLECTIVE_KINDS];

#endif
