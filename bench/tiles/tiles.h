/* Work of a program's own as lists of calls on tiles, and the kernels of these, one thread each:
 * what each program in this folder has its task runtime run. Also for C++.
 *
 *     PROGRAM ALGORITHM SIZE TILE STEPS WORKERS ROUNDS
 *
 *     cholesky, lu   a matrix SIZE x SIZE of doubles in tiles TILE x TILE is factorised; STEPS 1
 *     stencil        STEPS times each point of such a matrix becomes the mean of its neighbours
 *     a pattern      STEPS rows of SIZE tasks, each of which spins TILE times: who reads what of
 *                    the row before is Task Bench's (Slaughter et al., SC 2020): trivial, no_comm,
 *                    stencil_1d, fft, tree, nearest, spread, random_nearest
 *
 * A round does all of it, on WORKERS threads. A line for each has its seconds, from before the
 * first call is issued until all have run, and the processor time of all threads meanwhile;
 * making the matrix is not in them. Once before all a
 * round is not counted. The last result is checked. TILES_WINDOW=N in the environment: all that
 * was issued is waited for after N calls, and again. PROGRAM spin: the nanoseconds of spinning
 * once. */
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
    TILE_GEMM,        /* C becomes C - A B */
    TILE_MEAN,        /* of the neighbours of each point of the first tile */
    TILE_SPIN,        /* takes time, and mixes what it reads into one number */
    TILE_KERNELS
} tile_kernel;

enum { TILE_MOST = 6 };

/* The last tile is written, those before are read. */
typedef struct tile_call {
    tile_kernel kernel;
    int tile[TILE_MOST], count;
    int overwrites; /* what the last tile was does not matter; 0: it is updated */
    int priority;   /* 0 to 2: what more waits for */
    int work;       /* TILE_SPIN: how often; TILE_MEAN: which neighbours there are */
} tile_call;

struct tile_algorithm;

typedef struct tile_plan {
    const struct tile_algorithm *algorithm;
    int size, steps, workers, rounds;
    int tile, side;   /* a tile is tile x tile; side: tiles in a row */
    int work;         /* of patterns: how often a task spins */
    int tile_count;   /* of all */
    size_t tile_room; /* doubles from one tile to the next */
    double *matrix;   /* the tiles one behind the other */
    tile_call *calls;
    int call_count, call_room, window;
} tile_plan;

/* Reads the command line. 0: it is wrong, and stderr says how. */
int tile_plan_parse(tile_plan *plan, int count, char **arguments);
/* tile(i) of the matrix */
double *tile_at(const tile_plan *plan, int index);
/* A call's kernel on its tiles, of which an edge has `size` doubles. */
void tile_run(const tile_call *call, int size, double *const *tiles);
/* Calls run for each round, with what is to be issued and waited for, and prints; then checks.
 * Returns main's result. */
int tile_plan_run(tile_plan *plan, void (*run)(const tile_plan *plan, int first, int count));

#ifdef __cplusplus
}
#endif

#endif
