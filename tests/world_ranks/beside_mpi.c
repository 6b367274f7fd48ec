/* A program that uses MPI itself, beside Hocket's world: beside_mpi first|last|runtime|finalize.
 * first: it starts MPI, and ends the world and MPI while the runtime goes on; runtime: the
 * runtime ends before; last: Hocket starts MPI, and the program ends it; finalize: as first, but
 * MPI_Finalize alone ends the world. MPICH stops locking before it says that it ends, so that a
 * thread which is within MPI then keeps a lock for ever, and the process is aborted. */
#include "check.h"

#include <hocket/hocket.h>

#include <mpi.h>

static hk_group *all;

static double sum_of(double value)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(30000), value, HK_F32, (hk_device){NULL});
    hk_group_all_reduce(all, &x, 1, 1, 0);
    return hk_item(hk_index(x, 0, 29999), NULL);
}

/* Whoever started it, both use it. */
static void use_both(int rank, int size)
{
    for (int i = 0; i < 30; i++) {
        double mine = rank + i, theirs = 0;
        if (i % 3 == 0)
            MPI_Allreduce(&mine, &theirs, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else
            theirs = sum_of(mine);
        CHECK(theirs == size * (size - 1) / 2 + size * i);
    }
}

/* What was under way is done, the runtime goes on, and nothing is asked of MPI any more. A
 * second time does nothing. */
static void end_world(void)
{
    HK_SCOPE;
    hk_world_deinit();
    hk_array *late = hk_ones(hk_shape(9), HK_F32, (hk_device){NULL});
    hk_group_all_reduce(all, &late, 1, 1, 0);
    CHECK(strstr(hk_status_message(hk_wait(late)), "the world has ended"));
    hk_world_deinit();
}

int main(int count, char **arguments)
{
    const char *kind = count > 1 ? arguments[1] : "first";
    const bool starts = strcmp(kind, "last") != 0;
    int level = 0, rank = 0, size = 0;
    if (starts)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 1;
    all = hk_group_world();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQ_I64(hk_world_rank(), rank);
    CHECK_EQ_I64(hk_world_size(), size);
    if (starts)
        use_both(rank, size);
    hk_array *x = hk_full(hk_shape(400000), rank, HK_F32, (hk_device){NULL});
    hk_group_all_reduce(all, &x, 1, 1, 0); /* under way when MPI ends */
    if (!strcmp(kind, "runtime"))
        hk_runtime_deinit();
    else if (!strcmp(kind, "first"))
        end_world();
    MPI_Finalize();
    if (strcmp(kind, "runtime") != 0) {
        CHECK(hk_item(hk_index(x, 0, 7), NULL) == size * (size - 1) / 2);
        hk_group_all_reduce(all, &x, 1, 1, 0);
        CHECK(strstr(hk_status_message(hk_wait(x)), "the world has ended"));
        CHECK(hk_item(hk_sum(hk_ones(hk_shape(9), HK_F32, (hk_device){NULL}), NULL), NULL) == 9);
    }
    hk_array_release(x);
    return check_result();
}
