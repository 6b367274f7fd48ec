/* The heat equation on a plate: each point tends to the mean of its neighbours; the upper edge is kept hot, the others cold.
 * One step is captured and replayed, which runs its calls as one loop over blocks. usage: heat [STEPS]; 2000 by default. */
#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

enum { SIDE = 64 };

/* The points within, moved by one along an axis: views, nothing is copied. */
static hk_array *within(hk_array *plate, int64_t down, int64_t right)
{
    return hk_slice(hk_slice(plate, 0, 1 + down, SIDE - 1 + down), 1, 1 + right, SIDE - 1 + right);
}

static void step(hk_array *plate)
{
    HK_SCOPE;
    hk_array *rows = hk_add(within(plate, -1, 0), within(plate, 1, 0));
    hk_array *columns = hk_add(within(plate, 0, -1), within(plate, 0, 1));
    hk_assign(within(plate, 0, 0), hk_multiply(hk_add(rows, columns), 0.25));
}

int main(int count, char **arguments)
{
    const int steps = count > 1 ? atoi(arguments[1]) : 2000;
    HK_SCOPE;
    hk_array *plate = hk_zeros(hk_shape(SIDE, SIDE), HK_F64, hk_device_default());
    hk_assign(hk_index(plate, 0, 0), hk_scalar(100, HK_F64, hk_device_default()));

    hk_capture_begin(&plate, 1);
    step(plate);
    hk_graph *graph = hk_capture_end(NULL);
    for (int i = 0; i < steps; i++)
        hk_replay(graph, &plate, 1); /* returns at once */
    hk_graph_release(graph);

    hk_array *middle = hk_index(hk_index(plate, 0, SIDE / 2), 0, SIDE / 2);
    printf("after %d steps: %.2f degrees in the middle\n", steps, hk_item(middle, NULL));
    for (int row = 0; row < SIDE; row += 8) {
        for (int column = 0; column < SIDE; column += 4) {
            HK_SCOPE;
            const double heat = hk_item(hk_index(hk_index(plate, 0, row), 0, column), NULL);
            putchar(" .:-=+*#%@"[(int)fmin(heat / 10, 9)]);
        }
        putchar('\n');
    }
    return hk_status_print(hk_wait_all(), stderr);
}
