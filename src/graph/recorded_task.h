/* Within the files of recorded replays: what there is of a graph, and of one replay. */
#ifndef HOCKET_GRAPH_RECORDED_TASK_H
#define HOCKET_GRAPH_RECORDED_TASK_H

#include "graph/recorded.h"
#include "graph/recorded_steps.h"
#include "graph/stand_ins.h"
#include "graph/touches.h"

enum { HKI_MAX_VARIANTS = 4 /* recordings, by addresses */ };

/* Arrays that have been seen. The queue's thread only. */
typedef struct hki_variant {
    char **addresses; /* of all places; NULL: none yet */
    uint64_t used;    /* when, in replays */
    hki_recording *recording;
} hki_variant;

struct hki_recorded {
    hk_graph *graph;
    hki_device *device;
    int *nodes; /* of the graph, in their order */
    int node_count;
    /* Of temporaries and copies, of all segments of the device; each writes it, so that they take
     * turns. */
    hki_storage *memory;
    uint64_t within_bytes; /* of it, for these */
    hki_steps steps;
    hki_touch *touches;
    int touch_count;
    int fused_calls;
    double memory_bytes;
    bool
        can_vet; /* each call that checks values checks those of an array from outside, which it does not write */
    hki_stand_ins stand_ins; /* the thread of the device's queue, but for what is laid out */

    /* The thread of the device's queue alone: */
    hki_recorder *recorder; /* NULL before the first replay */
    hki_variant variants[HKI_MAX_VARIANTS];
    uint64_t replays;
    int refusals;
    char **addresses; /* of the replay that is being launched: where its calls find their arrays, */
    char **given;     /* and where these lie, by slot */

    int *draws; /* steps that draw random numbers, */
    int draw_count;
    hki_random_place *places; /* and where these begin in the replay that is being launched */

    _Atomic(int64_t) recorded_replays;
};

typedef struct hki_replay_payload {
    hki_recorded *recorded;
    int64_t *base;             /* by slot */
    uint64_t *versions;        /* by touch */
    hki_stream_options *drawn; /* by draw of the graph */
    uint64_t reported;         /* checks that have reported something; */
    const hk_status **records; /* of each of them, counted; NULL: none has, or no memory */
    hki_storage *storages[];   /* by slot; NULL: not used, or within */
} hki_replay_payload;

/* ---- checks (recorded_checks.c): see hki_task_class ------------------------------------------------------------ */

bool hki_replay_is_prechecked(const hki_task_spec *spec, const void *payload);
bool hki_replay_can_spare(const hki_task_spec *spec, const void *payload);
void hki_replay_note_suspects(
    const hki_task_spec *spec, const void *payload, const hki_ticket *ticket,
    void (*note)(void *argument, const hki_access *access, uint64_t flags), void *argument);
void hki_replay_note_reports(hki_task *task, void *payload, const hki_ticket *ticket);
void hki_replay_settle(void *payload, const hk_status *failure, bool is_spared, bool heals);
/* Drops the records. */
void hki_replay_forget(hki_replay_payload *self);

#endif
