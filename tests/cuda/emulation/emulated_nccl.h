/* Within the emulated NCCL: see emulated_libraries.h. */
#ifndef HOCKET_TESTS_EMULATED_NCCL_H
#define HOCKET_TESTS_EMULATED_NCCL_H

#include "device/cuda/cuda_libraries.h"

#include <stdatomic.h>

enum { MAX_RANKS = 16 };

struct ncclComm {
    int rank, count, gpu;
    ncclComm_t *ranks; /* shared: of all */
    ncclComm_t older;
    atomic_bool is_aborted;
    struct emulated_ranks *between; /* processes; NULL: it is of one process */
};

typedef struct emulated_nccl_sum {
    int count;
    ncclDataType_t type;
    size_t size;
    const void *from[MAX_RANKS];
    void *to[MAX_RANKS];
} emulated_nccl_sum;

size_t emulated_nccl_bytes(ncclDataType_t type);
void emulated_nccl_add(const emulated_nccl_sum *self);

/* ---- between processes (emulated_nccl_ranks.c) ------------------------------------------------------------- */

void emulated_ranks_begin_group(void);
ncclResult_t emulated_ranks_end_group(void);
ncclResult_t emulated_ranks_sum(const void *from, void *to, size_t size, ncclDataType_t type,
                                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t emulated_ranks_close(ncclComm_t comm);

#endif
