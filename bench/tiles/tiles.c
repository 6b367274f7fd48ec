#include "tiles/algorithms.h"

#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the plan ------------------------------------------------------------------------------- */

static const tile_algorithm *find(const tile_algorithm *all, const char *name)
{
    while (all->name && strcmp(all->name, name))
        all++;
    return all->name ? all : NULL;
}

tile_call *tile_plan_add(tile_plan *plan, tile_kernel kernel, int count, const int *tiles)
{
    if (plan->call_count == plan->call_room) {
        plan->call_room = plan->call_room ? 2 * plan->call_room : 1024;
        plan->calls = realloc(plan->calls, (size_t)plan->call_room * sizeof *plan->calls);
        if (!plan->calls)
            abort();
    }
    tile_call *call = &plan->calls[plan->call_count++];
    *call = (tile_call){.kernel = kernel, .count = count};
    memcpy(call->tile, tiles, (size_t)count * sizeof *tiles);
    return call;
}

int tile_plan_parse(tile_plan *plan, int count, char **arguments)
{
    const char *error = "six arguments are needed";
    memset(plan, 0, sizeof *plan);
    if (count == 2 && !strcmp(arguments[1], "spin")) {
        printf("%.9f\n", spin_iteration_ns());
        exit(0);
    }
    if (count == 7) {
        int *const numbers[] = {&plan->size, &plan->tile, &plan->steps, &plan->workers,
                                &plan->rounds};
        plan->algorithm = find(tile_factorisations, arguments[1]);
        if (!plan->algorithm)
            plan->algorithm = find(tile_sweeps, arguments[1]);
        error = plan->algorithm ? NULL : "there is no such algorithm";
        for (int i = 0; i < 5; i++) {
            *numbers[i] = atoi(arguments[2 + i]);
            if (*numbers[i] < 1)
                error = "a number is less than 1";
        }
    }
    if (!error)
        error = plan->algorithm->plan(plan);
    if (error) {
        fprintf(stderr, "%s: %s\nusage: %s ALGORITHM SIZE TILE STEPS WORKERS ROUNDS; algorithms:",
                arguments[0], error, arguments[0]);
        for (const tile_algorithm *its = tile_factorisations; its->name; its++)
            fprintf(stderr, " %s", its->name);
        for (const tile_algorithm *its = tile_sweeps; its->name; its++)
            fprintf(stderr, " %s", its->name);
        fprintf(stderr, "\n");
        return 0;
    }
    if (!plan->tile_room)
        plan->tile_room = (size_t)plan->tile * (size_t)plan->tile;
    const char *window = getenv("TILES_WINDOW");
    plan->window = window && atoi(window) > 0 ? atoi(window) : plan->call_count;
    const size_t bytes = (size_t)plan->tile_count * plan->tile_room * sizeof *plan->matrix;
    plan->matrix = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!plan->matrix)
        abort();
    return 1;
}

double *tile_at(const tile_plan *plan, int index)
{
    return plan->matrix + (size_t)index * plan->tile_room;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void fill(const tile_plan *plan)
{
    memset(plan->matrix, 0, (size_t)plan->tile_count * plan->tile_room * sizeof *plan->matrix);
    for (int tile = 0; tile < plan->tile_count; tile++)
        for (int i = 0; i < plan->tile; i++)
            for (int j = 0; j < plan->tile; j++)
                tile_at(plan, tile)[i * plan->tile + j] = plan->algorithm->value(plan, tile, i, j);
}

/* One call after the other, without spinning, gives the same bytes. */
static int is_as_serially(tile_plan *plan)
{
    const size_t bytes = (size_t)plan->tile_count * plan->tile_room * sizeof *plan->matrix;
    double *result = malloc(bytes);
    if (!result)
        abort();
    memcpy(result, plan->matrix, bytes);
    fill(plan);
    for (int i = 0; i < plan->call_count; i++) {
        tile_call call = plan->calls[i];
        double *tiles[TILE_MOST] = {NULL};
        for (int j = 0; j < call.count; j++)
            tiles[j] = tile_at(plan, call.tile[j]);
        if (call.kernel == TILE_SPIN)
            call.work = 0;
        tile_run(&call, plan->tile, tiles);
    }
    const int is_same = !memcmp(result, plan->matrix, bytes);
    free(result);
    return is_same;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int tile_plan_run(tile_plan *plan, void (*run)(const tile_plan *plan, int first, int count))
{
    for (int round = -1; round < plan->rounds; round++) {
        fill(plan);
        const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int first = 0; first < plan->call_count; first += plan->window) {
            const int left = plan->call_count - first;
            run(plan, first, left < plan->window ? left : plan->window);
        }
        const double took = seconds(CLOCK_MONOTONIC) - begin;
        if (round >= 0)
            printf("%.9f %.9f\n", took, seconds(CLOCK_PROCESS_CPUTIME_ID) - used);
    }
    if (plan->algorithm->is_right ? plan->algorithm->is_right(plan) : is_as_serially(plan))
        return 0;
    fprintf(stderr, "the result is wrong\n");
    return 1;
}
