/* A process beside each rank, which outlives it for a moment to say that it was killed. MPICH's launcher kills all others within
 * milliseconds of a rank that is killed, by a signal that none can catch, and then names any of them. */
#ifndef HOCKET_WORLD_MPI_WATCHER_H
#define HOCKET_WORLD_MPI_WATCHER_H

#include <stdatomic.h>
#include <stdint.h>

/* Memory that the ranks of a machine share: the first of them says who has ended, and no other. */
typedef struct hki_watched {
    _Atomic(int32_t) has_spoken;
    int32_t number; /* the same in all */
} hki_watched;

/* Where one rank's is found by the others. */
typedef struct hki_watched_place {
    int32_t pid, descriptor, number;
    char where
        [128]; /* the machine's name, and that of its network: one machine may stand for several */
} hki_watched_place;

/* Makes it, in one rank; a descriptor of -1: there is none. */
hki_watched_place hki_watched_make(void);
/* In all: NULL where it cannot be seen, as on another machine or in another container. */
hki_watched *hki_watched_find(const hki_watched_place *place);
/* When all have it. */
void hki_watched_close(const hki_watched_place *place);

/* Starts one for this process, which speaks of it as `rank`. */
void hki_watcher_start(hki_watched *watched, int rank);
/* It is to say nothing any more. */
void hki_watcher_end(void);

#endif
