/* MPI's own all-reduce, blocking, with nothing of hocket: world_mpi MEGABYTES REPEATS. bench/world compiles it by mpicc. Each sum is
 * of ones that have just been written, as in bench_world. */
#include "bench_util.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MAX_REPEATS = 1001 };

int main(int count, char **arguments)
{
    static double seconds[MAX_REPEATS];
    int rank = 0;
    const int size = count > 1 ? (int)(atof(arguments[1]) * 250000) : 0;
    const int asked = count > 2 ? atoi(arguments[2]) : 1;
    const int repeats = asked < 1 ? 1 : asked > MAX_REPEATS ? MAX_REPEATS : asked;
    float *x = calloc((size_t)size + 1, sizeof *x), *ones = calloc((size_t)size + 1, sizeof *x);
    for (int i = 0; i < size && ones; i++)
        ones[i] = 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = -2; i < repeats && x && ones; i++) {
        memcpy(x, ones, (size_t)size * sizeof *x);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = bench_seconds();
        MPI_Allreduce(MPI_IN_PLACE, x, size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i >= 0)
            seconds[i] = bench_seconds() - begin;
    }
    const bench_spread ms = bench_spread_of(seconds, repeats);
    if (rank == 0)
        printf("%-34s %9.2f ms  (%.2f to %.2f)\n", "all-reduce", 1e3 * ms.median, 1e3 * ms.min,
               1e3 * ms.max);
    MPI_Finalize();
    free(x);
    free(ones);
    return 0;
}
