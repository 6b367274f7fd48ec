/* Launchers as their variables tell, and which cores are whose. */
#include "tests/check.h"

#include "base/rank_launcher.h"

#include <stdlib.h>

static const char *const all[] = {"OMPI_COMM_WORLD_RANK",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK",
                                  "OMPI_COMM_WORLD_LOCAL_SIZE",
                                  "OMPI_MCA_orte_bound_at_launch",
                                  "PMI_RANK",
                                  "PMI_SIZE",
                                  "MPI_LOCALRANKID",
                                  "MPI_LOCALNRANKS",
                                  "SLURM_PROCID",
                                  "SLURM_STEP_ID",
                                  "SLURM_STEP_NUM_TASKS",
                                  "SLURM_LOCALID",
                                  "SLURM_NTASKS_PER_NODE",
                                  "SLURM_CPU_BIND_TYPE"};

/* What the variables, "NAME=value" up to NULL, and no others say. */
static hki_launcher look(const char *const *variables)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        unsetenv(all[i]);
    for (; *variables; variables++) {
        char name[64];
        const char *sign = strchr(*variables, '=');
        snprintf(name, sizeof name, "%.*s", (int)(sign - *variables), *variables);
        setenv(name, sign + 1, 1);
    }
    return hki_launcher_get();
}

#define LOOK(...) look((const char *const[]){__VA_ARGS__, NULL})

static bool is(hki_launcher its, hki_launcher_kind kind, int rank, int size, int local_rank,
               int local_size, bool binds)
{
    return its.kind == kind && its.rank == rank && its.size == size &&
           its.local_rank == local_rank && its.local_size == local_size && its.binds == binds;
}

static void test_kinds(void)
{
    CHECK(is(look((const char *const[]){NULL}), HKI_NO_LAUNCHER, 0, 1, 0, 1, false));
    CHECK(
        is(LOOK("OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                "OMPI_COMM_WORLD_LOCAL_SIZE=4", "OMPI_MCA_orte_bound_at_launch=1"),
           HKI_OPEN_MPI, 5, 8, 1, 4, true));
    CHECK(is(LOOK("PMI_RANK=0", "PMI_SIZE=2", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"), HKI_HYDRA,
             0, 2, 0, 2, false));
    CHECK(is(LOOK("SLURM_PROCID=3", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", "SLURM_LOCALID=1",
                  "SLURM_NTASKS_PER_NODE=2", "SLURM_CPU_BIND_TYPE=mask_cpu:"),
             HKI_SLURM, 3, 4, 1, 2, true));
    /* Within a job of Slurm's. */
    CHECK(is(LOOK("SLURM_PROCID=0", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1",
                  "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"),
             HKI_OPEN_MPI, 1, 2, 0, 1, false));
}

static void test_nonsense(void)
{
    CHECK(LOOK("OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=2").kind == HKI_NO_LAUNCHER);
    CHECK(LOOK("OMPI_COMM_WORLD_RANK=-1", "OMPI_COMM_WORLD_SIZE=2").kind == HKI_NO_LAUNCHER);
    CHECK(LOOK("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2x").kind == HKI_NO_LAUNCHER);
    CHECK(LOOK("OMPI_COMM_WORLD_RANK=1").kind == HKI_NO_LAUNCHER);
    CHECK(LOOK("PMI_RANK=", "PMI_SIZE=").kind == HKI_NO_LAUNCHER);
    CHECK(LOOK("PMI_RANK=1", "PMI_SIZE=99999999999999999999").kind == HKI_NO_LAUNCHER);
    CHECK(is(LOOK("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=7", "MPI_LOCALNRANKS=9"), HKI_HYDRA,
             1, 2, 0, 1, false));
    CHECK(LOOK("SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=4").kind == HKI_NO_LAUNCHER); /* sbatch */
}

/* Every core is somebody's, and nobody else's, unless there are more ranks than cores. */
static void test_shares(void)
{
    for (int ranks = 1; ranks <= 9; ranks++)
        for (int cores = 1; cores <= 20; cores++) {
            int taken[20] = {0}, least = 20, most = 0;
            for (int rank = 0; rank < ranks; rank++) {
                int first, count;
                const hki_launcher its = {.local_rank = rank, .local_size = ranks};
                count = hki_launcher_share(&its, cores, &first);
                CHECK(count >= 1 && first >= 0 && first + count <= cores);
                for (int i = 0; i < count; i++)
                    taken[first + i]++;
            }
            for (int i = 0; i < cores; i++) {
                least = taken[i] < least ? taken[i] : least;
                most = taken[i] > most ? taken[i] : most;
            }
            CHECK(least >= 1 && most == (ranks > cores ? (ranks + cores - 1) / cores : 1));
        }
}

int main(void)
{
    test_kinds();
    test_nonsense();
    test_shares();
    return check_result();
}
