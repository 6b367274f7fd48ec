/* Hocket: each tile is an array over the program's memory, as StarPU has a handle for each. */
#include "tiles/tiles.h"

#include <hocket/hocket.h>

#include <stdlib.h>

static void run_call(hk_task_call *call)
{
    const tile_call *its = *(const tile_call *const *)hk_task_args(call);
    double *tiles[TILE_MOST] = {NULL};
    for (int i = 0; i < its->count; i++)
        tiles[i] = hk_task_view_of(call, i).data;
    tile_run(its, (int)hk_task_view_of(call, 0).shape.dims[0], tiles);
}

static const hk_kernel kernels[TILE_KERNELS] = {
    [TILE_POTRF] = {.name = "potrf", .cpu = run_call},
    [TILE_TRSM_RIGHT] = {.name = "trsm", .cpu = run_call},
    [TILE_SYRK] = {.name = "syrk", .cpu = run_call},
    [TILE_GEMM_TURNED] = {.name = "gemm", .cpu = run_call},
    [TILE_GETRF] = {.name = "getrf", .cpu = run_call},
    [TILE_TRSM_LOWER] = {.name = "trsm", .cpu = run_call},
    [TILE_TRSM_UPPER] = {.name = "trsm", .cpu = run_call},
    [TILE_GEMM] = {.name = "gemm", .cpu = run_call},
    [TILE_MEAN] = {.name = "mean", .cpu = run_call},
    [TILE_SPIN] = {.name = "spin", .cpu = run_call},
};

static hk_array **tiles;

static void run(const tile_plan *plan, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        const tile_call *call = &plan->calls[i];
        const int last = call->count - 1;
        hk_access accesses[TILE_MOST];
        for (int j = 0; j < last; j++)
            accesses[j] = hk_reads(tiles[call->tile[j]]);
        accesses[last] =
            hk_access_of(tiles[call->tile[last]], call->overwrites ? HK_WRITES : HK_UPDATES);
        hk_run(&kernels[call->kernel], accesses, call->count, &call, sizeof call,
               &(const hk_run_options){.priority = call->priority});
    }
    hk_wait_all();
}

int main(int count, char **arguments)
{
    tile_plan plan;
    if (!tile_plan_parse(&plan, count, arguments))
        return 2;
    hk_runtime_init(&(const hk_runtime_options){.cpu_cores = plan.workers});
    HK_SCOPE;
    const int64_t n = plan.tile;
    const int all = plan.tile_count;
    tiles = malloc((size_t)all * sizeof *tiles);
    for (int i = 0; i < all && tiles; i++)
        tiles[i] =
            hk_from_memory(tile_at(&plan, i), hk_shape(n, n), HK_F64, (hk_device){NULL}, NULL);
    const int result = tile_plan_run(&plan, run);
    return hk_status_print(hk_wait_all(), stderr) ? 1 : result;
}
