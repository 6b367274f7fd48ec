/* Whether a launcher of parallel programs (mpirun, srun) has started this process, as its environment variables say. */
#ifndef HOCKET_BASE_RANK_LAUNCHER_H
#define HOCKET_BASE_RANK_LAUNCHER_H

#include <stdbool.h>

typedef enum hki_launcher_kind {
    HKI_NO_LAUNCHER,
    HKI_OPEN_MPI, /* its mpirun, or prte */
    HKI_HYDRA,    /* MPICH's mpirun, and those of its relatives */
    HKI_SLURM     /* srun, with whatever process manager it offers */
} hki_launcher_kind;

typedef struct hki_launcher {
    hki_launcher_kind kind;
    const char *name;           /* for messages; static text */
    int rank, size;             /* 0 and 1 where there is none */
    int local_rank, local_size; /* on this machine; 0 and 1 where it does not say */
    bool binds;                 /* it has given each process cores of its own */
} hki_launcher;

/* Variables that make no sense are taken for none. Reads the environment at each call: not thread-safe against setenv. */
hki_launcher hki_launcher_get(void);

/* How many of `count` cores, and from which on, are this rank's of its machine: neighbouring ones, the first ranks one more
 * where they do not divide evenly; ranks in excess share them in turn, one each. */
int hki_launcher_share(const hki_launcher *self, int count, int *first);

#endif
