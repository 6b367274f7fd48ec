/* By which way data goes: by MPI, between memories of hosts; or by a channel, between accelerators, where all ranks of a group have
 * their arrays on one. Where some have not, or there is no channel, MPI moves copies in the host's memory. */
#ifndef HOCKET_WORLD_ROUTE_H
#define HOCKET_WORLD_ROUTE_H

#include "device/channel.h"
#include "world/link.h"

/* What the rank that makes a channel's name tells the others. */
typedef struct hki_channel_offer {
    int32_t outcome;
    char name[HKI_CHANNEL_NAME_BYTES];
} hki_channel_offer;

/* What has become of a channel on a rank, as all tell each other. */
typedef struct hki_channel_outcome {
    int32_t outcome;           /* 0: not known yet; 1: it is open; -1: it is not to be */
    char why[HKI_CHANNEL_WHY]; /* "": it is not on another rank */
} hki_channel_outcome;

/* A group's channel between one device of each rank, or why there is none. The link's. */
typedef struct hki_route {
    struct hki_route *next; /* of the group */
    hki_device *device;
    hki_channel *channel; /* NULL: none, or not yet */
    bool is_settled;      /* all ranks know whether there is one */
    char why[HKI_CHANNEL_WHY];
    /* While it is opened: */
    hki_channel_offer offer;
    struct hki_channel_outcome *outcomes; /* of each rank */
    bool has_begun, has_told;
    uint8_t devices[]; /* of each rank, as in headers */
} hki_route;

/* ---- issuing ------------------------------------------------------------------------------------------------ */

/* Where the group's work for arrays[i * n + d], i below count, is done: the accelerator that has the first one, if a channel may go from
 * there: it reaches those of d = 0, and the others are of its class. Else the host device of the first one. sums: they are to be
 * added. */
hki_device *hki_group_place(const hk_group *group, hk_array *const *arrays, int n, int count,
                            bool sums);
/* HOCKET_WORLD_ROUTE=direct, and the arrays, on accelerators that have channels, would go by the host. */
bool hki_group_misses_direct(const hk_group *group, hk_array *const *arrays, int n, int count,
                             bool sums);

/* ---- the link ------------------------------------------------------------------------------------------------- */

typedef enum hki_route_kind {
    HKI_ROUTE_BY_HOST,
    HKI_ROUTE_BY_CHANNEL, /* exchange->route */
    HKI_ROUTE_OPENS,      /* that is to be opened first */
    HKI_ROUTE_WAITS       /* what began last on it */
} hki_route_kind;
/* Of an exchange that all ranks agree on: the same on all of them but for WAITS. Sets exchange->route, unless BY_HOST. */
hki_route_kind hki_route_find(hki_link *link, hki_exchange *exchange);
/* Opens exchange->route together with the other ranks. True: something has happened; is_settled tells whether that was all. */
bool hki_route_open(hki_link *link, hki_exchange *exchange);
/* NULL; or why data of the exchange must not go by the host, counted. */
const hk_status *hki_route_forbids_host(const hki_exchange *exchange);
/* The exchange's data, or its sum, by its channel, as a message of its own. */
void hki_route_move(hki_link *link, hki_exchange *exchange);
void hki_route_sum(hki_link *link, hki_exchange *exchange);

/* By the host: memory there for MPI to read or write (mode: HKI_READ, HKI_WRITE), which is `data` itself unless an accelerator has
 * that. NULL when the link has failed. */
void *hki_route_stage(hki_link *link, hki_exchange *exchange, void *data, size_t bytes,
                      unsigned mode);
/* What MPI has written there goes to the accelerator. */
void hki_route_unstage(hki_link *link, hki_exchange *exchange);
/* By the host: what stays on this rank. */
void hki_route_copy_own(hki_link *link, hki_exchange *exchange);

/* Closes all channels. */
void hki_routes_close(hki_link *link);

#endif
