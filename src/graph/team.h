/* A team: neighbouring calls of a CPU, of little work each, as one task of a replay. All cores of
 * the device do each call together, and nobody waits for a wake-up between two of them.
 *
 * Calls are put in *phases*: those of a phase do not depend on each other. A phase is cut into
 * *items*, pieces of its calls, which the threads of the team take one after the other; who has none
 * left waits for the last one. A thread that comes late begins with the phase that is under way, and
 * one thread alone gets through all of them. Bytes are those of the calls: what adds up parts is
 * cut as the call was.
 *
 * What the calls make for each other lies in workspace of the task, laid out by phases. */
#ifndef HOCKET_GRAPH_TEAM_H
#define HOCKET_GRAPH_TEAM_H

#include "graph/kept.h"
#include "graph/recorded_steps.h"
#include "graph/touches.h"

/* What there is of a step of team->steps. */
typedef struct hki_team_call {
    int64_t packed;  /* where it begins in what is kept; -1: nothing is packed */
    int64_t rounds;  /* phases that it goes through, see hk_op.rounds; 1: as usual */
    uint64_t shared; /* bytes that its pieces or rounds share */
    int place;       /* of them; -1: none */
} hki_team_call;

/* A step in one of its phases. */
typedef struct hki_team_step {
    int step;
    int phase;
    int64_t round;
    int64_t piece_count;
    int64_t first_item; /* of its phase */
} hki_team_step;

typedef struct hki_phase {
    int first, count;   /* of team->order */
    int64_t item_count; /* 1: all of it by one thread, in the order of calls */
    bool joins;         /* some call adds up what its pieces have made */
} hki_phase;

typedef struct hki_team {
    hk_graph *graph;
    hki_device *device;
    hki_steps steps;
    hki_team_call *calls; /* by step */
    hki_team_step *order; /* phase by phase */
    int order_count;
    hki_phase *phases;
    int phase_count;
    int64_t width; /* so many threads have something to do, at most */
    hki_touch *touches;
    int touch_count;
    double memory_bytes; /* that it moves from and to arrays outside */
    uint64_t workspace_bytes;
    hki_keeper keeper; /* of parameters that kernels want in another form (hk_op.pack) */
    uint64_t kept_bytes;
    _Atomic(int64_t) took_ns; /* on one core, smoothed; 0: it has not run */
} hki_team;

/* Nodes first … first + count - 1 of a graph as a team. */
typedef struct hki_stretch {
    int first, count;
    hki_team *team;
} hki_stretch;

typedef struct hki_teams {
    hki_stretch *list; /* in the order of nodes */
    int count;
    bool
        *is_within; /* by slot: a temporary that has no storage, but a part of a team's workspace */
} hki_teams;

/* NULL where there are none: with the option exact, and for want of host memory, too. The graph is indexed, and outlives it. */
hki_teams *hki_teams_create(hk_graph *graph);
void hki_teams_destroy(hki_teams *self);

/* team_task.c: issues the task: storages[slot] stands for a slot (of those within not looked at),
 * base[slot] is the element offset of a bound array in it, drawn[i] where the numbers of the
 * graph's draw i begin. False: out of host memory, nothing issued. Thread-safe. */
bool hki_team_issue(hki_team *self, hki_storage *const *storages, const int64_t *base,
                    const hki_stream_options *drawn);

#endif
