/* Heat on a plate whose upper edge is hot, on two devices. Each has half of the rows, and beside
 * them one more row above and below, a halo: a copy of the neighbour's nearest row. After a step
 * halos are copied, between devices as within one, and nothing says when: rows at the ends of a
 * half are computed first, and while their copies are on the way those in the middle are.
 * Runs on cpu:0 and cpu:1, and, where there are some (HOCKET_SIM=2), on sim:0 and sim:1. */
#include <hocket/hocket.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 96, COLUMNS = 128, STEPS = 200, DEVICES = 2 };

/* A device's rows: two plates, of which one is computed from the other in turns. */
typedef struct part {
    hk_array *plates[2]; /* (rows + 2, COLUMNS) */
    int64_t rows;
} part;

/* Accesses: the old rows with one above and one below; the new ones. */
static int64_t row_count(const hk_task_call *call)
{
    return hk_task_view_of(call, 1).shape.dims[0];
}

static double nanoseconds(const hk_task_call *call)
{
    return 0.5 * COLUMNS * (double)row_count(call);
}

static void relax(hk_task_call *call)
{
    const hk_task_view from = hk_task_view_of(call, 0), to = hk_task_view_of(call, 1);
    for (int64_t row = hk_task_begin(call); row < hk_task_end(call); row++) {
        const float *above = (const float *)from.data + row * from.strides[0];
        const float *here = above + from.strides[0], *below = here + from.strides[0];
        float *result = (float *)to.data + row * to.strides[0];
        result[0] = here[0];
        result[COLUMNS - 1] = here[COLUMNS - 1];
        for (int64_t i = 1; i < COLUMNS - 1; i++)
            result[i] = 0.25F * (above[i] + below[i] + here[i - 1] + here[i + 1]);
    }
}

static const hk_kernel relax_kernel = {
    .name = "relax", .cpu = relax, .extent = row_count, .cost_ns = nanoseconds};

static hk_array *rows_of(hk_array *plate, int64_t begin, int64_t end)
{
    return hk_slice(plate, 0, begin, end);
}

static void relax_rows(const part *self, int step, int64_t begin, int64_t end, int priority)
{
    hk_array *from = self->plates[step % 2], *to = self->plates[(step + 1) % 2];
    hk_run(
        &relax_kernel,
        HK_ACCESS(hk_reads(rows_of(from, begin - 1, end + 1)), hk_writes(rows_of(to, begin, end))),
        NULL, 0, &(const hk_run_options){.priority = priority});
}

static void take_step(const part *parts, int count, int step)
{
    HK_SCOPE;
    for (int d = 0; d < count; d++) {
        const int64_t rows = parts[d].rows;
        relax_rows(&parts[d], step, 1, 2, 1);
        relax_rows(&parts[d], step, rows, rows + 1, 1);
        relax_rows(&parts[d], step, 2, rows, 0);
    }
    for (int d = 0; d + 1 < count; d++) {
        hk_array *upper = parts[d].plates[(step + 1) % 2],
                 *lower = parts[d + 1].plates[(step + 1) % 2];
        const int64_t rows = parts[d].rows;
        hk_assign(rows_of(lower, 0, 1), rows_of(upper, rows, rows + 1));
        hk_assign(rows_of(upper, rows + 1, rows + 2), rows_of(lower, 1, 2));
    }
}

/* The plate after all steps, by these devices, into `result`. */
static const hk_status *heat(const hk_device *devices, int count, float *result)
{
    HK_SCOPE;
    part parts[DEVICES];
    hk_array *inner[DEVICES];
    for (int d = 0; d < count; d++) {
        parts[d].rows = ROWS / count;
        for (int i = 0; i < 2; i++) {
            hk_array *plate = hk_zeros(hk_shape(parts[d].rows + 2, COLUMNS), HK_F32, devices[d]);
            if (d == 0)
                hk_assign(rows_of(plate, 0, 1), hk_scalar(100, HK_F32, devices[d]));
            parts[d].plates[i] = plate;
        }
    }
    for (int step = 0; step < STEPS; step++)
        take_step(parts, count, step);
    for (int d = 0; d < count; d++)
        inner[d] = hk_to_device(rows_of(parts[d].plates[STEPS % 2], 1, parts[d].rows + 1),
                                hk_device_default());
    return hk_to_host(hk_concat(inner, count, 0), result, sizeof(float) * ROWS * COLUMNS);
}

int main(void)
{
    static const char *const names[][DEVICES] = {{"cpu:0", "cpu:1"}, {"sim:0", "sim:1"}};
    static float one[ROWS * COLUMNS], two[ROWS * COLUMNS];
    hk_runtime_init(&(const hk_runtime_options){.cpu_devices = DEVICES});
    if (hk_status_print(heat(&(const hk_device){hk_device_default().handle}, 1, one), stderr))
        return 1;
    for (int kind = 0; kind < 2; kind++) {
        const hk_device devices[DEVICES] = {hk_device_named(names[kind][0]),
                                            hk_device_named(names[kind][1])};
        if (!hk_ok(hk_device_status(devices[1]))) /* no simulated ones */
            continue;
        if (hk_status_print(heat(devices, DEVICES, two), stderr))
            return 1;
        const int is_same = !memcmp(one, two, sizeof one);
        printf("%s and %s: %.3f degrees at the middle of row 8, %s\n", names[kind][0],
               names[kind][1], two[8 * COLUMNS + COLUMNS / 2],
               is_same ? "the same bytes as on one device" : "not the bytes of one device");
        if (!is_same)
            return 1;
    }
    return hk_status_print(hk_wait_all(), stderr);
}
