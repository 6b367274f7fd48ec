/* Tiled factorisations as lists of calls, and the kernels of these, one thread each: what each
 * program in this folder has its task runtime run. Also for C++.
 *
 *     PROGRAM ALGORITHM SIZE TILE WORKERS ROUNDS
 *
 * A round factorises a matrix SIZE x SIZE of doubles, kept as tiles TILE x TILE one behind the
 * other, on WORKERS threads. A line for each has its seconds, from before the first call is
 * issued until all have run; making the matrix is not in them. Once before all a round is not
 * counted. The last result is checked. */
#ifndef HOCKET_BENCH_TILES_H
#define HOCKET_BENCH_TILES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tile_kernel {
    TILE_POTRF,       /* Cholesky's factor of a tile */
    TILE_TRSM_RIGHT,  /* B becomes B L^-T */
    TILE_SYRK,        /* C becomes C - A A^T */
    TILE_GEMM_TURNED, /* C becomes C - A B^T */
    TILE_GETRF,       /* LU of a tile, without changing rows */
    TILE_TRSM_LOWER,  /* B becomes L^-1 B */
    TILE_TRSM_UPPER,  /* B becomes B U^-1 */
    TILE_GEMM         /* C becomes C - A B */
} tile_kernel;

enum { TILE_MOST = 3 };

/* The last tile is updated, those before are read. */
typedef struct tile_call {
    tile_kernel kernel;
    int tile[TILE_MOST], count;
    int priority; /* 0 to 2: what more waits for */
} tile_call;

typedef struct tile_plan {
    const char *algorithm; /* cholesky, lu */
    int size, tile, side;  /* side: tiles in a row */
    int workers, rounds;
    double *matrix; /* side * side tiles, row by row */
    tile_call *calls;
    int call_count;
} tile_plan;

/* Reads the command line. 0: it is wrong, and stderr says how. */
int tile_plan_parse(tile_plan *plan, int count, char **arguments);
/* tile(i) of the matrix */
double *tile_at(const tile_plan *plan, int index);
void tile_run(tile_kernel kernel, int size, double *const *tiles);
/* Calls run for each round, and prints; then checks. Returns main's result. */
int tile_plan_run(tile_plan *plan, void (*run)(const tile_plan *plan));

#ifdef __cplusplus
}
#endif

#endif
