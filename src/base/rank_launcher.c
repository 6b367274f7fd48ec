#include "base/rank_launcher.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 1 << 24 };

typedef struct variables {
    hki_launcher_kind kind;
    const char *name, *rank, *size, *local_rank, *local_size;
} variables;

/* The first whose rank and size are set. Slurm sets its own also around another launcher, and for a batch script. */
static const variables known[] = {
    {HKI_OPEN_MPI, "Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {HKI_HYDRA, "MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {HKI_SLURM, "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
     "SLURM_NTASKS_PER_NODE"},
};

/* A number of [low, high]; else `otherwise`. */
static int number(const char *name, int low, int high, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return otherwise;
    const long value = strtol(text, &end, 10);
    return *end || value < low || value > high ? otherwise : (int)value;
}

static bool is_set(const char *name)
{
    const char *text = getenv(name);
    return text && *text;
}

/* Slurm sets the mask of every process, if it is so configured. */
static bool binds(hki_launcher_kind kind)
{
    const char *slurm = getenv("SLURM_CPU_BIND_TYPE");
    if (kind == HKI_OPEN_MPI)
        return number("OMPI_MCA_orte_bound_at_launch", 0, 1, 0) ||
               number("PRTE_MCA_prte_bound_at_launch", 0, 1, 0);
    return slurm && strstr(slurm, "mask");
}

hki_launcher hki_launcher_get(void)
{
    hki_launcher self = {.kind = HKI_NO_LAUNCHER, .name = "none", .size = 1, .local_size = 1};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const variables *its = &known[i];
        const int size = number(its->size, 1, MAX_RANKS, 0);
        const int rank = number(its->rank, 0, size - 1, -1);
        if (rank < 0 || (its->kind == HKI_SLURM && !is_set("SLURM_STEP_ID")))
            continue;
        self = (hki_launcher){.kind = its->kind, .name = its->name, .rank = rank, .size = size};
        self.local_size = number(its->local_size, 1, size, 1);
        self.local_rank = number(its->local_rank, 0, self.local_size - 1, 0);
        self.binds = binds(its->kind);
        break;
    }
    return self;
}

int hki_launcher_share(const hki_launcher *self, int count, int *first)
{
    const int ranks = self->local_size, rank = self->local_rank;
    if (ranks > count) {
        *first = rank % count;
        return 1;
    }
    const int each = count / ranks, longer = count % ranks;
    *first = rank * each + (rank < longer ? rank : longer);
    return each + (rank < longer);
}
