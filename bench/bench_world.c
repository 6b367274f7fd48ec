/* What ranks take for a sum, and how much of it hides behind a backward pass. For bench/world, which launches it; medians with min and
 * max, printed by the first rank.
 *
 *   bench_world sum MEGABYTES REPEATS         one all-reduce of float32, and what it takes of a core
 *   bench_world late MILLISECONDS REPEATS     processor time of a rank in an all-reduce to which another comes so late
 *   bench_world lenet WIDTH BATCH STEPS KIB   steps of a LeNet so many times as wide, BATCH samples on each rank, buckets of so
 *                                             many KiB
 *
 * Arrays are on the last device: with HOCKET_SIM=1 on a simulated one, by way of the host.
 *
 * A step is also measured without its sums, and the sums without a step: what no order of buckets can beat is the longer of
 * both, and the last bucket behind it. Lists: as gradients are written; and in the order of the parameters or the opposite one,
 * which an array that is no gradient asks for. */
#include "bench_util.h"

#include <hocket/hocket.h>

#include <stdio.h>
#include <string.h>

enum { PARAMS = 8, MAX_REPEATS = 1001 };

static size_t bucket_bytes;

static hk_group *all;
static hk_device device;

static void print(const char *what, double *seconds, int count)
{
    const bench_spread ms = bench_spread_of(seconds, count);
    if (hk_world_rank() == 0)
        printf("%-34s %9.2f ms  (%.2f to %.2f)\n", what, 1e3 * ms.median, 1e3 * ms.min,
               1e3 * ms.max);
}

/* All ranks are there, and nothing is under way. */
static void meet(void)
{
    HK_SCOPE;
    hk_wait_all();
    hk_wait(hk_group_barrier(all));
}

/* Of all threads: one of them looks for messages. */
static double process_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void measure_sum(double megabytes, int repeats)
{
    HK_SCOPE;
    double seconds[MAX_REPEATS], cpu_seconds[MAX_REPEATS];
    hk_array *ones = hk_ones(hk_shape((int64_t)(megabytes * 250000)), HK_F32, device);
    hk_array *x = hk_copy(ones);
    for (int i = -2; i < repeats; i++) {
        hk_assign(x, ones);
        meet();
        const double begin = bench_seconds(), cpu = process_seconds();
        hk_group_all_reduce(all, &x, 1, 1, 0);
        hk_wait(x);
        if (i >= 0) {
            seconds[i] = bench_seconds() - begin;
            cpu_seconds[i] = process_seconds() - cpu;
        }
    }
    print("all-reduce", seconds, repeats);
    print("processor time of a rank", cpu_seconds, repeats);
}

/* The last rank is late. */
static void measure_late(double milliseconds, int repeats)
{
    HK_SCOPE;
    double seconds[MAX_REPEATS];
    hk_array *x = hk_ones(hk_shape(250000), HK_F32, device);
    for (int i = -2; i < repeats; i++) {
        meet();
        const double begin = bench_seconds(), cpu = process_seconds();
        while (hk_world_rank() == hk_world_size() - 1 &&
               bench_seconds() - begin < milliseconds * 1e-3)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        hk_group_all_reduce(all, &x, 1, 1, 0);
        hk_wait(x);
        if (i >= 0)
            seconds[i] = process_seconds() - cpu;
    }
    print("processor time", seconds, repeats);
}

/* ---- a step of LeNet ------------------------------------------------------------------------------------------------ */

typedef enum order { WRITTEN, FORWARDS, BACKWARDS, NONE } order;

typedef struct step {
    hk_array *params[PARAMS], *x, *labels, *counter;
} step;

static hk_array *lenet(hk_array *x, hk_array *const *p)
{
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[0], p[1], NULL)), NULL);
    x = hk_avg_pool2d(hk_relu(hk_conv2d(x, p[2], p[3], NULL)), NULL);
    x = hk_reshape(x, hk_shape(hk_dim(x, 0), -1));
    return hk_linear(hk_relu(hk_linear(x, p[4], p[5])), p[6], p[7]);
}

/* The list ends with an array that is no gradient, where it is to go as it is. */
static void sum_gradients(const step *self, order how)
{
    hk_array *list[PARAMS + 1];
    for (int i = 0; i < PARAMS; i++)
        list[how == BACKWARDS ? PARAMS - 1 - i : i] = hk_grad(self->params[i]);
    list[PARAMS] = self->counter;
    if (how != NONE)
        hk_group_all_reduce(all, list, 1, how == WRITTEN ? PARAMS : PARAMS + 1, bucket_bytes);
}

