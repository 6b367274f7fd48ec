/* Inside of the world: this process's place among others, and groups of them. */
#ifndef HOCKET_WORLD_WORLD_H
#define HOCKET_WORLD_WORLD_H

#include "base/sync.h"
#include "engine/engine.h"
#include "world/mpi/mpi_plugin.h"

#include <hocket/world.h>
#include <pthread.h>
#include <unistd.h>

typedef struct hki_link hki_link;

/* Ranks that do things together. Immutable after create but for the counts; lives as long as the process, for captured steps
 * may name it. */
struct hk_group {
    hk_group *next;          /* of all groups */
    const hk_status *status; /* ok, or why it is of no use; counted */
    struct hki_world *world;
    int id; /* the same on all its ranks; from 1; tags follow from it */
    int rank, size;
    int *members;            /* ranks in the world */
    pthread_mutex_t lock;    /* held while a call is made */
    _Atomic(uint32_t) calls; /* that all do together; written under the lock */
    /* By lane: one for what all do together, two for each rank, of what is sent to it and received from it. Issued (written
     * under the lock); of those begun, and decided (the link's). */
    _Atomic(uint32_t) *issued;
    uint32_t *begun, *decided;
    struct hki_route *routes;   /* the link's: route.h */
    _Atomic(bool) goes_by_host; /* there is no channel between its accelerators */
};

enum { HKI_GROUP_TAGS = 8 };  /* from id times this on */
enum { HKI_WORLD_GROUP = 1 }; /* the id of that of all ranks */

/* By which way data goes between accelerators: a channel where there is one; always the host; never the host. */
typedef enum hki_world_route {
    HKI_WORLD_AUTO,
    HKI_WORLD_BY_HOST,
    HKI_WORLD_DIRECT
} hki_world_route;

/* Of this process. Externally synchronised until it has started, then immutable but for what is said. */
typedef struct hki_world {
    bool is_started;
    pid_t pid;               /* that started it */
    _Atomic(bool) has_ended; /* with its runtime, or with MPI: nothing is exchanged any more */
    const hk_status *status; /* ok, or why there is none; counted */
    int rank, size;
    int64_t timeout_ns, patience_ns;
    bool uses_library; /* for sums: library_sum.c */
    hki_world_route route;
    char library[128];
    hki_link *link; /* NULL: a world of one */
    hk_group *group;
    pthread_mutex_t lock;
    hk_group *groups; /* all; lock */
    int last_id;      /* of groups; lock */
} hki_world;
/* Starts it, as hk_world_init(NULL) does, on first use. Never NULL; its group may be, where host memory is short. */
hki_world *hki_world_get(void);

/* When there is no memory for any. */
extern hk_group hki_no_memory_group;
/* NULL only when host memory is short. members (taken) NULL: all ranks. status: taken. */
hk_group *hki_group_create(hki_world *world, int id, int rank, int size, int *members,
                           const hk_status *status);

/* ---- mpi_loader.c ----------------------------------------------------------------------------------------- */

struct hki_launcher;
/* The plug-in for the MPI that the launcher belongs to, or that HOCKET_MPI names. NULL, with the reason. */
hki_mpi *hki_mpi_open(const struct hki_launcher *launcher, char *problem, size_t bytes);

#endif
