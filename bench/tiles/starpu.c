/* StarPU: a handle for each tile, and a codelet for each kernel. */
#include "tiles/tiles.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static void run_call(void *buffers[], void *argument)
{
    const tile_call *call = argument;
    double *tiles[TILE_MOST] = {NULL};
    for (int i = 0; i < call->count; i++)
        tiles[i] = (double *)STARPU_MATRIX_GET_PTR(buffers[i]);
    tile_run(call, (int)STARPU_MATRIX_GET_NX(buffers[0]), tiles);
}

/* By whether the last tile is overwritten, and by how many there are. */
static struct starpu_codelet codelets[2][TILE_MOST + 1];
static starpu_data_handle_t *handles;

static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s: error %d\n", what, error);
        exit(1);
    }
}

static void init_codelets(void)
{
    for (int overwrites = 0; overwrites < 2; overwrites++)
        for (int count = 1; count <= TILE_MOST; count++) {
            struct starpu_codelet *its = &codelets[overwrites][count];
            its->cpu_funcs[0] = run_call;
            its->nbuffers = count;
            for (int i = 0; i < count - 1; i++)
                its->modes[i] = STARPU_R;
            its->modes[count - 1] = overwrites ? STARPU_W : STARPU_RW;
        }
}

static void run(const tile_plan *plan, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        tile_call *call = &plan->calls[i];
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelets[call->overwrites][call->count];
        task->cl_arg = call;
        task->priority = call->priority;
        for (int j = 0; j < call->count; j++)
            task->handles[j] = handles[call->tile[j]];
        check(starpu_task_submit(task), "starpu_task_submit");
    }
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
}

int main(int count, char **arguments)
{
    tile_plan plan;
    struct starpu_conf conf;
    if (!tile_plan_parse(&plan, count, arguments))
        return 2;
    check(starpu_conf_init(&conf), "starpu_conf_init");
    conf.ncpus = plan.workers;
    conf.ncuda = conf.nopencl = 0;
    init_codelets();
    check(starpu_init(&conf), "starpu_init");
    const int all = plan.tile_count;
    const uint32_t n = (uint32_t)plan.tile;
    handles = malloc((size_t)all * sizeof *handles);
    for (int i = 0; i < all && handles; i++)
        starpu_matrix_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)tile_at(&plan, i), n,
                                    n, n, sizeof(double));
    const int result = tile_plan_run(&plan, run);
    for (int i = 0; i < all && handles; i++)
        starpu_data_unregister(handles[i]);
    starpu_shutdown();
    return result;
}