static void issue(step *self, order how)
{
    HK_SCOPE;
    hk_record_begin();
    hk_array *loss = hk_softmax_cross_entropy(lenet(self->x, self->params), self->labels);
    hk_record_end();
    hk_backward(loss);
    sum_gradients(self, how);
    hk_sgd(self->params, PARAMS, &(hk_sgd_options){.lr = 1e-6});
}

/* The two arrays that a captured step has at each replay. */
static hk_graph *capture(step *self, order how)
{
    hk_array *bound[] = {self->x, self->labels};
    hk_capture_begin(bound, 2);
    issue(self, how);
    return hk_capture_end(NULL);
}

static double run(step *self, hk_graph *graph, order how)
{
    hk_array *bound[] = {self->x, self->labels};
    meet();
    const double begin = bench_seconds();
    if (graph)
        hk_replay(graph, bound, 2);
    else
        issue(self, how);
    hk_wait_all();
    return bench_seconds() - begin;
}

static double run_sums(step *self)
{
    meet();
    const double begin = bench_seconds();
    sum_gradients(self, WRITTEN);
    hk_wait_all();
    return bench_seconds() - begin;
}

static void measure_lenet(int64_t width, int64_t batch, int steps)
{
    static const char *const names[] = {"as written", "parameters' order", "opposite order",
                                        "without sums"};
    static double seconds[2][NONE + 1][MAX_REPEATS], sums[MAX_REPEATS];
    HK_SCOPE;
    step self = {.x = hk_random_normal_from(NULL, 0, 1, hk_shape(batch, 1, 28, 28), HK_F32, device),
                 .labels = hk_zeros(hk_shape(batch), HK_I64, device),
                 .counter = hk_zeros(hk_shape(1), HK_F32, device)};
    const hk_dims shapes[PARAMS] = {hk_shape(20 * width, 1, 3, 3),
                                    hk_shape(20 * width),
                                    hk_shape(50 * width, 20 * width, 5, 5),
                                    hk_shape(50 * width),
                                    hk_shape(128 * width, 800 * width),
                                    hk_shape(128 * width),
                                    hk_shape(10, 128 * width),
                                    hk_shape(10)};
    hk_graph *graphs[NONE + 1];
    int64_t elements = 0;
    for (int i = 0; i < PARAMS; i++) {
        self.params[i] = hk_random_normal_from(NULL, 0, 0.01, shapes[i], HK_F32, device);
        hk_attach_grad(self.params[i], HK_GRAD_WRITE);
        elements += hk_size(self.params[i]);
    }
    for (int how = WRITTEN; how <= NONE; how++)
        graphs[how] = capture(&self, (order)how);
    for (int i = 0; i < steps; i++) {
        for (int turn = 0; turn <= NONE; turn++) {
            const int how = (turn + i) % (NONE + 1);
            seconds[0][how][i] = run(&self, NULL, (order)how);
            seconds[1][how][i] = run(&self, graphs[how], (order)how);
        }
        sums[i] = run_sums(&self);
    }
    if (hk_world_rank() == 0)
        printf("%.1f MB of gradients\n", (double)elements * 4e-6);
    print("sums alone", sums, steps);
    for (int captured = 0; captured < 2; captured++)
        for (int how = WRITTEN; how <= NONE; how++) {
            char what[64];
            snprintf(what, sizeof what, "%s %s", captured ? "replayed," : "by calls,", names[how]);
            print(what, seconds[captured][how], steps);
        }
    for (int how = WRITTEN; how <= NONE; how++)
        hk_graph_release(graphs[how]);
}

static int repeats_of(const char *text)
{
    const int repeats = atoi(text);
    return repeats < 1 ? 1 : repeats > MAX_REPEATS ? MAX_REPEATS : repeats;
}

int main(int count, char **arguments)
{
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 2;
    all = hk_group_world();
    device = hk_device_at(hk_device_count() - 1);
    if (count == 4 && strcmp(arguments[1], "sum") == 0) {
        measure_sum(atof(arguments[2]), repeats_of(arguments[3]));
    } else if (count == 4 && strcmp(arguments[1], "late") == 0) {
        measure_late(atof(arguments[2]), repeats_of(arguments[3]));
    } else if (count == 6 && strcmp(arguments[1], "lenet") == 0) {
        bucket_bytes = (size_t)atoll(arguments[5]) << 10;
        measure_lenet(atoll(arguments[2]), atoll(arguments[3]), repeats_of(arguments[4]));
    } else {
        fprintf(stderr, "usage: bench_world sum MEGABYTES REPEATS | late MILLISECONDS REPEATS | "
                        "lenet WIDTH BATCH STEPS KIB\n");
        return 2;
    }
    return hk_status_print(hk_wait_all(), stderr) ? 1 : 0;
}
